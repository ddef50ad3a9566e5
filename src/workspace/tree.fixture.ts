// Test support of the workspace: trees as values, created on disk and read back without our own walk, and blobs in memory.

import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Sha256 } from '../domain/id.ts'
import { openWorkspace } from './scope/scope-workspace.ts'
import { readManifest } from './snapshots/manifest.ts'
import { readTree as readRows, type TreeRow } from './snapshots/tree-object.ts'
import type { Batch, Blobs } from './workspace.ts'

/** Names are Latin-1: one character per byte. */
export type Tree = ReadonlyMap<string, Node>
export type Node =
  | { readonly type: 'file'; readonly content: string; readonly mode: number }
  | { readonly type: 'link'; readonly target: string }
  | { readonly type: 'dir'; readonly mode: number; readonly children: Tree }
  | { readonly type: 'other' }

export class BlobsMemory implements Blobs {
  readonly stored = new Map<Sha256, Buffer>()
  async put(bytes: Uint8Array) {
    const id = createHash('sha256').update(bytes).digest('hex') as Sha256
    this.stored.set(id, Buffer.from(bytes))
    return id
  }
  async get(id: Sha256) {
    return this.stored.get(id) ?? null
  }
  batch(): Batch {
    const add = (bytes: Uint8Array) => {
      const id = createHash('sha256').update(bytes).digest('hex') as Sha256
      this.stored.set(id, Buffer.from(bytes))
      return id
    }
    return { add, room: async () => {}, close: async () => {}, bytes: 0 }
  }
  touch(ids: Iterable<Sha256>) {
    return [...ids].filter(id => !this.stored.has(id))
  }
}

export function setup(tree: Tree = new Map()) {
  const base = fs.mkdtempSync(join(tmpdir(), 'workspace-'))
  onTestFinished(() => removeTree(base))
  const root = join(base, 'work')
  fs.mkdirSync(root)
  makeTree(root, tree)
  const blobs = new BlobsMemory()
  const workspace = openWorkspace({ root, stateDir: join(root, '.planfold'), blobs })
  const capture = async (...patterns: string[]) => {
    const captured = await workspace.capture(patterns)
    if (!captured.ok) throw new Error(captured.failure.message)
    return captured
  }
  const restore = async (manifest: Sha256) => {
    const restored = await workspace.restore(manifest)
    if (!restored.ok) throw new Error(restored.failure.message)
    return restored
  }
  return { base, root, blobs, workspace, capture, restore }
}

export async function entriesIn(blobs: Blobs, id: Sha256): Promise<Map<string, TreeRow>> {
  const entries = new Map<string, TreeRow>()
  const read = async (above: string, tree: Sha256): Promise<void> => {
    for (const [name, row] of readRows((await blobs.get(tree))!)) {
      entries.set(`${above}${name}`, row)
      if (row.type === 'directory') await read(`${above}${name}/`, row.tree)
    }
  }
  const manifest = readManifest((await blobs.get(id))!)
  await read('', manifest.tree)
  return entries
}

const at = (root: Buffer | string, name: string): Buffer =>
  Buffer.concat([Buffer.from(root), Buffer.from('/'), Buffer.from(name, 'latin1')])

export function makeTree(root: Buffer | string, tree: Tree): void {
  for (const [name, node] of tree) {
    const path = at(root, name)
    if (node.type === 'file') {
      fs.writeFileSync(path, Buffer.from(node.content, 'latin1'))
      fs.chmodSync(path, node.mode)
    } else if (node.type === 'link') fs.symlinkSync(Buffer.from(node.target, 'latin1'), path)
    else if (node.type === 'dir') {
      fs.mkdirSync(path)
      makeTree(path, node.children)
      fs.chmodSync(path, node.mode)
    }
  }
}

export function readTree(root: Buffer | string): Tree {
  const tree = new Map<string, Node>()
  const names = fs.readdirSync(Buffer.from(root), { encoding: 'buffer' }) as unknown as Buffer[]
  for (const name of names.map(name => name.toString('latin1')).sort()) {
    const path = at(root, name)
    const stat = fs.lstatSync(path)
    const mode = stat.mode & 0o7777
    if (stat.isFile()) tree.set(name, { type: 'file', content: fs.readFileSync(path, 'latin1'), mode })
    else if (stat.isSymbolicLink()) {
      tree.set(name, { type: 'link', target: fs.readlinkSync(path, { encoding: 'buffer' }).toString('latin1') })
    } else if (stat.isDirectory()) tree.set(name, { type: 'dir', mode, children: readTree(path) })
    else tree.set(name, { type: 'other' })
  }
  return tree
}

export function clearTree(root: string): void {
  removeTree(root)
  fs.mkdirSync(root)
}

/** Opens read-only folders first: not every user is root. */
export function removeTree(root: string): void {
  const open = (path: Buffer) => {
    if (fs.lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return
    fs.chmodSync(path, 0o755)
    for (const name of fs.readdirSync(path, { encoding: 'buffer' }) as unknown as Buffer[]) {
      open(Buffer.concat([path, Buffer.from('/'), name]))
    }
  }
  open(Buffer.from(root))
  fs.rmSync(root, { recursive: true, force: true })
}

export const file = (content: string, mode = 0o644): Node => ({ type: 'file', content, mode })
export const link = (target: string): Node => ({ type: 'link', target })
export const dir = (children: { readonly [name: string]: Node }, mode = 0o755): Node => ({
  type: 'dir',
  mode,
  children: new Map(Object.entries(children)),
})
export const tree = (children: { readonly [name: string]: Node }): Tree => new Map(Object.entries(children))
