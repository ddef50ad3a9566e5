// An open folder and the names directly in it, for walks over many files. Like safety/files/directory.ts it never follows a symbolic link
// below the workspace, but it is synchronous, to save a turn of the event loop for each call. A read returns bytes that were in the file
// together, or the reason why it cannot.

import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import type { Sha256 } from '../../domain/id.ts'
import { CAPTURED_FILE_MAX_BYTES } from '../../domain/limits.ts'
import { codeOf } from '../../safety/safety-refusal.ts'
import type { BytePath } from '../snapshots/manifest.ts'
import { isSameStamp, isSettled, type Stamp } from '../snapshots/stat-cache.ts'
import { isAscii } from './path-text.ts'

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = fs.constants
const DESCRIPTORS = process.platform === 'linux' && fs.existsSync('/proc/self/fd')
const TRIES = 3
const LOOK = { bigint: true, throwIfNoEntry: false } as const
const GLANCE = { throwIfNoEntry: false } as const

export class OpenFolder {
  readonly fd: number
  readonly #path: string
  readonly #origin: string
  readonly #stoodPlain: boolean

  private constructor(fd: number, path: string) {
    this.fd = fd
    this.#path = DESCRIPTORS ? `/proc/self/fd/${fd}` : path
    this.#origin = path
    this.#stoodPlain = isAscii(path)
  }

  static open(path: string): OpenFolder {
    const real = fs.realpathSync(path)
    return new OpenFolder(fs.openSync(real, O_RDONLY | O_DIRECTORY), Buffer.from(real).toString('latin1'))
  }

  enter(name: BytePath): OpenFolder {
    const folder = fs.openSync(this.at(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    return new OpenFolder(folder, `${this.#origin}/${name}`)
  }

  /** One character for each byte, unordered. */
  names = (): BytePath[] => fs.readdirSync(Buffer.from(this.#path, 'latin1'), { encoding: 'latin1' })

  /** Of the name itself; null when it does not exist. */
  look(name: BytePath): fs.BigIntStats | null {
    return fs.lstatSync(this.at(name), LOOK) ?? null
  }

  /** Faster than `look`, but by path: the folder may have been moved. Null when missing or unknown. */
  glance(name: BytePath): fs.Stats | null {
    const path = `${this.#origin}/${name}`
    try {
      return fs.lstatSync(this.#stoodPlain && isAscii(name) ? path : Buffer.from(path, 'latin1'), GLANCE) ?? null
    } catch (error) {
      if (codeOf(error) === null) throw error
      return null
    }
  }

  readLink = (name: BytePath): BytePath => fs.readlinkSync(this.at(name), { encoding: 'latin1' })

  openFile = (name: BytePath): number => fs.openSync(this.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)

  /** A path that names this folder, or a name in it, while it is open. */
  at(name: BytePath | null): Buffer {
    if (name === null) return Buffer.from(this.#path, 'latin1')
    if (name === '' || name === '.' || name === '..' || name.includes('/')) {
      throw new TypeError(`not a name in a folder: ${JSON.stringify(name)}`)
    }
    return Buffer.from(`${this.#path}/${name}`, 'latin1')
  }

  again(): OpenFolder {
    return new OpenFolder(fs.openSync(this.at(null), O_RDONLY | O_DIRECTORY), this.#origin)
  }

  close(): void {
    fs.closeSync(this.fd)
  }
}

export interface ReadFile {
  readonly bytes: Uint8Array
  readonly sha256: Sha256
  readonly stamp: Stamp
  readonly settled: boolean
  readonly links: number
}

export interface Readable {
  openFile(name: BytePath): number
  look(name: BytePath): fs.BigIntStats | null
}

export const LEFT = {
  big: 'too big',
  unreadable: 'unreadable',
  special: 'special file',
  unstable: 'unstable: it changes while it is read',
} as const

export const stampOf = (stat: fs.BigIntStats): Stamp => ({
  size: Number(stat.size),
  mode: Number(stat.mode & 0o7777n),
  ino: stat.ino,
  mtimeNs: stat.mtimeNs,
  ctimeNs: stat.ctimeNs,
})

/** The content, null for a missing file, or why it cannot be read. `now` is the time before reading. */
export function readSteady(
  folder: Readable,
  name: BytePath,
  now: number,
  maxBytes = CAPTURED_FILE_MAX_BYTES,
): ReadFile | string | null {
  return steady(folder, name, now, maxBytes, 'twice')
}

/** The same, but a file that changed recently is not read twice: the caller checks it again. */
export function readOnceSteady(
  folder: Readable,
  name: BytePath,
  now: number,
  maxBytes: number,
): ReadFile | string | null {
  return steady(folder, name, now, maxBytes, 'once')
}

function steady(
  folder: Readable,
  name: BytePath,
  now: number,
  maxBytes: number,
  fresh: 'once' | 'twice',
): ReadFile | string | null {
  try {
    for (let tried = 0; tried < TRIES; tried++) {
      const first = readOnce(folder, name, maxBytes)
      if (first === null || typeof first === 'string') return first
      const settled = isSettled(first.stamp, now)
      // Timestamps are too coarse for a file that changed just now, so it is read twice.
      const second = settled || fresh === 'once' ? first : readOnce(folder, name, maxBytes)
      if (second === null || typeof second === 'string') continue
      const after = folder.look(name)
      const same = after?.isFile() === true && isSameStamp(first.stamp, stampOf(after))
      if (same && first.sha256 === second.sha256) return { ...second, settled }
    }
    return LEFT.unstable
  } catch (error) {
    const code = codeOf(error) ?? ''
    if (code === 'ENOENT') return null
    if (['EACCES', 'EPERM'].includes(code)) return LEFT.unreadable
    if (['ELOOP', 'EISDIR', 'ENXIO'].includes(code)) return LEFT.unstable
    throw error
  }
}

// One shared buffer: nothing here awaits between reading and hashing.
let buffer = Buffer.allocUnsafe(256 * 1024)
/** A larger buffer is released by the next file that needs less than half of it. */
const BUFFER_KEPT_BYTES = 16 * 1024 * 1024

function readOnce(folder: Readable, name: BytePath, maxBytes: number): Omit<ReadFile, 'settled'> | string | null {
  const file = folder.openFile(name)
  try {
    const stat = fs.fstatSync(file, { bigint: true })
    if (!stat.isFile()) return LEFT.special
    if (stat.size > maxBytes) return LEFT.big
    const size = Number(stat.size)
    if (buffer.length <= size || (buffer.length > BUFFER_KEPT_BYTES && size * 2 < buffer.length))
      buffer = Buffer.allocUnsafe(Math.max(256 * 1024, Math.min(size * 2, size + BUFFER_KEPT_BYTES)))
    let length = 0
    // A later stat shows whether it has grown since.
    while (length !== size) {
      const read = fs.readSync(file, buffer, length, buffer.length - length, null)
      if (read === 0) break
      length += read
      if (length > maxBytes) return LEFT.big
      if (length === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2)
    }
    const bytes = buffer.subarray(0, length)
    return { bytes, sha256: hash('sha256', bytes) as Sha256, stamp: stampOf(stat), links: Number(stat.nlink) }
  } finally {
    fs.closeSync(file)
  }
}
