// Small acts on files in a held folder whose refusal is an answer: the name was taken, or nothing was there.

import * as fs from 'node:fs'
import { codeOf } from '../safety/refused.ts'
import type { HeldFolder } from './held-folder.ts'
import type { BytePath } from './manifest.ts'
import type { TreeEntry } from './workspace.ts'

/** False when it was refused for one of these reasons. */
export function attempt(codes: readonly string[], act: () => void): boolean {
  try {
    act()
    return true
  } catch (error) {
    if (codes.includes(codeOf(error) ?? '')) return false
    throw error
  }
}

/** Why the file system will not have it, also the next time; null when trying again may help, or it is a bug of ours. */
export function forbidden(error: unknown): string | null {
  const why = FORBIDDEN[codeOf(error) ?? '']
  return why === undefined ? null : `may not be changed: ${why}`
}

const FORBIDDEN: { readonly [code: string]: string } = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  EXDEV: 'it lies on another file system',
  EBUSY: 'it is in use',
  ETXTBSY: 'it is in use',
  ENAMETOOLONG: 'its name is too long',
}

export function typeAt(folder: HeldFolder, name: BytePath): TreeEntry['type'] | 'special' | null {
  const stat = folder.look(name)
  if (stat === null) return null
  if (stat.isFile()) return 'file'
  if (stat.isDirectory()) return 'directory'
  return stat.isSymbolicLink() ? 'link' : 'special'
}

/** By a descriptor, so that a link put there meanwhile is not followed. */
export function changeMode(folder: HeldFolder, name: BytePath, mode: number): void {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = fs.constants
  const isLinux = process.platform === 'linux'
  const file = fs.openSync(folder.at(name), (isLinux ? O_PATH : O_RDONLY | O_NONBLOCK) | O_NOFOLLOW)
  try {
    if (isLinux) fs.chmodSync(`/proc/self/fd/${file}`, mode)
    else fs.fchmodSync(file, mode)
  } finally {
    fs.closeSync(file)
  }
}

export function makeFolder(parent: HeldFolder, name: BytePath): HeldFolder {
  attempt(['EEXIST'], () => fs.mkdirSync(parent.at(name), 0o700))
  return parent.enter(name)
}

/** False when there is something in it. */
export const dropFolder = (parent: HeldFolder, name: BytePath): boolean =>
  attempt(['ENOTEMPTY', 'EEXIST', 'ENOENT'], () => fs.rmdirSync(parent.at(name)))

/** Makes what was renamed, linked or removed in a folder durable, where the file system knows that. */
export function synced(folder: number): Promise<void> {
  return new Promise((done, fail) =>
    fs.fsync(folder, error => (error === null || NO_SYNC.includes(codeOf(error) ?? '') ? done() : fail(error))),
  )
}

/** Takes the name away, if it is there. */
export function unlinked(path: Buffer): Promise<void> {
  return new Promise((done, fail) =>
    fs.unlink(path, error => (error === null || codeOf(error) === 'ENOENT' ? done() : fail(error))),
  )
}

const NO_SYNC: readonly string[] = ['EINVAL', 'ENOTSUP']
// Linux only, and not among Node's constants: says which file, without the right to read it.
const O_PATH = 0o10000000
