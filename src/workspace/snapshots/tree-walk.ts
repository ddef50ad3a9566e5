// Walks the whole workspace and builds one manifest for each directory, bottom-up. Files in the stat cache are not read; unchanged
// directories are not stored again. Ignored folders are recorded but not entered, unless a scope may reach into them. Links are recorded,
// never followed. Yields between steps.

import { hash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import type { Sha256 } from '../../domain/id.ts'
import { fold } from '../../safety/files/protected-path.ts'
import { writerOf } from '../../safety/files/regular-file.ts'
import { codeOf, refuse } from '../../safety/safety-refusal.ts'
import { covers, inScope, mayHold } from '../../safety/scope.ts'
import { type IgnoreRules, isIgnored, readRules } from '../files/ignore-rules.ts'
import { LEFT, type OpenFolder, type ReadFile, readOnceSteady, readSteady } from '../files/open-folder.ts'
import { type Batch, IGNORED } from '../workspace.ts'
import { type BytePath, bytesOf, type Left, textOf } from './manifest.ts'
import { type Glances, isSameStat, quickStatsOf } from './quick-stat.ts'
import { type CachedDirectory, type CachedFile, isUnchanged, type StatCache } from './stat-cache.ts'
import { type Totals, type Tree, type TreeRow, writeTree } from './tree-object.ts'
import { Making, totalsOf } from './write-tree.ts'

export { totalsOf } from './write-tree.ts'
/** The folder in the workspace for files that a running rollback replaces. */
export const ASIDE = '.planfold-aside'

const DEPTH_MAX = 200
const ENTRIES_MAX = 2_000_000
const IGNORE_MAX_BYTES = 1024 * 1024
const YIELD_BYTES = 2 * 1024 * 1024
const ENTRY_COSTS_BYTES = 8 * 1024

export interface WalkOptions {
  readonly root: OpenFolder
  /** Path of the state folder inside the workspace, each name folded. */
  readonly state: readonly string[] | null
  readonly scopes: readonly string[]
  readonly cache: StatCache
  /** Hashes that the store lacks: files with them are read again. */
  readonly distrust: ReadonlySet<Sha256>
  /** Files that keep changing: reported, not captured. */
  readonly unstable: ReadonlySet<BytePath>
  /** Null: walk only, store nothing. */
  readonly batch: Batch | null
  readonly now: () => number
  readonly maxBytes: number
  readonly report?: ((entries: number) => void) | undefined
}

export interface Walked {
  readonly tree: Sha256
  readonly totals: Totals
  readonly left: readonly Left[]
  /** Cached hashes, which must be in the store and stay there. */
  readonly reused: readonly Sha256[]
  readonly trees: ReadonlyMap<Sha256, Tree>
  /** Recently changed files, which may be incomplete: check them again. */
  readonly fresh: ReadonlyMap<BytePath, CachedFile>
  readonly entries: number
}

export async function walkTree(options: WalkOptions): Promise<Walked> {
  return await new TreeWalk(options).run()
}

interface TreePosition {
  readonly path: BytePath
  readonly depth: number
  readonly rules: readonly IgnoreRules[]
  /** A parent is ignored: only paths of a scope are captured. */
  readonly ignored: boolean
}

class TreeWalk {
  readonly #options: WalkOptions
  readonly #left: Left[] = []
  readonly #reused: Sha256[] = []
  readonly #trees = new Map<Sha256, Tree>()
  readonly #directories = new Map<BytePath, CachedDirectory>()
  readonly #fresh = new Map<BytePath, CachedFile>()
  readonly #scopes: string
  #entries = 0
  #learned = 0
  #worked = 0

  constructor(options: WalkOptions) {
    this.#options = options
    this.#scopes = JSON.stringify(options.scopes)
  }

  async run(): Promise<Walked> {
    const { root, cache } = this.#options
    const { id, totals } = await this.#directory(root, { path: '', depth: 0, rules: [], ignored: false })
    cache.directories = this.#directories
    cache.scopes = this.#scopes
    cache.learned(this.#learned)
    return {
      tree: id,
      totals,
      left: this.#left,
      reused: this.#reused,
      trees: this.#trees,
      fresh: this.#fresh,
      entries: this.#entries,
    }
  }

  async #directory(folder: OpenFolder, above: TreePosition): Promise<NonNullable<CachedDirectory['made']>> {
    const { cache } = this.#options
    const known = cache.directories.get(above.path)
    const listed = sortedOnce(folder.names(), known)
    const names = listed.sorted
    const place = above.ignored ? above : { ...above, rules: this.#rulesIn(folder, above, names, known) }
    const glances = this.#glances(place, names, listed === known?.listed, known)
    const made = new Making(known)
    for (let at = 0; at < names.length; at++) {
      const name = names[at]!
      const file = this.#atAGlance(folder, glances, name, at)
      if (file !== null) made.keep(name, file)
      else {
        const found = this.#row(folder, place, name, known)
        const row = found === null || !('enter' in found) ? found : await this.#below(folder, place, name, found.enter)
        if (row !== null) made.add(name, row)
      }
      if (this.#worked > YIELD_BYTES) await this.#yieldTurn()
    }
    const manifest = this.#manifest(made)
    const seen = glances === null ? {} : { glances }
    this.#directories.set(above.path, { listed, files: made.files(), rules: place.rules, made: manifest, ...seen })
    this.#trees.set(manifest.id, manifest.rows)
    return manifest
  }

  #manifest(made: Making): NonNullable<CachedDirectory['made']> {
    const { batch, distrust } = this.#options
    const before = made.unchanged()
    if (before !== null && !distrust.has(before.id)) {
      this.#reused.push(before.id)
      return before
    }
    const rows = made.rows()
    const bytes = writeTree(rows)
    const id = batch?.add(bytes) ?? (hash('sha256', bytes) as Sha256)
    return { id, rows, names: [...rows.keys()], totals: totalsOf(rows) }
  }

  /** Null when each file must be checked against the ignore rules. Unchanged rules give the same answers. */
  #glances(
    { rules, ignored }: TreePosition,
    names: readonly BytePath[],
    sameNames: boolean,
    known: CachedDirectory | undefined,
  ): Glances | null {
    if (known === undefined || ignored) return null
    if (rules.length > 0 && (rules !== known.rules || this.#options.cache.scopes !== this.#scopes)) return null
    const before = sameNames ? known.glances : undefined
    return before?.known === known.files ? before : quickStatsOf(names, known.files, before)
  }

  #atAGlance(folder: OpenFolder, glances: Glances | null, name: BytePath, at: number): CachedFile | null {
    const file = glances?.files[at] ?? null
    if (file === null) return null
    const { distrust } = this.#options
    if (distrust.size > 0 && distrust.has(file.row.sha256)) return null
    const stat = folder.glance(name)
    if (stat === null || !isSameStat(glances!, at, stat)) return null
    this.#count()
    this.#reused.push(file.row.sha256)
    return file
  }

  #count(): void {
    if (++this.#entries > ENTRIES_MAX) tooMuch()
    this.#worked += ENTRY_COSTS_BYTES
  }

  /** The entry of a name; `enter` for a directory to walk, null for none. */
  #row(
    folder: OpenFolder,
    { path: above, rules, ignored }: TreePosition,
    name: BytePath,
    known: CachedDirectory | undefined,
  ): TreeRow | CachedFile | { readonly enter: BigIntStats } | null {
    const cached = known?.files.get(name)
    const stat = folder.look(name)
    if (stat === null) return null
    this.#count()
    const { distrust, scopes, state } = this.#options
    const hit = cached?.settled === true && isUnchanged(cached, stat)
    const path = above === '' ? name : `${above}/${name}`
    if (cached === undefined && isNeverCaptured(path, name, state)) return null
    const isDirectory = stat.isDirectory()
    if (ignored || (rules.length > 0 && isIgnored(rules, path, isDirectory))) {
      const text = scopes.length === 0 ? '' : textOf(path)
      const wanted =
        scopes.length > 0 && (inScope(scopes, text) || (isDirectory && (mayHold(scopes, text) || covers(scopes, text))))
      if (!wanted) return { type: 'left', reason: IGNORED }
    }
    if (hit && !distrust.has(cached.row.sha256)) {
      this.#reused.push(cached.row.sha256)
      return cached
    }
    if (isDirectory) return { enter: stat }
    if (stat.isSymbolicLink()) {
      try {
        return { type: 'link', target: folder.readLink(name) }
      } catch (error) {
        if (!['EINVAL', 'ENOENT'].includes(codeOf(error) ?? '')) throw error
        return this.#leave(path, LEFT.unstable)
      }
    }
    if (!stat.isFile()) return this.#leave(path, LEFT.special)
    if (this.#options.unstable.has(path)) return this.#leave(path, LEFT.unstable)
    const read = readOnceSteady(folder, name, this.#options.now(), this.#options.maxBytes)
    if (read === null) return null
    if (typeof read === 'string') return this.#leave(path, read)
    const file = this.#file(read)
    if (!file.settled) this.#fresh.set(path, file)
    return file
  }

  #file({ bytes, sha256, stamp, settled }: ReadFile): CachedFile {
    this.#worked += bytes.length
    this.#learned++
    this.#options.batch?.add(bytes, sha256)
    return {
      ...stamp,
      row: { type: 'file', mode: stamp.mode, size: bytes.length, sha256 },
      settled,
    }
  }

  async #below(folder: OpenFolder, place: TreePosition, name: BytePath, stat: BigIntStats): Promise<TreeRow | null> {
    const path = place.path === '' ? name : `${place.path}/${name}`
    if (place.depth >= DEPTH_MAX) return this.#leave(path, `deeper than ${DEPTH_MAX} directories`)
    let below: OpenFolder | null = null
    try {
      below = folder.enter(name)
      const ignored = place.ignored || isIgnored(place.rules, path, true)
      const { id, totals } = await this.#directory(below, { ...place, path, depth: place.depth + 1, ignored })
      return { type: 'directory', mode: Number(stat.mode & 0o7777n), tree: id, totals }
    } catch (error) {
      const code = codeOf(error) ?? ''
      if (code === 'ENOENT') return null
      if (['EACCES', 'EPERM'].includes(code)) return this.#leave(path, LEFT.unreadable)
      if (['ENOTDIR', 'ELOOP'].includes(code)) return this.#leave(path, LEFT.unstable)
      throw error
    } finally {
      below?.close()
    }
  }

  /** As in git, a symbolic link is not followed. */
  #rulesIn(
    folder: OpenFolder,
    { path, rules }: TreePosition,
    names: readonly BytePath[],
    known: CachedDirectory | undefined,
  ): readonly IgnoreRules[] {
    const before = known?.rules ?? []
    const more: IgnoreRules[] = []
    for (const name of ['.gitignore', '.planfoldignore']) {
      if (!names.includes(name) || folder.look(name)?.isFile() !== true) continue
      const read = readSteady(folder, name, this.#options.now(), IGNORE_MAX_BYTES)
      if (read === null || typeof read === 'string') continue
      const base = path === '' ? '' : `${path}/`
      const text = Buffer.from(read.bytes).toString('latin1')
      more.push(before.find(each => each.base === base && each.text === text) ?? readRules(base, text))
    }
    if (more.length === 0) return rules
    // Returns the same array if nothing changed, so that cached decisions stay valid.
    const all = [...rules, ...more]
    return all.length === before.length && all.every((each, at) => each === before[at]) ? before : all
  }

  #leave(path: BytePath, reason: string): TreeRow {
    this.#left.push({ path, reason })
    return { type: 'left', reason }
  }

  async #yieldTurn(): Promise<void> {
    this.#worked = 0
    this.#options.report?.(this.#entries)
    await this.#options.batch?.room()
    await new Promise<void>(resolve => setImmediate(resolve))
  }
}

/** Sorts only if the listing differs from the previous one. */
function sortedOnce(
  raw: readonly BytePath[],
  known: CachedDirectory | undefined,
): NonNullable<CachedDirectory['listed']> {
  const before = known?.listed
  if (before !== undefined && before.raw.length === raw.length && raw.every((name, at) => name === before.raw[at])) {
    return before
  }
  return { raw, sorted: raw.toSorted() }
}

/** Git's own folder, Planfold's state, and temporary files beside replaced ones. */
export function isNeverCaptured(path: BytePath, name: BytePath, state: readonly string[] | null): boolean {
  const first = name.charCodeAt(0)
  // Fast path for most names. Bytes above 127 may fold to these letters.
  if (first === 0x2e || first === 0x67 || first === 0x47 || first > 0x7f || !/^[\x20-\x7e]*$/.test(name)) {
    if (writerOf(bytesOf(name)) !== null || name === ASIDE) return true
    const folded = fold(textOf(name))
    if (folded === '.git' || folded === '.planfold') return true
  }
  if (state === null || path.split('/').length !== state.length) return false
  return textOf(path)
    .split('/')
    .every((component, at) => fold(component) === state[at])
}

function tooMuch(): never {
  refuse(
    'resource',
    `the workspace contains more than ${ENTRIES_MAX} files`,
    'name what need not be kept in .planfoldignore',
  )
}
