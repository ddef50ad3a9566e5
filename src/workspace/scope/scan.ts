// Scans the directories of a write scope into one tree object for each directory. Files in the stat cache are not read, and unchanged
// directories are not stored again, so a wide scope costs one stat for each file, like a snapshot. Links are recorded, never followed;
// protected folders and Planfold's state are not entered; files that cannot be read, or change while read, are reported as left out.

import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import type { Millis, Sha256 } from '../../domain/id.ts'
import { CAPTURED_ENTRIES_MAX, CAPTURED_TOTAL_MAX_BYTES } from '../../domain/limits.ts'
import { protectedBy } from '../../safety/files/protected-path.ts'
import { writerOf } from '../../safety/files/regular-file.ts'
import { codeOf, refuse } from '../../safety/safety-refusal.ts'
import { inScope, mayHold } from '../../safety/scope.ts'
import { LEFT, type OpenFolder, readSteady } from '../files/open-folder.ts'
import { type BytePath, bytesOf, type Left, textOf } from '../snapshots/manifest.ts'
import { isSameStat, quickStatsOf } from '../snapshots/quick-stat.ts'
import { type CachedDirectory, type CachedFile, isUnchanged, type StatCache } from '../snapshots/stat-cache.ts'
import { type Tree, type TreeRow, writeTree } from '../snapshots/tree-object.ts'
import { ASIDE } from '../snapshots/tree-walk.ts'
import { Making, totalsOf } from '../snapshots/write-tree.ts'
import { type Batch, PROTECTED } from '../workspace.ts'

const DEPTH_MAX = 200
const YIELD_BYTES = 2 * 1024 * 1024
const ENTRY_COSTS_BYTES = 8 * 1024
/** The cache on disk covers the whole workspace, so it is only worth loading for larger scopes. */
const FILES_WITHOUT_CACHE = 100

export const HARD_LINK = 'hard link: its content is kept, its other names are not'

export interface ScopeTree {
  readonly tree: Sha256
  readonly load: (tree: Sha256) => Promise<Tree>
}

export interface ScanOptions {
  readonly root: OpenFolder
  readonly patterns: readonly string[]
  /** Path of the state folder inside the workspace, each name folded. */
  readonly state: readonly string[] | null
  readonly cache: StatCache
  /** Where contents and trees are stored. Null: scan only, and cache nothing. */
  readonly batch: Batch | null
  /** Hashes that the store lacks: their files are read again. */
  readonly distrust: ReadonlySet<Sha256>
  /** The manifest's tree. A path that changed its type is in scope with everything in it. */
  readonly expected?: ScopeTree
  readonly now: () => number
  readonly report?: ((entries: number) => void) | undefined
}

export interface Scan {
  readonly tree: Sha256
  readonly trees: ReadonlyMap<Sha256, Tree>
  readonly left: readonly Left[]
  /** Special files, which cannot be stored. A restore removes them. */
  readonly special: readonly Left[]
  readonly empty: ReadonlySet<BytePath>
  /** The ctime of a path or its parent directories; '' is the root. */
  readonly changedAt: (path: BytePath) => Millis | undefined
  readonly files: number
  readonly bytes: number
  /** Cached hashes, which must be in the store and stay there. */
  readonly reused: readonly Sha256[]
  /** To be called when everything is durable: the next scan of these patterns starts with this cache. */
  readonly remember: () => void
}

export async function scanScope(options: ScanOptions): Promise<Scan> {
  return await new ScopeScan(options).run()
}

type Made = NonNullable<CachedDirectory['made']>

interface ScanPosition {
  readonly path: BytePath
  readonly depth: number
  /** Everything below is in scope, whatever the patterns say. */
  readonly whole: boolean
  readonly expected: Tree | null
}

class ScopeScan {
  readonly #options: ScanOptions
  readonly #before: ReadonlyMap<BytePath, CachedDirectory>
  readonly #left: Left[] = []
  readonly #special: Left[] = []
  readonly #empty = new Set<BytePath>()
  /** Of directories, and of files that are not in the cache. */
  readonly #changedAt = new Map<BytePath, Millis>()
  readonly #directories = new Map<BytePath, CachedDirectory>()
  readonly #trees = new Map<Sha256, Tree>()
  readonly #reused: Sha256[] = []
  readonly #learned = new Map<BytePath, Map<BytePath, CachedFile>>()
  #entries = 0
  #files = 0
  #bytes = 0
  #unknown = 0
  #worked = 0

  constructor(options: ScanOptions) {
    this.#options = options
    this.#before = options.cache.scope(options.patterns)
  }

  async run(): Promise<Scan> {
    const { root, expected, cache, patterns } = this.#options
    const rows = expected === undefined ? null : await expected.load(expected.tree)
    this.#changedAt.set('', Number(fs.fstatSync(root.fd, { bigint: true }).ctimeMs))
    const { id } = await this.#directory(root, { path: '', depth: 0, whole: false, expected: rows })
    return {
      tree: id,
      trees: this.#trees,
      left: this.#left,
      special: this.#special,
      empty: this.#empty,
      changedAt: path => this.#changeTime(path),
      files: this.#files,
      bytes: this.#bytes,
      reused: this.#reused,
      remember: () => cache.rememberScope(patterns, this.#directories, this.#learned),
    }
  }

  #changeTime(path: BytePath): Millis | undefined {
    const at = path.lastIndexOf('/')
    const file = this.#directories.get(path.slice(0, Math.max(0, at)))?.files.get(path.slice(at + 1))
    return this.#changedAt.get(path) ?? (file === undefined ? undefined : Number(file.ctimeNs / 1_000_000n))
  }

  async #directory(folder: OpenFolder, place: ScanPosition): Promise<Made> {
    const known = this.#before.get(place.path)
    const raw = folder.names()
    const listed = isSameList(raw, known?.listed?.raw) ? known!.listed! : { raw, sorted: raw.toSorted() }
    const names = listed.sorted
    if (names.length === 0) this.#empty.add(place.path)
    const before = listed === known?.listed ? known.glances : undefined
    const glances =
      known === undefined ? null : before?.known === known.files ? before : quickStatsOf(names, known.files, before)
    const made = new Making(known)
    for (let at = 0; at < names.length; at++) {
      const name = names[at]!
      const file = glances?.files[at] ?? null
      const stat = file === null ? null : folder.glance(name)
      if (file !== null && stat !== null && isSameStat(glances!, at, stat) && this.#isTrusted(file)) {
        this.#count()
        this.#reuse(joined(place.path, name), file, stat.nlink)
        made.keep(name, file)
      } else {
        const row = await this.#row(folder, place, name, known)
        if (row !== null) made.add(name, row)
      }
      if (this.#worked > YIELD_BYTES) await this.#yieldTurn()
    }
    const manifest = this.#manifest(made)
    const seen = glances === null ? {} : { glances }
    this.#directories.set(place.path, { listed, files: made.files(), made: manifest, ...seen })
    return manifest
  }

  #manifest(made: Making): Made {
    const { batch, distrust } = this.#options
    const before = made.unchanged()
    if (before !== null && !distrust.has(before.id)) {
      this.#reused.push(before.id)
      this.#trees.set(before.id, before.rows)
      return before
    }
    return this.#written(made.rows(), batch)
  }

  #written(rows: Tree, batch: Batch | null): Made {
    const bytes = writeTree(rows)
    const id = batch?.add(bytes) ?? (hash('sha256', bytes) as Sha256)
    this.#trees.set(id, rows)
    return { id, rows, names: [...rows.keys()], totals: totalsOf(rows) }
  }

  async #row(
    folder: OpenFolder,
    place: ScanPosition,
    name: BytePath,
    known: CachedDirectory | undefined,
  ): Promise<TreeRow | CachedFile | null> {
    const { patterns, state } = this.#options
    // A scope of single files never includes the temporary names beside them.
    if (name.startsWith('.') && writerOf(bytesOf(name)) !== null) {
      sweep(folder, name)
      return null
    }
    const path = joined(place.path, name)
    const text = textOf(path)
    const expected = place.expected?.get(name)
    const matched = inScope(patterns, text)
    const inside = place.whole || matched || (expected !== undefined && expected.type !== 'left')
    const above = place.whole || mayHold(patterns, text)
    if (!inside && !above) return null
    if (protectedBy(text.split('/'), state) !== null) {
      this.#left.push({ path, reason: PROTECTED })
      return null
    }
    const stat = folder.look(name)
    if (stat === null) return null
    this.#count()
    if (stat.isDirectory()) {
      const whole = place.whole || expected?.type === 'file' || expected?.type === 'link'
      this.#changedAt.set(path, Number(stat.ctimeMs))
      return await this.#below(folder, { ...place, path, whole }, name, {
        mode: Number(stat.mode & 0o7777n),
        isEntered: above || whole,
        expected: expected?.type === 'directory' ? expected.tree : null,
      })
    }
    if (!inside) return null
    if (stat.isFile()) return this.#file(folder, { place, path, name, matched, stat, known })
    this.#changedAt.set(path, Number(stat.ctimeMs))
    if (!stat.isSymbolicLink()) {
      this.#special.push({ path, reason: LEFT.special })
      return { type: 'left', reason: LEFT.special }
    }
    try {
      return { type: 'link', target: folder.readLink(name) }
    } catch (error) {
      if (!['EINVAL', 'ENOENT'].includes(codeOf(error) ?? '')) throw error
      return codeOf(error) === 'ENOENT' ? null : this.#leave(path, LEFT.unstable)
    }
  }

  #file(
    folder: OpenFolder,
    {
      place,
      path,
      name,
      matched,
      stat,
      known,
    }: {
      readonly place: ScanPosition
      readonly path: BytePath
      readonly name: BytePath
      readonly matched: boolean
      readonly stat: fs.BigIntStats
      readonly known: CachedDirectory | undefined
    },
  ): TreeRow | CachedFile | null {
    const { cache, batch, now } = this.#options
    const own = known?.files.get(name)
    const isWide = own !== undefined || ++this.#unknown > FILES_WITHOUT_CACHE
    const cached = own ?? (isWide ? cache.directories.get(place.path)?.files.get(name) : undefined)
    if (cached?.settled === true && isUnchanged(cached, stat) && this.#isTrusted(cached)) {
      this.#reuse(path, cached, Number(stat.nlink))
      return this.#known(path, cached, matched)
    }
    const read = readSteady(folder, name, now())
    if (read === null) return null
    if (typeof read === 'string') return this.#leave(path, read)
    const { bytes, sha256, stamp, settled, links } = read
    this.#worked += bytes.length
    this.#add(path, bytes.length, links)
    batch?.add(bytes, sha256)
    const row = { type: 'file', mode: stamp.mode, size: bytes.length, sha256 } as const
    const file = { ...stamp, row, settled }
    const learned = this.#learned.get(place.path) ?? new Map<BytePath, CachedFile>()
    if (settled && name !== ASIDE) this.#learned.set(place.path, learned.set(name, file))
    return this.#known(path, file, matched)
  }

  /** Paths that only the manifest has are not in the cache, which is keyed by patterns. */
  #known(path: BytePath, file: CachedFile, matched: boolean): TreeRow | CachedFile {
    if (matched) return file
    this.#changedAt.set(path, Number(file.ctimeNs / 1_000_000n))
    return file.row
  }

  #isTrusted({ row }: CachedFile): boolean {
    const { distrust } = this.#options
    return distrust.size === 0 || !distrust.has(row.sha256)
  }

  #reuse(path: BytePath, { row }: CachedFile, links: number): void {
    this.#reused.push(row.sha256)
    this.#add(path, row.size, links)
  }

  #add(path: BytePath, size: number, links: number): void {
    this.#files++
    this.#bytes += size
    if (this.#bytes > CAPTURED_TOTAL_MAX_BYTES) tooMuch(`more than ${CAPTURED_TOTAL_MAX_BYTES / 1024 ** 3} GB`)
    if (links > 1) this.#left.push({ path, reason: HARD_LINK })
  }

  #count(): void {
    if (++this.#entries > CAPTURED_ENTRIES_MAX)
      tooMuch(`more than ${CAPTURED_ENTRIES_MAX.toLocaleString('en')} files and folders`)
    this.#worked += ENTRY_COSTS_BYTES
  }

  #leave(path: BytePath, reason: string): null {
    this.#left.push({ path, reason })
    return null
  }

  async #below(
    folder: OpenFolder,
    { path, depth, whole }: ScanPosition,
    name: BytePath,
    about: { readonly mode: number; readonly isEntered: boolean; readonly expected: Sha256 | null },
  ): Promise<TreeRow | null> {
    const rowOf = ({ id, totals }: Made): TreeRow => ({ type: 'directory', mode: about.mode, tree: id, totals })
    const nothing = (): TreeRow => rowOf(this.#written(new Map(), this.#options.batch))
    if (!about.isEntered) return nothing()
    const leave = (reason: string): TreeRow => {
      this.#left.push({ path, reason })
      return nothing()
    }
    if (depth >= DEPTH_MAX) return leave(`deeper than ${DEPTH_MAX} directories`)
    let below: OpenFolder
    try {
      below = folder.enter(name)
    } catch (error) {
      const code = codeOf(error) ?? ''
      // It was deleted since it was listed, so there is nothing to capture.
      if (code === 'ENOENT') return null
      if (!GONE_OR_CLOSED.has(code)) throw error
      return leave(LEFT.unreadable)
    }
    try {
      const expected = about.expected === null ? null : await this.#options.expected!.load(about.expected)
      return rowOf(await this.#directory(below, { path, depth: depth + 1, whole, expected }))
    } catch (error) {
      if (!GONE_OR_CLOSED.has(codeOf(error) ?? '')) throw error
      return leave(LEFT.unreadable)
    } finally {
      below.close()
    }
  }

  async #yieldTurn(): Promise<void> {
    this.#worked = 0
    this.#options.report?.(this.#entries)
    await this.#options.batch?.room()
    await new Promise<void>(resolve => setImmediate(resolve))
  }
}

const GONE_OR_CLOSED: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR', 'ELOOP'])

const joined = (above: BytePath, name: BytePath): BytePath => (above === '' ? name : `${above}/${name}`)

const isSameList = (raw: readonly BytePath[], before: readonly BytePath[] | undefined): boolean =>
  before !== undefined && before.length === raw.length && raw.every((name, at) => name === before[at])

function sweep(folder: OpenFolder, name: BytePath): void {
  try {
    process.kill(writerOf(bytesOf(name))!, 0)
    return
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') return
  }
  try {
    fs.unlinkSync(folder.at(name))
  } catch (error) {
    // Another task's scan may be faster in the same folder.
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

function tooMuch(what: string): never {
  refuse('logic', `the write scope contains ${what}; that is too much to capture`, 'narrow `write` of the task')
}
