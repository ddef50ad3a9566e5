// Folders that are made in the workspace because something is mounted there: a mount needs a folder to lie on. They are removed when the
// last command that needs them has ended and they are still empty. When Planfold is killed, an empty folder may stay behind.

import { lstatSync, mkdirSync, realpathSync, rmdirSync } from 'node:fs'

interface Needed {
  count: number
  isMade: boolean
}

/** By absolute path, over all commands of this process: one that ends must not remove a folder that another still has mounted. */
const needed = new Map<string, Needed>()

export class MadeFolders {
  readonly #paths: string[] = []
  readonly made = new Set<string>()

  /** Makes it if it is not there; its parent must be. False when it cannot be made, or a link or a file is in the way. */
  need(path: string): boolean {
    const isMade = lstatSync(path, { throwIfNoEntry: false }) === undefined && made(path)
    if (!isFolder(path)) return false
    const known = needed.get(path) ?? { count: 0, isMade: false }
    known.count++
    known.isMade ||= isMade
    needed.set(path, known)
    if (known.isMade) this.made.add(path)
    this.#paths.push(path)
    return true
  }

  /** Once the command has ended. May be called again. */
  release(): void {
    for (const path of this.#paths.splice(0).reverse()) {
      const known = needed.get(path)!
      if (--known.count > 0) continue
      needed.delete(path)
      if (known.isMade) removeEmpty(path)
    }
  }
}

/** Is it there only because a command that runs now needs it? */
export const isMadeFolder = (path: string): boolean => needed.get(path)?.isMade === true

function made(path: string): boolean {
  try {
    mkdirSync(path)
    return true
  } catch {
    // It is there by now, or this user may not: what follows finds out.
    return false
  }
}

/** Without following links: one of the folders above may have been swapped for a link. */
function isFolder(path: string): boolean {
  try {
    return lstatSync(path).isDirectory() && realpathSync(path) === path
  } catch {
    return false
  }
}

function removeEmpty(path: string): void {
  try {
    rmdirSync(path)
  } catch {
    // Something is in it, or somebody was quicker.
  }
}
