// Reads stored snapshots: the entry of a path, and the differences of two. Directories with equal manifests are skipped.

import { advise, quoted } from '../../domain/hint.ts'
import type { Sha256 } from '../../domain/id.ts'
import { refuse } from '../../safety/safety-refusal.ts'
import { inScope, mayHold } from '../../safety/scope.ts'
import { pathText } from '../files/path-text.ts'
import { type Blobs, type Change, IGNORED, type TreeEntry } from '../workspace.ts'
import { type BytePath, type Left, textOf } from './manifest.ts'
import { readRoot, readTree, type SnapshotRoot, type Tree, type TreeRow } from './tree-object.ts'
import { isNeverCaptured } from './tree-walk.ts'

export const NOT_CAPTURED = 'not captured by this snapshot'

export type Recorded = { readonly entry: TreeEntry | null } | { readonly left: string }

export interface Side {
  readonly tree: Sha256
  readonly only: ReadonlySet<BytePath> | null
  readonly load: (tree: Sha256) => Promise<Tree>
}

export async function openSnapshot(
  blobs: Blobs,
  id: Sha256,
  kept: Map<Sha256, Tree>,
): Promise<Side & Pick<SnapshotRoot, 'scopes'>> {
  const bytes = await blobs.get(id)
  if (bytes === null) refuse('logic', `there is no snapshot ${id}`, 'it was never taken, or it was pruned')
  const load = async (tree: Sha256): Promise<Tree> => {
    const known = kept.get(tree)
    if (known !== undefined) return known
    const stored = await blobs.get(tree)
    if (stored === null)
      refuse(
        'logic',
        `the manifest ${tree} of snapshot ${id} is missing`,
        advise`run ${quoted('check', { readData: true })}`,
      )
    const rows = readTree(stored)
    kept.set(tree, rows)
    return rows
  }
  const { tree, only, scopes } = readRoot(bytes)
  return { tree, only: only === null ? null : new Set(only), scopes, load }
}

/** Below a missing parent the path is absent; below a left-out one it is unknown. */
export async function lookUp(side: Side, path: BytePath, state: readonly string[] | null): Promise<Recorded> {
  if (side.only !== null && !side.only.has(path)) return { left: NOT_CAPTURED }
  const names = path.split('/')
  let tree = await side.load(side.tree)
  for (const [at, name] of names.entries()) {
    if (isNeverCaptured(names.slice(0, at + 1).join('/'), name, state)) return { left: 'never captured' }
    const row = tree.get(name)
    if (row?.type === 'left') return { left: row.reason }
    if (row === undefined) return { entry: null }
    if (at === names.length - 1) return { entry: entryOf(row) }
    if (row.type !== 'directory') return { entry: null }
    tree = await side.load(row.tree)
  }
  return { entry: null }
}

export function entryOf(row: TreeRow): TreeEntry | null {
  if (row.type === 'left') return null
  if (row.type === 'directory') return { type: 'directory', mode: row.mode }
  return row.type === 'link' ? { type: 'link', target: pathText(row.target) } : row
}

export function isSameEntry(a: TreeEntry | null, b: TreeEntry | null): boolean {
  if (a === null || b === null) return a === b
  if (a.type === 'file' && b.type === 'file') return a.sha256 === b.sha256 && a.mode === b.mode
  if (a.type === 'link' && b.type === 'link') return a.target === b.target
  return a.type === 'directory' && b.type === 'directory' && a.mode === b.mode
}

export interface Found {
  readonly changes: Change[]
  readonly left: Left[]
}

export async function differences(a: Side, b: Side, patterns: readonly string[] | null): Promise<Found> {
  const found: Found = { changes: [], left: [] }
  await compare(found, a, b, patterns, '', a.tree, b.tree)
  return found
}

async function compare(
  found: Found,
  a: Side,
  b: Side,
  patterns: readonly string[] | null,
  above: BytePath,
  treeA: Sha256 | null,
  treeB: Sha256 | null,
): Promise<void> {
  if (treeA === treeB) return
  const before: Tree = treeA === null ? new Map() : await a.load(treeA)
  const after: Tree = treeB === null ? new Map() : await b.load(treeB)
  for (const name of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const path = above === '' ? name : `${above}/${name}`
    const [was, is] = [before.get(name), after.get(name)]
    if (was === is) continue
    const wanted = holds(a, path) && holds(b, path) && (patterns === null || inScope(patterns, textOf(path)))
    if (was?.type === 'left' || is?.type === 'left') {
      if (wanted && !isQuiet(was, is)) found.left.push({ path, reason: reasonOf(was, is) })
      continue
    }
    const change = { path: pathText(path), before: was ? entryOf(was) : null, after: is ? entryOf(is) : null }
    if (wanted && !isSameEntry(change.before, change.after)) found.changes.push(change)
    const [belowA, belowB] = [treeOf(was), treeOf(is)]
    if (belowA !== belowB && (patterns === null || mayHold(patterns, textOf(path)))) {
      await compare(found, a, b, patterns, path, belowA, belowB)
    }
  }
}

const holds = ({ only }: Side, path: BytePath): boolean => only === null || only.has(path)
const treeOf = (row: TreeRow | undefined): Sha256 | null => (row?.type === 'directory' ? row.tree : null)

/** A path that is ignored now, and was ignored or absent before, is no difference. */
function isQuiet(was: TreeRow | undefined, is: TreeRow | undefined): boolean {
  const ignored = (row: TreeRow | undefined) => row === undefined || (row.type === 'left' && row.reason === IGNORED)
  return ignored(was) && ignored(is)
}

function reasonOf(was: TreeRow | undefined, is: TreeRow | undefined): string {
  const left = is?.type === 'left' ? is : was
  return left?.type === 'left' ? left.reason : NOT_CAPTURED
}
