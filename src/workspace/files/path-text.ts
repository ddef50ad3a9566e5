// Paths as text. Names on Linux are bytes; bytes that are not UTF-8 become lone surrogates, as in Python, which convert back to exactly the
// same name.

import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { relative } from 'node:path'
import { orElse } from '../../domain/json.ts'
import { isSystemError } from '../../safety/safety-refusal.ts'
import { type BytePath, bytesOf } from '../snapshots/manifest.ts'
import type { SnapshotBlobs } from '../workspace.ts'

// Names for per-folder data in a state folder that may serve several folders: the workspace around it, and worktrees of plans inside it.
// Derived from the relative path between the two, so that both may be moved together.

interface Folders {
  readonly root: string
  readonly stateDir: string
}

/** The plain name for the parent folder of the state folder, else a name with a hash. */
export function placeName(name: string, { root, stateDir }: Folders): string {
  const way = relative(real(stateDir), real(root))
  return way === '..' ? name : `${name}-${hash('sha256', way).slice(0, 16)}`
}

export function notesOf(blobs: SnapshotBlobs, folders: Folders): SnapshotBlobs {
  const named = (name: string): string => placeName(name, folders)
  return {
    put: bytes => blobs.put(bytes),
    get: id => blobs.get(id),
    putMany: blobs.putMany === undefined ? undefined : contents => blobs.putMany!(contents),
    batch: () => blobs.batch(),
    touch: ids => blobs.touch(ids),
    pin: (name, note, until) => blobs.pin(named(name), note, until),
    pinned: name => blobs.pinned(named(name)),
    unpin: name => blobs.unpin(named(name)),
  }
}

/** A folder that does not exist keeps its path. */
const real = (path: string): string => orElse(() => realpathSync(path), path, isSystemError)

export function pathText(path: BytePath): string {
  if (isAscii(path)) return path
  const bytes = bytesOf(path)
  if (isUtf8(bytes)) return bytes.toString('utf8')
  let text = ''
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find(count => at + count <= bytes.length && isUtf8(bytes.subarray(at, at + count)))
    text += length === undefined ? String.fromCharCode(0xdc00 + bytes[at]!) : bytes.toString('utf8', at, at + length)
    at += length ?? 1
  }
  return text
}

export function pathBytes(text: string): BytePath {
  if (isAscii(text)) return text
  let path = ''
  for (const character of text) {
    const code = character.codePointAt(0)!
    if (code >= 0xdc80 && code <= 0xdcff) path += String.fromCharCode(code - 0xdc00)
    else path += Buffer.from(character).toString('latin1')
  }
  return path
}

export function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false
  return true
}
