// The current content of one path, read through open folders from the workspace down.

import type { BigIntStats } from 'node:fs'
import { orElse } from '../../domain/json.ts'
import { hasCode } from '../../safety/safety-refusal.ts'
import type { BytePath } from '../snapshots/manifest.ts'
import type { Stamp } from '../snapshots/stat-cache.ts'
import type { TreeEntry } from '../workspace.ts'
import { LEFT, type OpenFolder, readSteady } from './open-folder.ts'
import { pathText } from './path-text.ts'

export type CurrentFile =
  | { readonly entry: TreeEntry | null; readonly bytes?: Uint8Array; readonly links?: number; readonly stamp?: Stamp }
  /** There is something that cannot be stored. */
  | { readonly blocked: string }

/** When a hash is expected, one read is enough: a torn read does not match it. */
export const ANY_TIME = Number.POSITIVE_INFINITY

/** The `bytes` of a file are valid only until the next file is read. */
export function readCurrentFile(root: OpenFolder, path: BytePath, now: number): CurrentFile {
  const look = () => within(root, path, (folder, name) => fileStateIn(folder, name, now)) ?? { entry: null }
  return orElse(look, { blocked: LEFT.unreadable }, isForbidden)
}

export function fileStateIn(folder: OpenFolder, name: BytePath, now: number): CurrentFile {
  const stat = folder.look(name)
  if (stat === null) return { entry: null }
  if (stat.isDirectory()) return { entry: { type: 'directory', mode: Number(stat.mode & 0o7777n) } }
  if (stat.isSymbolicLink()) return { entry: { type: 'link', target: pathText(folder.readLink(name)) } }
  if (!stat.isFile()) return { blocked: LEFT.special }
  const read = readSteady(folder, name, now)
  if (read === null) return { entry: null }
  if (typeof read === 'string') return { blocked: read }
  const { bytes, sha256, stamp, links } = read
  return { entry: { type: 'file', mode: stamp.mode, size: bytes.length, sha256 }, bytes, links, stamp }
}

export const lookAt = (root: OpenFolder, path: BytePath): BigIntStats | null =>
  orElse(() => within(root, path, (folder, name) => folder.look(name)), null, isForbidden)

export function modeAt(root: OpenFolder, path: BytePath): number {
  const stat = lookAt(root, path)
  return stat?.isDirectory() ? Number(stat.mode & 0o7777n) : 0o755
}

const isForbidden = hasCode('EACCES', 'EPERM')
const isNoFolder = hasCode('ENOENT', 'ENOTDIR', 'ELOOP')

const enter = (folder: OpenFolder, name: BytePath): OpenFolder | null =>
  orElse(() => folder.enter(name), null, isNoFolder)

/** Calls `act` in the parent folder; null when that does not exist. Symbolic links on the way count as missing. */
export function within<T>(root: OpenFolder, path: BytePath, act: (folder: OpenFolder, name: BytePath) => T): T | null {
  const names = path.split('/')
  const leaf = names.pop()!
  let here = root
  try {
    for (const name of names) {
      const next = enter(here, name)
      if (next === null) return null
      if (here !== root) here.close()
      here = next
    }
    return act(here, leaf)
  } finally {
    if (here !== root) here.close()
  }
}

/** To be closed by the caller; null when there is no such folder. */
export function openFolderAt(root: OpenFolder, path: BytePath): OpenFolder | null {
  if (path === '') return root.again()
  return within(root, path, enter)
}

export const parentOf = (path: BytePath): BytePath => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '')
