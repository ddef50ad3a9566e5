// The manifest of a captured scope: what was at every path of its patterns, and so also what was missing. JSON, stored as a blob with the
// tree of the top directory; trees are those of snapshots. Paths on Linux are bytes: in memory a string with one character per byte, in the
// manifest text, with the bytes beside it if they are not UTF-8.

import { isUtf8 } from 'node:buffer'
import type { Sha256 } from '../../domain/id.ts'
import { refuse } from '../../safety/safety-refusal.ts'

/** A path whose every character is one byte; '' is the workspace itself. */
export type BytePath = string

export type Entry =
  | { readonly type: 'file'; readonly mode: number; readonly size: number; readonly sha256: Sha256 }
  | { readonly type: 'link'; readonly target: BytePath }
  | { readonly type: 'directory'; readonly mode: number }

export interface Manifest {
  readonly patterns: readonly string[]
  readonly entries: ReadonlyMap<BytePath, Entry>
  readonly left: readonly Left[]
}

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

/** For people and patterns: the path as text, or its bytes as Latin-1 if they are not UTF-8. */
export function textOf(path: BytePath): string {
  const bytes = bytesOf(path)
  return isUtf8(bytes) ? bytes.toString('utf8') : path
}

const MANIFEST_VERSION = 2

export function writeManifest({ patterns, tree, left }: TreeManifest): Buffer {
  const leftOut = left.map(({ path, reason }) => ({ ...written(path), reason }))
  return Buffer.from(JSON.stringify({ manifest: MANIFEST_VERSION, patterns, tree, left: leftOut }))
}

export function readManifest(bytes: Uint8Array): TreeManifest {
  const stored = JSON.parse(Buffer.from(bytes).toString('utf8')) as Stored
  if (stored.manifest !== MANIFEST_VERSION)
    refuse('logic', 'the manifest is of a version this program does not know', 'update planfold')
  const { patterns, tree } = stored
  const left = stored.left.map(({ path, pathBytes, reason }) => ({ path: unwritten(path, pathBytes), reason }))
  return { patterns, tree, left }
}

interface Stored {
  readonly manifest: number
  readonly patterns: readonly string[]
  readonly tree: Sha256
  readonly left: readonly { readonly path: string; readonly pathBytes?: string; readonly reason: string }[]
}

function written(path: BytePath): { readonly path: string; readonly pathBytes?: string } {
  const text = textOf(path)
  return isUtf8(bytesOf(path)) ? { path: text } : { path: text, pathBytes: bytesOf(path).toString('base64') }
}

function unwritten(text: string, base64: string | undefined): BytePath {
  return (base64 === undefined ? Buffer.from(text) : Buffer.from(base64, 'base64')).toString('latin1')
}
