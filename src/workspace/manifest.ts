// The manifest of a captured scope: what stood at every path the patterns mean, and so also what did not stand there. It is
// sorted JSON, stored as a blob. Paths are bytes on Linux; in memory a path is a string with one character per byte, in the
// manifest it is text, with the bytes beside it when they are no UTF-8.

import { isUtf8 } from 'node:buffer'
import type { Sha256 } from '../domain/id.ts'
import { refuse } from '../safety/refused.ts'

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

export function writeManifest(manifest: Manifest): Buffer {
  const entries = [...manifest.entries]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, entry]) => {
      if (entry.type !== 'link') return { ...written('path', path), ...entry }
      return { ...written('path', path), type: entry.type, ...written('target', entry.target) }
    })
  const left = manifest.left.map(({ path, reason }) => ({ ...written('path', path), reason }))
  return Buffer.from(JSON.stringify({ manifest: 1, patterns: manifest.patterns, entries, left }))
}

export function readManifest(bytes: Uint8Array): Manifest {
  const stored = JSON.parse(Buffer.from(bytes).toString('utf8')) as Stored
  if (stored.manifest !== 1)
    refuse('logic', 'The manifest is of a version this program does not know.', 'Update planfold.')
  const entries = stored.entries.map(({ path, pathBytes, target, targetBytes, ...entry }): [BytePath, Entry] => {
    const found = entry.type === 'link' ? { type: entry.type, target: unwritten(target ?? '', targetBytes) } : entry
    return [unwritten(path, pathBytes), found as Entry]
  })
  const left = stored.left.map(({ path, pathBytes, reason }) => ({ path: unwritten(path, pathBytes), reason }))
  return { patterns: stored.patterns, entries: new Map(entries), left }
}

interface StoredPath {
  readonly path: string
  readonly pathBytes?: string
}

interface Stored {
  readonly manifest: number
  readonly patterns: readonly string[]
  readonly entries: readonly (StoredPath & { readonly type: Entry['type']; target?: string; targetBytes?: string })[]
  readonly left: readonly (StoredPath & { readonly reason: string })[]
}

function written(key: 'path' | 'target', path: BytePath): { readonly [key: string]: string } {
  const text = textOf(path)
  return isUtf8(bytesOf(path)) ? { [key]: text } : { [key]: text, [`${key}Bytes`]: bytesOf(path).toString('base64') }
}

function unwritten(text: string, base64: string | undefined): BytePath {
  return (base64 === undefined ? Buffer.from(text) : Buffer.from(base64, 'base64')).toString('latin1')
}
