// A snapshot of some paths only: saved by a rollback before its first change, or composed from recorded entries. A given path without an
// entry in its tree was absent. Unnamed folders only lead to named paths.

import { advise, quoted } from '../../domain/hint.ts'
import type { Sha256 } from '../../domain/id.ts'
import { refuse } from '../../safety/safety-refusal.ts'
import { parentOf } from '../files/current-file.ts'
import { pathBytes, pathText } from '../files/path-text.ts'
import type { Batch, SnapshotBlobs, TreeEntry } from '../workspace.ts'
import type { BytePath } from './manifest.ts'
import { type Tree, type TreeRow, writeRoot, writeTree } from './tree-object.ts'
import { isNeverCaptured, totalsOf } from './tree-walk.ts'

/** The entry of one path; null: nothing is there. */
export type Part = TreeEntry | { readonly type: 'left'; readonly reason: string } | null

interface Node {
  readonly rows: Map<BytePath, TreeRow>
  readonly below: Map<BytePath, Node>
}

export function writePartial(
  batch: Batch,
  parts: ReadonlyMap<BytePath, Part>,
  modeOf: (folder: BytePath) => number,
): Sha256 {
  const { tree, rows } = writeTrees(bytes => batch.add(bytes), parts, modeOf)
  return batch.add(writeRoot({ tree, totals: totalsOf(rows), scopes: [], only: [...parts.keys()].sort() }))
}

/** One tree for each directory on the way, and the top one. */
export function writeTrees(
  add: (tree: Uint8Array, rows: Tree) => Sha256,
  parts: ReadonlyMap<BytePath, Part>,
  modeOf: (folder: BytePath) => number,
): { readonly tree: Sha256; readonly rows: Tree } {
  const write = (node: Node, path: BytePath): { readonly tree: Sha256; readonly rows: Tree } => {
    for (const [name, below] of node.below) {
      const at = path === '' ? name : `${path}/${name}`
      const part = parts.get(at)
      const mode = part?.type === 'directory' ? part.mode : modeOf(at)
      const { tree, rows } = write(below, at)
      node.rows.set(name, { type: 'directory', mode, tree, totals: totalsOf(rows) })
    }
    const rows = new Map([...node.rows].sort(([a], [b]) => (a < b ? -1 : 1)))
    return { tree: add(writeTree(rows), rows), rows }
  }
  return write(treeOf(parts), '')
}

function treeOf(parts: ReadonlyMap<BytePath, Part>): Node {
  const top: Node = { rows: new Map(), below: new Map() }
  const nodeAt = (path: BytePath): Node => {
    if (path === '') return top
    const above = nodeAt(parentOf(path))
    const name = nameOf(path)
    const known = above.below.get(name)
    if (known !== undefined) return known
    const node: Node = { rows: new Map(), below: new Map() }
    above.below.set(name, node)
    return node
  }
  for (const [path, part] of parts) {
    if (part?.type === 'directory') nodeAt(path)
    else if (part !== null) {
      const row = part.type === 'link' ? { type: 'link' as const, target: pathBytes(part.target) } : part
      nodeAt(parentOf(path)).rows.set(nameOf(path), row)
    }
  }
  return top
}

/** Validates entries from outside: proper paths without contradictions. */
export function checkedParts(
  entries: Iterable<readonly [path: string, entry: TreeEntry | null]>,
  state: readonly string[] | null,
): ReadonlyMap<BytePath, TreeEntry | null> {
  const parts = new Map<BytePath, TreeEntry | null>()
  for (const [text, entry] of entries) {
    const path = pathBytes(text)
    const names = path.split('/')
    const never = names.some((name, at) => isNeverCaptured(names.slice(0, at + 1).join('/'), name, state))
    if (!isSafeRelativePath(path) || never)
      refuse('policy', `${JSON.stringify(text)} is not a path in a snapshot`, 'name paths below the workspace')
    parts.set(path, entry)
  }
  for (const [path, entry] of parts) {
    if (entry === null) continue
    for (let above = parentOf(path); above !== ''; above = parentOf(above)) {
      const part = parts.get(above)
      if (part === undefined || part?.type === 'directory') continue
      const [shown, folder] = [path, above].map(each => JSON.stringify(pathText(each)))
      refuse('logic', `${shown} cannot stand there while ${folder} is not a folder`, 'name the folder as one too')
    }
  }
  return parts
}

/** Marks contents as used, so that they are not collected; refuses when one is missing. */
export function demandStored(blobs: SnapshotBlobs, parts: ReadonlyMap<BytePath, TreeEntry | null>): void {
  const needed = new Set([...parts.values()].flatMap(entry => (entry?.type === 'file' ? [entry.sha256] : [])))
  const [missing] = blobs.touch(needed)
  if (missing !== undefined)
    refuse('logic', `the content ${missing} is not stored`, advise`run ${quoted('check', { readData: true })}`)
}

/** A path below the top without `..`; other paths are never touched. */
export const isSafeRelativePath = (path: BytePath): boolean =>
  path !== '' && !path.includes('\0') && path.split('/').every(name => name !== '' && name !== '.' && name !== '..')

const nameOf = (path: BytePath): BytePath => path.slice(path.lastIndexOf('/') + 1)
