// File operations that can be retried: open, sync, rename; and new files that become visible only when complete.

import * as fs from 'node:fs'
import { orElse } from '../../domain/json.ts'
import { codeOf, hasCode } from '../../safety/safety-refusal.ts'
import type { BytePath } from '../snapshots/manifest.ts'
import type { Stamp } from '../snapshots/stat-cache.ts'
import type { TreeEntry } from '../workspace.ts'
import { type OpenFolder, stampOf } from './open-folder.ts'

// Operations on files in an open folder whose error is an answer: the name is taken, or there is no file.

/** False for one of these error codes. */
export function attempt(codes: readonly string[], act: () => void): boolean {
  const acted = () => {
    act()
    return true
  }
  return orElse(acted, false, hasCode(...codes))
}

/** Why the file system refuses, now and on a retry; null when a retry may help, or for a bug of ours. */
export function forbidden(error: unknown): string | null {
  const why = FORBIDDEN[codeOf(error) ?? '']
  return why === undefined ? null : `may not be changed: ${why}`
}

const FORBIDDEN: { readonly [code: string]: string } = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  EXDEV: 'it lies on another file system',
  EBUSY: 'it is in use',
  ETXTBSY: 'it is in use',
  ENAMETOOLONG: 'its name is too long',
}

export function typeAt(folder: OpenFolder, name: BytePath): TreeEntry['type'] | 'special' | null {
  const stat = folder.look(name)
  if (stat === null) return null
  if (stat.isFile()) return 'file'
  if (stat.isDirectory()) return 'directory'
  return stat.isSymbolicLink() ? 'link' : 'special'
}

/** By descriptor, so that a symbolic link placed there meanwhile is not followed. */
export function changeMode(folder: OpenFolder, name: BytePath, mode: number): void {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = fs.constants
  const isLinux = process.platform === 'linux'
  const file = fs.openSync(folder.at(name), (isLinux ? O_PATH : O_RDONLY | O_NONBLOCK) | O_NOFOLLOW)
  try {
    if (isLinux) fs.chmodSync(`/proc/self/fd/${file}`, mode)
    else fs.fchmodSync(file, mode)
  } finally {
    fs.closeSync(file)
  }
}

export function makeFolder(parent: OpenFolder, name: BytePath): OpenFolder {
  attempt(['EEXIST'], () => fs.mkdirSync(parent.at(name), 0o700))
  return parent.enter(name)
}

export const dropFolder = (parent: OpenFolder, name: BytePath): boolean =>
  attempt(['ENOTEMPTY', 'EEXIST', 'ENOENT'], () => fs.rmdirSync(parent.at(name)))

/** Makes renames, links and removals in a folder durable, where the file system supports that. */
export function synced(folder: number): Promise<void> {
  return new Promise((done, fail) =>
    fs.fsync(folder, error => (error === null || NO_SYNC.includes(codeOf(error) ?? '') ? done() : fail(error))),
  )
}

export function removeName(path: Buffer): Promise<void> {
  return new Promise((done, fail) =>
    fs.unlink(path, error => (error === null || codeOf(error) === 'ENOENT' ? done() : fail(error))),
  )
}

const NO_SYNC: readonly string[] = ['EINVAL', 'ENOTSUP']
// Linux only and missing from Node's constants: opens a file without the right to read it.
const O_PATH = 0o10000000

// A new file is written and synced under a temporary name before it takes its place, so others never see it incomplete. Writes are
// synchronous, because passing a small write to a thread costs more than the write; only the sync runs in the background. Many files are
// written first and then synced in parallel, because a write between two syncs waits for the journal of the file system.

const AT_ONCE_BYTES = 1024 * 1024
/** Each holds a file open. */
const AT_ONCE = 64

export interface Fresh {
  readonly fd: number
  readonly stamp: Stamp
}

export async function writeFresh(
  folder: OpenFolder,
  name: BytePath,
  {
    bytes,
    mode,
    yieldTurn,
  }: { readonly bytes: Uint8Array; readonly mode: number; readonly yieldTurn: () => Promise<void> },
): Promise<Fresh> {
  const file = fs.openSync(folder.at(name), 'wx', mode & 0o777)
  try {
    for (let at = 0; at < bytes.length; ) {
      if (at > 0) await yieldTurn()
      at += fs.writeSync(file, bytes, at, Math.min(bytes.length - at, AT_ONCE_BYTES))
    }
    let stamp = stampOf(fs.fstatSync(file, { bigint: true }))
    if (stamp.mode !== mode) {
      fs.fchmodSync(file, mode)
      stamp = { ...stamp, mode }
    }
    return { fd: file, stamp }
  } catch (error) {
    fs.closeSync(file)
    throw error
  }
}

/** Writes one by one, and syncs a bounded number together; null: there is nothing to write. */
export async function writeDurably<T>(all: readonly T[], write: (each: T) => Promise<Fresh | null>): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const syncing: (() => Promise<void>)[] = []
    const writing = async () => {
      for (const each of all.slice(at, at + AT_ONCE)) {
        const fresh = await write(each)
        if (fresh !== null) syncing.push(() => syncedFile(fresh))
      }
    }
    const [written] = await Promise.allSettled([writing()])
    // Waits for all even when one fails, so that none continues in the background.
    const ended = [written, ...(await Promise.allSettled(syncing.map(sync => sync())))]
    for (const each of ended) if (each.status === 'rejected') throw each.reason
  }
}

async function syncedFile({ fd }: Fresh): Promise<void> {
  try {
    await new Promise<void>((done, fail) => fs.fsync(fd, error => (error === null ? done() : fail(error))))
  } finally {
    fs.closeSync(fd)
  }
}
