// Mount points that are created in the workspace. They are removed when the last command that needs them has ended, if they are empty. If
// Planfold is killed, an empty folder may remain.

import { lstatSync, mkdirSync, realpathSync, rmdirSync } from 'node:fs'
import { orElse } from '../../domain/json.ts'

interface Needed {
  count: number
  isMade: boolean
}

/** By absolute path, for all commands of this process: another command may still have the folder mounted. */
const needed = new Map<string, Needed>()

export class MadeFolders {
  readonly #paths: string[] = []
  readonly made = new Set<string>()

  /** Creates it if it is missing; its parent must exist. False when that fails, or when a link or a file is in the way. */
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

  /** Idempotent; after the command has ended. */
  release(): void {
    for (const path of this.#paths.splice(0).reverse()) {
      const known = needed.get(path)!
      if (--known.count > 0) continue
      needed.delete(path)
      if (known.isMade) removeEmpty(path)
    }
  }
}

/** Was it created only for a running command? */
export const isMadeFolder = (path: string): boolean => needed.get(path)?.isMade === true

function made(path: string): boolean {
  try {
    mkdirSync(path)
    return true
  } catch {
    // It exists by now, or cannot be created: the caller finds out.
    return false
  }
}

/** Without following links: a parent may have been replaced by a link. */
const isFolder = (path: string): boolean =>
  orElse(() => lstatSync(path).isDirectory() && realpathSync(path) === path, false)

/** Does nothing when it is not empty, or already removed. */
const removeEmpty = (path: string): void => orElse(() => rmdirSync(path), undefined)
