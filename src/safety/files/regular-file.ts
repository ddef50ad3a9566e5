// Reads and replaces a regular file in an open directory. Files are never written in place: new content is written to a temporary
// neighbour, synced, and renamed, directly after the current content was verified. So readers see either the old file or the new one.

import { createHash } from 'node:crypto'
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import type { Sha256 } from '../../domain/id.ts'
import { CAPTURED_FILE_MAX_BYTES } from '../../domain/limits.ts'
import { codeOf, ignoring, refuse } from '../safety-refusal.ts'
import type { Directory, Name } from './directory.ts'

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants

export const FILE_MAX_BYTES = 64 * 1024 * 1024

export interface FileContent {
  readonly bytes: Buffer
  readonly sha256: Sha256
  readonly mode: number
  /** Hard links; more than one means that another path has the same file. */
  readonly links: number
  readonly stat: BigIntStats
}

export interface Replacement {
  readonly bytes: Uint8Array
  /** Absent: by umask for a new file, unchanged for an existing one. */
  readonly mode?: number
  /** The expected content directly before the rename; null for no file. */
  readonly expect: Sha256 | null
  /** For a file with other hard links: refuse, or replace only this name. */
  readonly links: 'refuse' | 'part'
}

export const sha256Of = (bytes: Uint8Array): Sha256 => createHash('sha256').update(bytes).digest('hex') as Sha256

/** Below this size, awaiting each system call would take far longer than the calls. */
const SMALL_BYTES = 64 * 1024

/** Null when it does not exist. Anything but a regular file is refused. */
export async function readFile(directory: Directory, name: Name, maxBytes: number): Promise<FileContent | null> {
  const small = readSmallFile(directory, name, Math.min(maxBytes, SMALL_BYTES))
  if (small !== 'large') return small
  const handle = await ignoring(['ENOENT'], () => directory.openFile(name))
  if (handle === null) return null
  try {
    const stat = await handle.stat({ bigint: true })
    demandRegular(stat, name)
    const bytes = stat.size > maxBytes ? null : await readUpTo(handle, Number(stat.size), maxBytes)
    if (bytes === null) refuse('policy', `${shown(name)} is larger than ${maxBytes} bytes`, 'work on a smaller file')
    return contentOf(bytes, stat)
  } finally {
    await handle.close()
  }
}

/** Synchronous; `large` for a larger file. */
function readSmallFile(directory: Directory, name: Name, maxBytes: number): FileContent | 'large' | null {
  let descriptor: number
  try {
    descriptor = openSync(directory.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    if (codeOf(error) === 'ENXIO') refuse('policy', `${shown(name)} is a special file`, ONLY_REGULAR)
    throw error
  }
  try {
    const stat = fstatSync(descriptor, { bigint: true })
    demandRegular(stat, name)
    if (stat.size > maxBytes) return 'large'
    const bytes = Buffer.allocUnsafe(Number(stat.size) + 1)
    let length = 0
    for (;;) {
      const read = readSync(descriptor, bytes, length, bytes.length - length, length)
      if (read === 0) return contentOf(bytes.subarray(0, length), stat)
      length += read
      if (length === bytes.length) return 'large'
    }
  } finally {
    closeSync(descriptor)
  }
}

function demandRegular(stat: BigIntStats, name: Name): void {
  if (stat.isDirectory()) refuse('logic', `${shown(name)} is a directory`, 'name a file')
  if (!stat.isFile()) refuse('policy', `${shown(name)} is a special file`, ONLY_REGULAR)
}

function contentOf(bytes: Buffer, stat: BigIntStats): FileContent {
  return { bytes, sha256: sha256Of(bytes), mode: Number(stat.mode & 0o7777n), links: Number(stat.nlink), stat }
}

async function readUpTo(handle: FileHandle, size: number, maxBytes: number): Promise<Buffer | null> {
  let bytes = Buffer.allocUnsafe(Math.min(size, maxBytes) + 1)
  let length = 0
  for (;;) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length)
    if (bytesRead === 0) return bytes.subarray(0, length)
    length += bytesRead
    if (length > maxBytes) return null
    if (length === bytes.length) bytes = Buffer.concat([bytes], Math.min(length * 2, maxBytes + 1))
  }
}

/** Durable. Refuses when the current content is not the expected one. */
export async function replaceFile(directory: Directory, name: Name, replacement: Replacement): Promise<void> {
  const { bytes, mode, expect, links } = replacement
  const before = await expectContent(directory, name, expect, links)
  const finalMode = mode ?? before?.mode
  const temporary = await writeTemporary(directory, bytes, finalMode)
  let taken = false
  try {
    await expectContent(directory, name, expect, links)
    taken = await takeName(directory, temporary, name, expect)
    await directory.sync()
  } finally {
    if (!taken) await ignoring(['ENOENT'], () => directory.unlink(temporary))
  }
}

/** Removes a regular file with the expected content, durably; `later`: the caller syncs the directory. */
export async function removeFile(
  directory: Directory,
  name: Name,
  expect: Sha256,
  durable: 'now' | 'later' = 'now',
): Promise<void> {
  await expectContent(directory, name, expect, 'part')
  await directory.unlink(name)
  if (durable === 'now') await directory.sync()
}

async function expectContent(
  directory: Directory,
  name: Name,
  expect: Sha256 | null,
  links: 'refuse' | 'part',
): Promise<FileContent | null> {
  const found = await readFile(directory, name, CAPTURED_FILE_MAX_BYTES)
  if (found !== null && found.links > 1 && links === 'refuse') {
    const hint = 'copy it to a file of its own first; writing it would change the other name or part from it'
    refuse('policy', `${shown(name)} is a hard link: the file has ${found.links} names`, hint)
  }
  if ((found?.sha256 ?? null) !== expect) changedSince(name)
  return found
}

async function writeTemporary(directory: Directory, bytes: Uint8Array, mode: number | undefined): Promise<Name> {
  for (let number = 0; ; number++) {
    const name = temporaryName(process.pid, number)
    const handle = await ignoring(number < 1000 ? ['EEXIST'] : [], () =>
      directory.createFile(name, mode === undefined ? 0o666 : 0o600),
    )
    if (handle === null) continue
    try {
      await handle.writeFile(bytes)
      if (mode !== undefined) await handle.chmod(mode)
      await handle.sync()
      return name
    } catch (error) {
      await directory.unlink(name)
      throw error
    } finally {
      await handle.close()
    }
  }
}

/** True when the temporary name is gone. A new file is linked, which fails if the name was taken meanwhile. */
async function takeName(directory: Directory, temporary: Name, name: Name, expect: Sha256 | null): Promise<boolean> {
  if (expect === null) {
    try {
      await directory.link(temporary, name)
      return false
    } catch (error) {
      if (codeOf(error) === 'EEXIST') changedSince(name)
      if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(codeOf(error) ?? '')) throw error
      if ((await directory.look(name)) !== null) changedSince(name)
    }
  }
  await directory.rename(temporary, name)
  return true
}

function changedSince(name: Name): never {
  refuse(
    'logic',
    `${shown(name)} has changed since it was read; nothing was overwritten`,
    'read it again, then decide again',
  )
}

/** If the writing process is dead, any process may remove it. */
const temporaryName = (pid: number, number: number): Name => Buffer.from(`.planfold-${pid}-${number}.tmp`)

/** The process that writes this temporary file; null for any other name. */
export function writerOf(name: Name): number | null {
  const match = /^\.planfold-([1-9][0-9]{0,9})-[0-9]{1,4}\.tmp$/.exec(name.toString('latin1'))
  return match === null ? null : Number(match[1])
}

const shown = (name: Name): string => JSON.stringify(name.toString())
const ONLY_REGULAR = 'only regular files can be read and written'
