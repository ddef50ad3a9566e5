// The workspace as a folder: captures the files of a write scope into blobs and restores them. A restore first stores everything it is
// going to change, so it can itself be undone.

import { realpathSync } from 'node:fs'
import { advise, quoted } from '../../domain/hint.ts'
import type { Millis, Sha256 } from '../../domain/id.ts'
import { Directory } from '../../safety/files/directory.ts'
import { stateInside } from '../../safety/files/path-gate.ts'
import { type Answer, refuse } from '../../safety/safety-refusal.ts'
import { patternError } from '../../safety/scope.ts'
import { LEFT, OpenFolder } from '../files/open-folder.ts'
import { pathBytes, pathText } from '../files/path-text.ts'
import { mergeText } from '../rollback/merge-text.ts'
import { type Difference, differenceOf, type Found, madeDirectories, unknownOf } from '../snapshots/difference.ts'
import {
  type BytePath,
  type Entry,
  type Left,
  type Manifest,
  readManifest,
  textOf,
  writeManifest,
} from '../snapshots/manifest.ts'
import { writeTrees } from '../snapshots/partial-snapshot.ts'
import type { SnapshotsOptions } from '../snapshots/snapshots.ts'
import { StatCache } from '../snapshots/stat-cache.ts'
import { readTree, type Tree, type TreeRow } from '../snapshots/tree-object.ts'
import { isSameRow } from '../snapshots/write-tree.ts'
import {
  type Blobs,
  type Captured,
  type Change,
  type Differences,
  type LeftOut,
  type Restored,
  type RestoreOptions,
  reportWork,
  type ScopeDifferences,
  type SnapshotBlobs,
  type TreeEntry,
  type Workspace,
} from '../workspace.ts'
import { carryOut } from './restore.ts'
import { type Scan, type ScopeTree, scanScope } from './scan.ts'
import { storing } from './store-files.ts'

export interface WorkspaceOptions extends Pick<SnapshotsOptions, 'root' | 'stateDir' | 'now' | 'cache' | 'onProgress'> {
  readonly blobs: Pick<SnapshotBlobs, 'put' | 'get' | 'batch' | 'touch'>
}

const SCANS_MAX = 6
const TREES_MAX = 20_000

export function openWorkspace(options: WorkspaceOptions): Workspace {
  const own = new WorkspaceOfFolder(options)
  return {
    capture: patterns => own.capture(patterns),
    restore: (id, how) => own.restore(id, how),
    changesSince: id => own.changesSince(id),
    compare: (saved, to) => own.compare(saved, to),
    merge: (base, mine, theirs) => own.merge(base, mine, theirs),
  }
}

interface Room {
  readonly root: Directory
  readonly folder: OpenFolder
  readonly state: readonly string[] | null
  readonly report: (entries: number) => void
}

/** An opened manifest; for the first format version the trees are built in memory. */
type Opened = Pick<Manifest, 'patterns' | 'left'> & ScopeTree

class WorkspaceOfFolder {
  readonly #options: WorkspaceOptions
  #cache: StatCache | null = null
  #trees = new Map<Sha256, Tree>()

  constructor(options: WorkspaceOptions) {
    this.#options = options
  }

  async capture(patterns: readonly string[]): Promise<Captured> {
    const captured = await this.#working('capturing the write scope', async room => {
      checkPatterns(patterns)
      const { scan, stored } = await this.#scan(room, patterns)
      return { manifest: stored, files: scan.files, bytes: scan.bytes, left: asLeftOut(leftIn(scan)) }
    })
    return captured.ok ? { ok: true, ...captured.value } : captured
  }

  async restore(id: Sha256, how: RestoreOptions = {}): Promise<Restored> {
    const restored = await this.#working('restoring the write scope', room => this.#restore(room, id, how))
    return restored.ok ? { ok: true, ...restored.value } : restored
  }

  async compare(saved: Sha256, to: Sha256): Promise<Differences> {
    const compared = await storing('reading what was set back', async () => {
      const [before, made] = [await this.#open(saved), await this.#open(to)]
      const { entries, found } = await unequal(before, made)
      const changes: Change[] = []
      for (const path of [...new Set([...entries.keys(), ...found.keys()])].sort()) {
        const [before, after] = [entries.get(path) ?? null, found.get(path) ?? null]
        if (after?.type === 'special' || JSON.stringify(before) === JSON.stringify(after)) continue
        changes.push({ path: pathText(path), before: toldEntry(before), after: toldEntry(after) })
      }
      return { changes, left: asLeftOut(before.left) }
    })
    return compared.ok ? { ok: true, ...compared.value } : compared
  }

  async merge(base: Sha256, mine: Sha256, theirs: Sha256) {
    const { blobs } = this.#options
    const [from, one, other] = await Promise.all([base, mine, theirs].map(id => blobs.get(id)))
    const merged = from && one && other ? mergeText(from, one, other) : null
    return merged === null ? null : { sha256: await blobs.put(merged), size: merged.length }
  }

  async changesSince(id: Sha256): Promise<ScopeDifferences> {
    const since = await this.#working('looking at the write scope', room => this.#changesSince(room, id))
    return since.ok ? { ok: true, ...since.value } : since
  }

  async #changesSince(room: Room, id: Sha256) {
    const manifest = await this.#open(id)
    const { scan } = await this.#scan(room, manifest.patterns, manifest)
    return await changesIn(manifest, scan)
  }

  async #restore(room: Room, id: Sha256, how: RestoreOptions) {
    const { blobs } = this.#options
    const manifest = await this.#open(id)
    const { patterns } = manifest
    const { scan, stored: saved } = await this.#scan(room, patterns, manifest)
    if (how.judged !== undefined) {
      const moved = unjudged(how.judged, (await changesIn(manifest, scan)).changes)
      if (moved.length > 0) cannot('restore everything', moved, 'transient')
    }
    const isPlain = (how.keep?.size ?? 0) === 0 && (how.write?.size ?? 0) === 0
    const both = isPlain ? await unequal(manifest, sideOf(scan)) : await whole(manifest, sideOf(scan))
    const { found } = both
    const entries = isPlain ? both.entries : targetOf(both.entries, found, how)
    const all = differenceOf({ ...manifest, entries }, { found, left: scan.left })
    const { after = Number.POSITIVE_INFINITY } = how
    const extraDirectories = all.extraDirectories.filter(path => (scan.changedAt(path) ?? 0) <= after)
    const difference = { ...all, extraDirectories }
    if (difference.unknown.length > 0) cannot('store what stands there now', difference.unknown)
    await expectBlobs(difference, blobs)
    const target = isPlain ? { id, ...manifest } : await this.#written({ ...manifest, entries })
    how.onSaved?.(saved, target.id)

    const contentOf = async (file: Entry & { readonly type: 'file' }) =>
      (await blobs.get(file.sha256)) ?? missing(file.sha256)
    const current = { found, left: scan.left }
    const changed = await carryOut(difference, { root: room.root, scan: current, contentOf })

    const checked = await scanScope({ ...this.#scanning(room, patterns, manifest), batch: null, distrust: new Set() })
    const remaining = await unequal(target, sideOf(checked))
    const rest = differenceOf({ ...target, entries: remaining.entries }, { found: remaining.found, left: checked.left })
    if (rest.unknown.length > 0) cannot('restore everything', rest.unknown)
    // The file is being edited now: a restore starts again.
    const moved = rest.changes.map(({ path }) => ({ path, reason: 'changed again' }))
    if (moved.length > 0) cannot('restore everything', moved, 'transient')
    return { saved, changed: changed.map(pathText), manifest: target.id, left: asLeftOut(manifest.left) }
  }

  /** All files of the scope and the manifest are durable on return. */
  async #scan(
    room: Room,
    patterns: readonly string[],
    expected?: ScopeTree,
  ): Promise<{ readonly scan: Scan; readonly stored: Sha256 }> {
    const { blobs } = this.#options
    const distrust = new Set<Sha256>()
    for (let tried = 1; ; tried++) {
      const batch = blobs.batch()
      const scan = await scanScope({ ...this.#scanning(room, patterns, expected), batch, distrust })
      const missing = blobs.touch(scan.reused)
      const manifest = { patterns, tree: scan.tree, left: leftIn(scan) }
      const stored = missing.length === 0 ? batch.add(writeManifest(manifest)) : null
      await batch.close()
      if (stored !== null) {
        scan.remember()
        const known = this.#recall()
        for (const [id, rows] of scan.trees) known.set(id, rows)
        return { scan, stored }
      }
      if (tried >= SCANS_MAX)
        refuse('transient', 'the files and their stored contents do not come to rest', 'try again in a while')
      for (const id of missing) distrust.add(id)
    }
  }

  #scanning({ folder, state, report }: Room, patterns: readonly string[], expected?: ScopeTree) {
    const { now, cache, stateDir, root } = this.#options
    this.#cache ??= cache?.() ?? new StatCache(stateDir, realpathSync(root))
    return {
      root: folder,
      state,
      patterns,
      cache: this.#cache,
      now: now ?? NEVER_SETTLED,
      report,
      ...(expected && { expected }),
    }
  }

  async #open(id: Sha256): Promise<Opened> {
    const { blobs } = this.#options
    const stored = await blobs.get(id)
    if (stored === null) refuse('logic', `there is no manifest ${id}`, 'it was never captured, or it was pruned')
    const manifest = readManifest(stored)
    const known = this.#recall()
    const load = async (tree: Sha256): Promise<Tree> => {
      const rows = known.get(tree)
      if (rows !== undefined) return rows
      const bytes = await blobs.get(tree)
      if (bytes === null)
        refuse('logic', `the manifest ${tree} of ${id} is missing`, advise`run ${quoted('check', { readData: true })}`)
      const read = readTree(bytes)
      known.set(tree, read)
      return read
    }
    return { ...manifest, load }
  }

  async #written({ patterns, left, entries }: Manifest): Promise<Opened & { readonly id: Sha256 }> {
    const batch = this.#options.blobs.batch()
    const { tree } = writeTrees(
      bytes => batch.add(bytes),
      partsOf(entries),
      () => 0o755,
    )
    const id = batch.add(writeManifest({ patterns, tree, left }))
    await batch.close()
    return { id, ...(await this.#open(id)) }
  }

  #recall(): Map<Sha256, Tree> {
    if (this.#trees.size > TREES_MAX) this.#trees = new Map()
    return this.#trees
  }

  async #working<T>(doing: string, work: (room: Room) => Promise<T>): Promise<Answer<T>> {
    return await storing(doing, async () => {
      const root = await Directory.open(this.#options.root)
      try {
        const folder = OpenFolder.open(this.#options.root)
        try {
          const state = await stateInside(this.#options)
          return await reportWork(this.#options.onProgress, report => work({ root, folder, state, report }))
        } finally {
          folder.close()
        }
      } finally {
        await root.close()
      }
    })
  }
}

const NEVER_SETTLED = (): number => Number.NEGATIVE_INFINITY

const sideOf = ({ tree, trees }: Scan): ScopeTree => ({ tree, load: async id => trees.get(id)! })

const leftIn = ({ left, special }: Scan): readonly Left[] =>
  [...left, ...special].sort((a, b) => (a.path < b.path ? -1 : 1))

async function changesIn(manifest: Opened, scan: Scan) {
  const { entries, found } = await unequal(manifest, sideOf(scan))
  const difference = differenceOf({ ...manifest, entries }, { found, left: scan.left })
  const made = madeDirectories(difference, manifest.patterns, scan.empty).map(path => ({ path, want: null }))
  const changes: Change[] = []
  const left: Left[] = [...unknownOf({ ...manifest, entries }, difference)]
  const changedAt = new Map<string, Millis>()
  for (const { path, want } of [...difference.changes, ...made].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const have = found.get(path) ?? null
    changedAt.set(pathText(path), changeTime(scan, path))
    if (have?.type === 'special') left.push({ path, reason: 'special file' })
    else changes.push({ path: pathText(path), before: toldEntry(want), after: toldEntry(have) })
  }
  return { changes, left: asLeftOut(left), changedAt }
}

function unjudged(judged: readonly Change[], now: readonly Change[]): readonly Left[] {
  const known = new Map(judged.map(({ path, after }) => [path, JSON.stringify(after)]))
  return now.flatMap(({ path, after }) =>
    known.get(path) === JSON.stringify(after) ? [] : [{ path, reason: 'changed meanwhile' }],
  )
}

/** Paths that may differ between two trees. Equal directories are skipped. */
async function unequal(before: ScopeTree, after: ScopeTree): Promise<Both> {
  const both: Both = { entries: new Map(), found: new Map() }
  const compare = async (above: BytePath, treeA: Sha256 | null, treeB: Sha256 | null): Promise<void> => {
    if (treeA === treeB) return
    const rows: Tree = treeA === null ? NO_ROWS : await before.load(treeA)
    const now: Tree = treeB === null ? NO_ROWS : await after.load(treeB)
    for (const name of new Set([...rows.keys(), ...now.keys()])) {
      const [was, is] = [rows.get(name), now.get(name)]
      if (was !== undefined && is !== undefined && isSameRow(was, is)) continue
      const path = above === '' ? name : `${above}/${name}`
      // A path that could not be captured is among the left-out ones.
      if (was !== undefined && was.type !== 'left') both.entries.set(path, entryOf(was))
      if (is !== undefined) both.found.set(path, is.type === 'left' ? { type: 'special' } : entryOf(is))
      await compare(path, was?.type === 'directory' ? was.tree : null, is?.type === 'directory' ? is.tree : null)
    }
  }
  await compare('', before.tree, after.tree)
  return both
}

async function whole(before: ScopeTree, after: ScopeTree): Promise<Both> {
  const { entries } = await unequal(before, NO_TREE)
  const { found } = await unequal(NO_TREE, after)
  return { entries, found }
}

interface Both {
  readonly entries: Map<BytePath, Entry>
  readonly found: Map<BytePath, Found>
}

const NO_ROWS: Tree = new Map()
const NO_TREE: ScopeTree = { tree: '' as Sha256, load: async () => NO_ROWS }

function entryOf(row: Exclude<TreeRow, { type: 'left' }>): Entry {
  return row.type === 'directory' ? { type: 'directory', mode: row.mode } : row
}

const partsOf = (entries: ReadonlyMap<BytePath, Entry>): ReadonlyMap<BytePath, TreeEntry | null> =>
  new Map(Array.from(entries, ([path, entry]) => [path, toldEntry(entry)]))

/** For a missing path: the time of the nearest existing directory. */
function changeTime({ changedAt }: Scan, path: BytePath): Millis {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
    const time = changedAt(at)
    if (time !== undefined || at === '') return time ?? 0
  }
}

const toldEntry = (entry: Entry | null): TreeEntry | null =>
  entry?.type === 'link' ? { type: 'link', target: pathText(entry.target) } : entry

const asLeftOut = (left: readonly Left[]): readonly LeftOut[] =>
  left.map(({ path, reason }) => ({ path: pathText(path), reason }))

/** The target: the manifest, with kept or replaced files. */
function targetOf(
  wanted: ReadonlyMap<BytePath, Entry>,
  found: ReadonlyMap<BytePath, Found>,
  { keep, write }: RestoreOptions,
): ReadonlyMap<BytePath, Entry> {
  const entries = new Map(wanted)
  const written = [...(write?.keys() ?? [])].map(pathBytes)
  for (const path of new Set([...wanted.keys(), ...found.keys(), ...written])) {
    const instead = write?.get(pathText(path))
    if (instead === null) entries.delete(path)
    else if (instead?.type === 'link') entries.set(path, { type: 'link', target: pathBytes(instead.target) })
    else if (instead !== undefined) entries.set(path, instead)
    if (keep?.has(pathText(path)) !== true) continue
    const stands = found.get(path)
    if (stands === undefined || stands.type === 'special') entries.delete(path)
    else entries.set(path, stands)
    // Includes its parent directories.
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const above = found.get(path.slice(0, at))
      if (above?.type === 'directory' && !entries.has(path.slice(0, at))) entries.set(path.slice(0, at), above)
    }
  }
  return entries
}

/** Checks that everything needed is stored before the first change. */
async function expectBlobs({ changes }: Difference, blobs: Pick<Blobs, 'get'>): Promise<void> {
  for (const { want } of changes) {
    if (want?.type === 'file' && (await blobs.get(want.sha256)) === null) missing(want.sha256)
  }
}

function missing(sha256: Sha256): never {
  refuse('logic', `the stored content ${sha256} is missing; nothing more was changed`, advise`run ${quoted('check')}`)
}

function cannot(what: string, paths: readonly Left[], kind: 'logic' | 'transient' = 'logic'): never {
  const shown = paths.slice(0, 10).map(({ path, reason }) => `${JSON.stringify(textOf(path))} (${reason})`)
  const more = paths.length > 10 ? ` and ${paths.length - 10} more` : ''
  refuse(
    kind,
    `cannot ${what}: ${shown.join(', ')}${more}`,
    paths.every(({ reason }) => reason === LEFT.unreadable)
      ? 'make them readable (chmod -R u+rwX), or move them away, then try again'
      : 'move these away or close what writes them, then try again',
  )
}

function checkPatterns(patterns: readonly string[]): void {
  for (const pattern of patterns) {
    const wrong = patternError(pattern)
    if (wrong !== null)
      refuse('policy', `the pattern ${JSON.stringify(pattern)} ${wrong}`, 'correct `write` of the task')
  }
}
