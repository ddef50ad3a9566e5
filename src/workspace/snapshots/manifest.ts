// The manifest of a captured scope: what stood at every path the patterns mean, and so also what did not stand there. It is
// JSON, stored as a blob, and names the tree of the top directory; trees are those of snapshots. Manifests of the first
// version list every path themselves and are still read. Paths are bytes on Linux; in memory a path is a string with one
// character per byte, in the manifest it is text, with the bytes beside it when they are no UTF-8.

import { isUtf8 } from 'node:buffer'
import type { Sha256 } from '../../domain/id.ts'
import { refuse } from '../../safety/safety-refusal.ts'

/** A path whose every character is one byte; '' is the workspace itself. */
export type BytePath = string

export type Entry =
  | { readonly type: 'file'; readonly mode: number; readonly size: number; readonly sha256: Sha256 }
  | { readonly type: 'link'; readonly target: BytePath }
  | { readonly type: 'directory'; readonly mode: number }

/** What a scope holds, or the part of it that is looked at. */
export interface Manifest {
  readonly patterns: readonly string[]
  readonly entries: ReadonlyMap<BytePath, Entry>
  readonly left: readonly Left[]
}

/** As it is stored now. */
export interface TreeManifest {
  readonly patterns: readonly string[]
  readonly tree: Sha256
  readonly left: readonly Left[]
}

export interface Left {
  readonly path: BytePath
  readonly reason: string
}

export const bytesOf = (path: BytePath): Buffer => Buffer.from(path, 'latin1')

/** For people and patterns: the text of a path, or its bytes as Latin-1 when it is none. */
export function textOf(path: BytePath): string {
  const bytes = bytesOf(path)
  return isUtf8(bytes) ? bytes.toString('utf8') : path
}

export function writeManifest({ patterns, tree, left }: TreeManifest): Buffer {
  const leftOut = left.map(({ path, reason }) => ({ ...written('path', path), reason }))
  return Buffer.from(JSON.stringify({ manifest: 2, patterns, tree, left: leftOut }))
}

export function readManifest(bytes: Uint8Array): TreeManifest | Manifest {
  const stored = JSON.parse(Buffer.from(bytes).toString('utf8')) as Stored
  if (stored.manifest !== 1 && stored.manifest !== 2)
    refuse('logic', 'The manifest is of a version this program does not know.', 'Update planfold.')
  const { patterns } = stored
  const left = stored.left.map(({ path, pathBytes, reason }) => ({ path: unwritten(path, pathBytes), reason }))
  if (stored.manifest === 2) return { patterns, tree: stored.tree, left }
  const entries = stored.entries.map(({ path, pathBytes, target, targetBytes, ...entry }): [BytePath, Entry] => {
    const found = entry.type === 'link' ? { type: entry.type, target: unwritten(target ?? '', targetBytes) } : entry
    return [unwritten(path, pathBytes), found as Entry]
  })
  return { patterns, entries: new Map(entries), left }
}

interface StoredPath {
  readonly path: string
  readonly pathBytes?: string
}

type Stored = {
  readonly patterns: readonly string[]
  readonly left: readonly (StoredPath & { readonly reason: string })[]
} & (
  | {
      readonly manifest: 1
      readonly entries: readonly (StoredPath & {
        readonly type: Entry['type']
        target?: string
        targetBytes?: string
      })[]
    }
  | { readonly manifest: 2; readonly tree: Sha256 }
)

function written(key: 'path' | 'target', path: BytePath): { readonly [key: string]: string } {
  const text = textOf(path)
  return isUtf8(bytesOf(path)) ? { [key]: text } : { [key]: text, [`${key}Bytes`]: bytesOf(path).toString('base64') }
}

function unwritten(text: string, base64: string | undefined): BytePath {
  return (base64 === undefined ? Buffer.from(text) : Buffer.from(base64, 'base64')).toString('latin1')
}
