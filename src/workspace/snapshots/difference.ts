// The changes that make the scope equal to the manifest. Pure. Extra directories are only candidates for removal if empty, since others may
// have files in them.

import { covers, inScope } from '../../safety/scope.ts'
import { HARD_LINK } from '../scope/scan.ts'
import { PROTECTED } from '../workspace.ts'
import { type BytePath, type Entry, type Left, type Manifest, textOf } from './manifest.ts'

export type Found = Entry | { readonly type: 'special' }

export interface CurrentFiles {
  readonly found: ReadonlyMap<BytePath, Found>
  readonly left: readonly Left[]
}

export interface Change {
  readonly path: BytePath
  readonly have: Found | null
  readonly want: Entry | null
}

export interface Difference {
  readonly changes: readonly Change[]
  readonly extraDirectories: readonly BytePath[]
  /** Paths to change whose current content could not be read, with the reason. */
  readonly unknown: readonly Left[]
}

export function differenceOf(manifest: Manifest, scan: CurrentFiles): Difference {
  const wasLeft = new Set(manifest.left.filter(isUnread).map(({ path }) => path))
  const unknown = scan.left.filter(left => isUnread(left) && !isBelowOne(left.path, wasLeft))
  const isUnknown = new Set(unknown.map(({ path }) => path))
  const changes: Change[] = []
  const extraDirectories: BytePath[] = []
  for (const path of [...new Set([...manifest.entries.keys(), ...scan.found.keys()])].sort()) {
    // What the manifest left out is unknown, and what cannot be read cannot be stored: leave both.
    if (isBelowOne(path, wasLeft) || isBelowOne(path, isUnknown)) continue
    const want = manifest.entries.get(path) ?? null
    const have = scan.found.get(path) ?? null
    if (want === null && have?.type === 'directory') extraDirectories.push(path)
    else if (!isSame(path, have, want, manifest.patterns)) changes.push({ path, have, want })
  }
  return { changes, extraDirectories, unknown }
}

/** Directories that someone created: matched by the patterns, empty, or with a change. Others are only parents. */
export function madeDirectories(
  { changes, extraDirectories }: Difference,
  patterns: readonly string[],
  empty: ReadonlySet<BytePath>,
): readonly BytePath[] {
  const made = new Set<BytePath>()
  const holding = new Set(changes.filter(({ have }) => have !== null).flatMap(({ path }) => above(path)))
  for (const path of extraDirectories.toReversed()) {
    const matched = covers(patterns, textOf(path)) || inScope(patterns, textOf(path))
    if (!matched && !holding.has(path) && !empty.has(path)) continue
    made.add(path)
    for (const each of above(path)) holding.add(each)
  }
  return extraDirectories.filter(path => made.has(path))
}

/** Paths that were left out of the manifest, or cannot be read now, so that changes are unknown. */
export function unknownOf(manifest: Manifest, { unknown }: Difference): readonly Left[] {
  const all = new Map([...manifest.left.filter(isUnread), ...unknown].map(left => [left.path, left]))
  return [...all.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

const isUnread = ({ reason }: Left): boolean => reason !== HARD_LINK && reason !== PROTECTED

function isSame(path: BytePath, have: Change['have'], want: Entry | null, patterns: readonly string[]): boolean {
  if (have === null || want === null) return have === want
  if (have.type === 'file' && want.type === 'file') return have.sha256 === want.sha256 && have.mode === want.mode
  if (have.type === 'link' && want.type === 'link') return have.target === want.target
  if (have.type === 'directory' && want.type === 'directory') {
    // The mode of a directory that only leads to the scope is not ours.
    return have.mode === want.mode || !(covers(patterns, textOf(path)) || inScope(patterns, textOf(path)))
  }
  return false
}

function above(path: BytePath): readonly BytePath[] {
  const names = path.split('/')
  return names.slice(1).map((_, at) => names.slice(0, at + 1).join('/'))
}

function isBelowOne(path: BytePath, tops: ReadonlySet<BytePath>): boolean {
  for (let at = path.length; at > 0; at = path.lastIndexOf('/', at - 1)) if (tops.has(path.slice(0, at))) return true
  return false
}
