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

export async function attempting(codes: readonly string[], act: () => Promise<void>): Promise<boolean> {
  try {
    await act()
    return true
  } catch (error) {
    if (codes.includes(codeOf(error) ?? '')) return false
    throw error
  }
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

/** Makes what was renamed, linked or removed in a folder durable, where the file system knows that. */
export function synced(folder: number): Promise<void> {
  return new Promise((done, fail) =>
    fs.fsync(folder, error => (error === null || NO_SYNC.includes(codeOf(error) ?? '') ? done() : fail(error))),
  )
}

const NO_SYNC: readonly string[] = ['EINVAL', 'ENOTSUP']
// Linux only, and not among Node's constants: says which file, without the right to read it.
const O_PATH = 0o10000000
