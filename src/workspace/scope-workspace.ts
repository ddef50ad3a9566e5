// The workspace as a folder: captures the files of a write scope into blobs and makes the scope as it was again. Whatever
// a restore is going to change is stored before the first change, so a restore can itself be undone.

import type { Millis, Sha256 } from '../domain/id.ts'
import { Directory } from '../safety/directory.ts'
import { stateInside } from '../safety/path-gate.ts'
import { type Answer, refuse } from '../safety/refused.ts'
import { patternError } from '../safety/scope.ts'
import { type Difference, differenceOf, madeDirectories, unknownOf } from './difference.ts'
import { type BytePath, type Entry, type Left, type Manifest, readManifest, textOf, writeManifest } from './manifest.ts'
import { mergeText } from './merge-text.ts'
import { pathText } from './path-text.ts'
import { carryOut } from './restoring.ts'
import { type Scan, type ScanOptions, scanScope } from './scan.ts'
import { storing } from './storing.ts'
import type {
  Blobs,
  Captured,
  Change,
  Differences,
  LeftOut,
  Restored,
  RestoreOptions,
  ScopeDifferences,
  TreeEntry,
  Workspace,
} from './workspace.ts'

export interface WorkspaceOptions {
  readonly root: string
  readonly stateDir: string
  readonly blobs: Blobs
  /** Wall clock in milliseconds; spares reading files twice that have not changed lately. */
  readonly now?: () => number
}

export function openWorkspace(options: WorkspaceOptions): Workspace {
  return {
    async capture(patterns): Promise<Captured> {
      const captured = await working(options, 'Capturing the write scope', async base => {
        checkPatterns(patterns)
        const keeping = keepingIn(options.blobs)
        const scan = await scanScope({ ...base, patterns, keep: (_, content) => keeping.add(content.bytes) })
        const manifest = manifestOf(patterns, scan)
        const files = [...manifest.entries.values()].filter(entry => entry.type === 'file').length
        const id = await keeping.end(writeManifest(manifest))
        return { manifest: id, files, bytes: scan.bytes, left: told(manifest.left) }
      })
      return captured.ok ? { ok: true, ...captured.value } : captured
    },
    async restore(id, how = {}): Promise<Restored> {
      const restored = await working(options, 'Restoring the write scope', base =>
        restore(options.blobs, base, id, how),
      )
      return restored.ok ? { ok: true, ...restored.value } : restored
    },
    async compare(saved, to): Promise<Differences> {
      const compared = await working(options, 'Reading what was set back', () => compare(options.blobs, saved, to))
      return compared.ok ? { ok: true, ...compared.value } : compared
    },
    async merge(base, mine, theirs) {
      const [from, one, other] = await Promise.all([base, mine, theirs].map(id => options.blobs.get(id)))
      const merged = from && one && other ? mergeText(from, one, other) : null
      return merged === null ? null : { sha256: await options.blobs.put(merged), size: merged.length }
    },
    async changesSince(id): Promise<ScopeDifferences> {
      const since = await working(options, 'Looking at the write scope', base => changesSince(options.blobs, base, id))
      return since.ok ? { ok: true, ...since.value } : since
    },
  }
}

const TOGETHER_MAX_BYTES = 16 * 1024 * 1024

/** Stores contents a few megabytes at a time, and the manifest with the last of them. */
function keepingIn(blobs: Blobs) {
  let waiting: Uint8Array[] = []
  let bytes = 0
  const store = async (): Promise<readonly Sha256[]> => {
    const contents = waiting
    waiting = []
    bytes = 0
    return (await blobs.putMany?.(contents)) ?? (await Promise.all(contents.map(each => blobs.put(each))))
  }
  return {
    async add(content: Uint8Array): Promise<void> {
      waiting.push(content)
      bytes += content.length
      if (bytes > TOGETHER_MAX_BYTES) await store()
    },
    /** All of it is durable when this answers. */
    async end(manifest: Uint8Array): Promise<Sha256> {
      waiting.push(manifest)
      return (await store()).at(-1)!
    },
    async endWithout(): Promise<void> {
      if (waiting.length > 0) await store()
    },
  }
}

type Base = Pick<ScanOptions, 'root' | 'state' | 'now'>

async function working<T>(
  options: WorkspaceOptions,
  doing: string,
  work: (base: Base) => Promise<T>,
): Promise<Answer<T>> {
  return await storing(doing, async () => {
    const root = await Directory.open(options.root)
    try {
      return await work({ root, state: await stateInside(options), ...(options.now && { now: options.now }) })
    } finally {
      await root.close()
    }
  })
}

async function storedManifest(blobs: Blobs, id: Sha256): Promise<Manifest> {
  const stored = await blobs.get(id)
  if (stored === null) refuse('logic', `There is no manifest ${id}.`, 'It was never captured, or it was pruned.')
  return readManifest(stored)
}

async function openManifest(
  blobs: Blobs,
  base: Base,
  id: Sha256,
): Promise<{ readonly manifest: Manifest; readonly options: Omit<ScanOptions, 'keep'> }> {
  const manifest = await storedManifest(blobs, id)
  const expected = (path: BytePath) => manifest.entries.get(path)?.type
  return { manifest, options: { ...base, patterns: manifest.patterns, expected } }
}

/** Stores the contents that the manifest does not hold at their path. */
const keepOthers =
  (manifest: Manifest, put: (bytes: Uint8Array) => Promise<unknown>): ScanOptions['keep'] =>
  async (path, content) => {
    const want = manifest.entries.get(path)
    if (want?.type !== 'file' || want.sha256 !== content.sha256) await put(content.bytes)
  }

async function changesSince(blobs: Blobs, base: Base, id: Sha256) {
  const { manifest, options } = await openManifest(blobs, base, id)
  const keeping = keepingIn(blobs)
  const scan = await scanScope({ ...options, keep: keepOthers(manifest, bytes => keeping.add(bytes)) })
  await keeping.endWithout()
  const difference = differenceOf(manifest, scan)
  const made = madeDirectories(difference, manifest.patterns, scan.empty).map(path => ({ path, want: null }))
  const changes: Change[] = []
  const left: Left[] = [...unknownOf(manifest, difference)]
  const changedAt = new Map<string, Millis>()
  for (const { path, want } of [...difference.changes, ...made].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const have = scan.found.get(path) ?? null
    changedAt.set(pathText(path), changeTime(scan, path))
    if (have?.type === 'special') left.push({ path, reason: 'special file' })
    else changes.push({ path: pathText(path), before: toldEntry(want), after: toldEntry(have) })
  }
  return { changes, left: told(left), changedAt }
}

/** Of a path that is gone: when the nearest directory that is still there was changed. */
function changeTime({ changedAt }: Scan, path: BytePath): Millis {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
    const time = changedAt.get(at)
    if (time !== undefined || at === '') return time ?? 0
  }
}

async function compare(blobs: Blobs, saved: Sha256, to: Sha256) {
  const [stood, made] = [await storedManifest(blobs, saved), await storedManifest(blobs, to)]
  const changes: Change[] = []
  for (const path of [...new Set([...stood.entries.keys(), ...made.entries.keys()])].sort()) {
    const [before, after] = [stood.entries.get(path) ?? null, made.entries.get(path) ?? null]
    if (JSON.stringify(before) !== JSON.stringify(after))
      changes.push({ path: pathText(path), before: toldEntry(before), after: toldEntry(after) })
  }
  return { changes, left: told(stood.left) }
}

const toldEntry = (entry: Entry | null): TreeEntry | null =>
  entry?.type === 'link' ? { type: 'link', target: pathText(entry.target) } : entry

const told = (left: readonly Left[]): readonly LeftOut[] =>
  left.map(({ path, reason }) => ({ path: pathText(path), reason }))

async function restore(blobs: Blobs, base: Base, id: Sha256, how: RestoreOptions) {
  const { manifest, options } = await openManifest(blobs, base, id)
  const scan = await scanScope({ ...options, keep: keepOthers(manifest, bytes => blobs.put(bytes)) })
  const target = targetOf(manifest, scan, how)
  const whole = differenceOf(target, scan)
  const { after = Number.POSITIVE_INFINITY } = how
  const extraDirectories = whole.extraDirectories.filter(path => (scan.changedAt.get(path) ?? 0) <= after)
  const difference = { ...whole, extraDirectories }
  if (difference.unknown.length > 0) cannot('store what stands there now', difference.unknown)
  await expectBlobs(difference, blobs)
  const stood = manifestOf(manifest.patterns, scan)
  const saved = await blobs.put(writeManifest(stood))
  const kept = target === manifest ? id : await blobs.put(writeManifest(target))
  how.onSaved?.(saved, kept)

  const contentOf = async (file: Entry & { readonly type: 'file' }) =>
    (await blobs.get(file.sha256)) ?? missing(file.sha256)
  const changed = await carryOut(difference, { root: base.root, scan, contentOf })

  const rest = differenceOf(target, await scanScope({ ...options, keep: async () => {} }))
  const wrong = [...rest.changes.map(({ path }) => ({ path, reason: 'changed again' })), ...rest.unknown]
  if (wrong.length > 0) cannot('restore everything', wrong)
  return { saved, changed: changed.map(pathText), manifest: kept, left: told(manifest.left) }
}

/** The manifest with what is kept, or written instead, as it shall stand. */
function targetOf(manifest: Manifest, scan: Scan, { keep, write }: RestoreOptions): Manifest {
  if ((keep?.size ?? 0) === 0 && (write?.size ?? 0) === 0) return manifest
  const entries = new Map(manifest.entries)
  for (const path of new Set([...manifest.entries.keys(), ...scan.found.keys()])) {
    const instead = write?.get(pathText(path))
    if (instead !== undefined && instead.type !== 'link') entries.set(path, instead)
    if (keep?.has(pathText(path)) !== true) continue
    const found = scan.found.get(path)
    if (found === undefined || found.type === 'special') entries.delete(path)
    else entries.set(path, found)
    // The directories it lies in belong to it.
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const above = scan.found.get(path.slice(0, at))
      if (above?.type === 'directory' && !entries.has(path.slice(0, at))) entries.set(path.slice(0, at), above)
    }
  }
  return { ...manifest, entries }
}

function manifestOf(patterns: readonly string[], scan: Scan): Manifest {
  const entries = new Map<BytePath, Entry>()
  const left: Left[] = [...scan.left]
  for (const [path, found] of scan.found) {
    if (found.type === 'special') left.push({ path, reason: 'special file' })
    else entries.set(path, found)
  }
  return { patterns, entries, left: left.sort((a, b) => (a.path < b.path ? -1 : 1)) }
}

/** Nothing is changed before all that is needed for it is known to be there. */
async function expectBlobs({ changes }: Difference, blobs: Blobs): Promise<void> {
  for (const { want } of changes) {
    if (want?.type === 'file' && (await blobs.get(want.sha256)) === null) missing(want.sha256)
  }
}

function missing(sha256: Sha256): never {
  refuse('logic', `The stored content ${sha256} is missing; nothing more was changed.`, 'Run `planfold check`.')
}

function cannot(what: string, paths: readonly Left[]): never {
  const shown = paths.slice(0, 10).map(({ path, reason }) => `${JSON.stringify(textOf(path))} (${reason})`)
  const more = paths.length > 10 ? ` and ${paths.length - 10} more` : ''
  refuse(
    'logic',
    `Cannot ${what}: ${shown.join(', ')}${more}.`,
    'Move these away or close what writes them, then try again.',
  )
}

function checkPatterns(patterns: readonly string[]): void {
  for (const pattern of patterns) {
    const wrong = patternError(pattern)
    if (wrong !== null)
      refuse('policy', `The pattern ${JSON.stringify(pattern)} ${wrong}.`, 'Correct `write` of the task.')
  }
}
