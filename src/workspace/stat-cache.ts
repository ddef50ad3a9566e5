// What the files were when they were last hashed, so that unchanged ones are not read again. Kept in memory and, because a
// process may be young, in one file of the state folder. It may be lost or stale at any time: an entry counts only while
// size, times, inode and mode are those of the file, and its content is asked for in the content store by its hash.
//
// The racy rule: a file that changed within the same tick of the clock as it was hashed could change again without its
// time showing it. So an entry counts only when the file was clearly older than the moment its hashing began.

import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import type { Sha256 } from '../domain/id.ts'
import { codeOf } from '../safety/refused.ts'
import type { BytePath } from './manifest.ts'
import type { Totals, Tree, TreeRow } from './tree-object.ts'

/** Clearly older: coarse file systems keep times in steps of two seconds. */
const SETTLED_MS = 2_000
/** Where times have fractions of a millisecond, their steps are at most a tick of the kernel, 10 ms. */
const SETTLED_FINE_MS = 300

export interface Stamp {
  readonly size: number
  readonly mode: number
  readonly ino: bigint
  readonly mtimeNs: bigint
  readonly ctimeNs: bigint
}

export interface CachedFile extends Stamp {
  readonly row: TreeRow & { readonly type: 'file' }
  /** The size as the system gives it, to be compared without making a number of it. */
  readonly sizeExact: bigint
  /** Was it settled when it was hashed? */
  readonly settled: boolean
}

export interface CachedDirectory {
  readonly files: ReadonlyMap<BytePath, CachedFile>
  /** The manifest made of it last, in this process. */
  /** Its names as the file system listed them, and in order. */
  readonly listed?: { readonly raw: readonly BytePath[]; readonly sorted: readonly BytePath[] }
  readonly made?: {
    readonly id: Sha256
    readonly names: readonly BytePath[]
    readonly rows: Tree
    readonly totals: Totals
  }
}

export const isSettled = (stamp: Stamp, now: number): boolean => {
  const latest = stamp.mtimeNs > stamp.ctimeNs ? stamp.mtimeNs : stamp.ctimeNs
  const fine = stamp.ctimeNs % 1_000_000n !== 0n
  return Number(latest / 1_000_000n) < now - (fine ? SETTLED_FINE_MS : SETTLED_MS)
}

export const isSameStamp = (a: Stamp, b: Stamp): boolean =>
  a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs && a.ino === b.ino && a.mode === b.mode

/** The same question, asked for every file of every walk. The mode is not: changing it changes the ctime. */
export const isUnchanged = (cached: CachedFile, stat: fs.BigIntStats): boolean =>
  cached.ctimeNs === stat.ctimeNs &&
  cached.mtimeNs === stat.mtimeNs &&
  cached.ino === stat.ino &&
  cached.sizeExact === stat.size

const FILE_NAME = 'stat-cache'
const MAGIC = Buffer.from('PFSTAT1\n')
const ROW_BYTES = 72
/** Written again when so many entries are newer than the file, or one in twenty. Fewer are soon hashed. */
const STALE_MIN = 256

export class StatCache {
  directories: Map<BytePath, CachedDirectory>
  readonly #path: string
  readonly #root: string
  #stale = 0

  constructor(stateDir: string, root: string) {
    this.#path = join(stateDir, FILE_NAME)
    this.#root = root
    this.directories = this.#load()
  }

  learned(count: number): void {
    this.#stale += count
  }

  /** Keeps it for processes to come, when that is worth it; whether it succeeds does not matter. */
  save(): void {
    let files = 0
    for (const directory of this.directories.values()) files += directory.files.size
    if (this.#stale <= Math.max(STALE_MIN, files / 20)) return
    const temporary = `${this.#path}.${process.pid}.tmp`
    try {
      fs.mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
      fs.writeFileSync(temporary, this.#bytes(), { mode: 0o600 })
      fs.renameSync(temporary, this.#path)
      this.#stale = 0
    } catch (error) {
      if (codeOf(error) === null) throw error
      fs.rmSync(temporary, { force: true })
    }
  }

  #bytes(): Buffer {
    const parts: Buffer[] = [written(Buffer.from(this.#root))]
    for (const [path, { files }] of this.directories) {
      const settled = [...files].filter(([, file]) => file.settled)
      if (settled.length === 0) continue
      const count = Buffer.alloc(4)
      count.writeUInt32LE(settled.length)
      parts.push(written(Buffer.from(path, 'latin1')), count)
      for (const [name, file] of settled) {
        const row = Buffer.allocUnsafe(ROW_BYTES)
        row.write(file.row.sha256, 0, 'hex')
        row.writeDoubleLE(file.size, 32)
        row.writeBigUInt64LE(file.ino, 40)
        row.writeBigInt64LE(file.mtimeNs, 48)
        row.writeBigInt64LE(file.ctimeNs, 56)
        row.writeUInt32LE(file.mode, 64)
        row.writeUInt32LE(name.length, 68)
        parts.push(row, Buffer.from(name, 'latin1'))
      }
    }
    const body = Buffer.concat(parts)
    return Buffer.concat([MAGIC, Buffer.from(hash('sha256', body), 'hex'), body])
  }

  /** Anything that is not whole, or is about another workspace, is as good as nothing. */
  #load(): Map<BytePath, CachedDirectory> {
    const directories = new Map<BytePath, CachedDirectory>()
    let bytes: Buffer
    try {
      bytes = fs.readFileSync(this.#path)
    } catch (error) {
      if (codeOf(error) === null) throw error
      return directories
    }
    const start = MAGIC.length + 32
    const body = bytes.subarray(start)
    if (bytes.length < start || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return directories
    if (hash('sha256', body) !== bytes.toString('hex', MAGIC.length, start)) return directories
    let at = 0
    const text = (encoding: 'utf8' | 'latin1') => {
      const length = body.readUInt32LE(at)
      at += 4 + length
      return body.toString(encoding, at - length, at)
    }
    if (text('utf8') !== this.#root) return directories
    while (at < body.length) {
      const files = new Map<BytePath, CachedFile>()
      directories.set(text('latin1'), { files })
      const count = body.readUInt32LE(at)
      at += 4
      for (let row = 0; row < count; row++) {
        const length = body.readUInt32LE(at + 68)
        const size = body.readDoubleLE(at + 32)
        const mode = body.readUInt32LE(at + 64)
        const sha256 = body.toString('hex', at, at + 32) as Sha256
        files.set(body.toString('latin1', at + ROW_BYTES, at + ROW_BYTES + length), {
          row: { type: 'file', mode, size, sha256 },
          size,
          sizeExact: BigInt(size),
          ino: body.readBigUInt64LE(at + 40),
          mtimeNs: body.readBigInt64LE(at + 48),
          ctimeNs: body.readBigInt64LE(at + 56),
          mode,
          settled: true,
        })
        at += ROW_BYTES + length
      }
    }
    return directories
  }
}

function written(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes.length)
  return Buffer.concat([length, bytes])
}
