// The stats of files when they were last hashed, so that unchanged ones are not read again. In memory, and in one file of the state folder
// for new processes. It may be lost or stale: an entry counts only if size, times, inode and mode match, and the content store has the
// hash.
//
// The racy rule: a file that changed within the same clock tick as its hashing could change again without a new time. So an entry counts
// only when the file was clearly older than the start of its hashing.

import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import type { Sha256 } from '../../domain/id.ts'
import { orElse } from '../../domain/json.ts'
import { codeOf, isSystemError } from '../../safety/safety-refusal.ts'
import type { IgnoreRules } from '../files/ignore-rules.ts'
import { placeName } from '../files/path-text.ts'
import type { BytePath } from './manifest.ts'
import type { Glances } from './quick-stat.ts'
import type { Totals, Tree, TreeRow } from './tree-object.ts'

/** Coarse file systems have times in steps of two seconds. */
const SETTLED_MS = 2_000
/** Times with fractions of a millisecond have steps of at most a kernel tick, 10 ms. */
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
  readonly settled: boolean
}

export interface CachedDirectory {
  readonly files: ReadonlyMap<BytePath, CachedFile>
  /** Its names as the file system listed them, and sorted. */
  readonly listed?: { readonly raw: readonly BytePath[]; readonly sorted: readonly BytePath[] }
  /** Of the names in `listed`; some `files` may be newer. */
  readonly glances?: Glances
  readonly rules?: readonly IgnoreRules[]
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

/** Without the mode: changing it changes the ctime. */
export const isUnchanged = (cached: CachedFile, stat: fs.BigIntStats): boolean =>
  cached.ctimeNs === stat.ctimeNs &&
  cached.mtimeNs === stat.mtimeNs &&
  cached.ino === stat.ino &&
  cached.size === Number(stat.size)

const NOTHING: ReadonlyMap<BytePath, CachedDirectory> = new Map()
const FILE_NAME = 'stat-cache'
const MAGIC = Buffer.from('PFSTAT1\n')
const ROW_BYTES = 72
/** The file is rewritten when more than so many entries, and more than one in ten, are newer than it. Fewer are quickly hashed again. */
const STALE_MIN = 256

/** How many pattern lists are cached, for parallel and consecutive tasks. */
const SCOPES_MAX = 16

export class StatCache {
  /** From walks of the whole workspace, and files hashed by scope scans. Loaded lazily. */
  #directories: Map<BytePath, CachedDirectory> | null = null
  /** The last scan of each write scope in this process; the most recent last. */
  readonly #scopes = new Map<string, ReadonlyMap<BytePath, CachedDirectory>>()
  /** Those of the last walk, which affect what is ignored. */
  scopes: string | null = null
  readonly #path: string
  readonly #root: string
  #stale = 0

  constructor(stateDir: string, root: string) {
    this.#path = join(stateDir, placeName(FILE_NAME, { root, stateDir }))
    this.#root = root
  }

  get directories(): Map<BytePath, CachedDirectory> {
    this.#directories ??= this.#load()
    return this.#directories
  }

  set directories(directories: Map<BytePath, CachedDirectory>) {
    this.#directories = directories
  }

  scope(patterns: readonly string[]): ReadonlyMap<BytePath, CachedDirectory> {
    return this.#scopes.get(JSON.stringify(patterns)) ?? NOTHING
  }

  rememberScope(
    patterns: readonly string[],
    directories: ReadonlyMap<BytePath, CachedDirectory>,
    learned: ReadonlyMap<BytePath, ReadonlyMap<BytePath, CachedFile>>,
  ): void {
    const key = JSON.stringify(patterns)
    this.#scopes.delete(key)
    this.#scopes.set(key, directories)
    for (const [oldest] of this.#scopes) {
      if (this.#scopes.size <= SCOPES_MAX) break
      this.#scopes.delete(oldest)
    }
    let count = 0
    for (const files of learned.values()) count += files.size
    // Hashing a few files is faster than loading the cache.
    if (count === 0 || (this.#directories === null && count < STALE_MIN)) return
    for (const [path, files] of learned) {
      // Only the files: listings and ignore rules of snapshots cannot be derived from them.
      const all = new Map(this.directories.get(path)?.files)
      for (const [name, file] of files) all.set(name, file)
      this.directories.set(path, { files: all })
    }
    this.learned(count)
    this.save()
  }

  learned(count: number): void {
    this.#stale += count
  }

  save(): void {
    let files = 0
    for (const directory of this.directories.values()) files += directory.files.size
    if (this.#stale <= Math.max(STALE_MIN, files / 10)) return
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
    const root = Buffer.from(this.#root)
    const directories: (readonly [BytePath, readonly (readonly [BytePath, CachedFile])[]])[] = []
    let size = MAGIC.length + 32 + 4 + root.length
    for (const [path, { files }] of this.directories) {
      const settled = [...files].filter(([, file]) => file.settled)
      if (settled.length === 0) continue
      directories.push([path, settled])
      size += 4 + path.length + 4
      for (const [name] of settled) size += ROW_BYTES + name.length
    }
    const bytes = Buffer.allocUnsafe(size)
    const start = MAGIC.copy(bytes) + 32
    let at = bytes.writeUInt32LE(root.length, start)
    at += root.copy(bytes, at)
    for (const [path, files] of directories) {
      at = bytes.writeUInt32LE(path.length, at)
      at += bytes.write(path, at, 'latin1')
      at = bytes.writeUInt32LE(files.length, at)
      for (const [name, file] of files) {
        at += bytes.write(file.row.sha256, at, 'hex')
        at = bytes.writeDoubleLE(file.size, at)
        at = bytes.writeBigUInt64LE(file.ino, at)
        at = bytes.writeBigInt64LE(file.mtimeNs, at)
        at = bytes.writeBigInt64LE(file.ctimeNs, at)
        at = bytes.writeUInt32LE(file.mode, at)
        at = bytes.writeUInt32LE(name.length, at)
        at += bytes.write(name, at, 'latin1')
      }
    }
    bytes.write(hash('sha256', bytes.subarray(start)), MAGIC.length, 'hex')
    return bytes
  }

  /** A damaged file, or one of another workspace, counts as empty. */
  #load(): Map<BytePath, CachedDirectory> {
    const directories = new Map<BytePath, CachedDirectory>()
    const bytes = orElse(() => fs.readFileSync(this.#path), null, isSystemError)
    if (bytes === null) return directories
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
