// A tree of write scopes by folder, so that the scopes that overlap with a given one are found along its own path, without comparing all
// pairs. Two patterns overlap when the literal part of one is a prefix of the other's, as in plan-rules/effect.ts.

import { literalOf } from '../plan-rules/effect.ts'

interface Folder {
  readonly below: Map<string, Folder>
  /** The tasks that write exactly here, or everything below. */
  readonly holders: Set<number>
  within: number
}

const newFolder = (): Folder => ({ below: new Map(), holders: new Set(), within: 0 })

export type Paths = readonly (readonly string[])[]

export class ScopeIndex {
  readonly #root = newFolder()

  add(holder: number, paths: Paths): void {
    for (const path of paths) {
      let folder = this.#root
      folder.within++
      for (const part of path) {
        let next = folder.below.get(part)
        if (next === undefined) {
          next = newFolder()
          folder.below.set(part, next)
        }
        folder = next
        folder.within++
      }
      folder.holders.add(holder)
    }
  }

  remove(holder: number, paths: Paths): void {
    for (const path of paths) {
      let folder = this.#root
      folder.within--
      for (const part of path) {
        const next: Folder = folder.below.get(part)!
        if (--next.within === 0) folder.below.delete(part)
        folder = next
      }
      folder.holders.delete(holder)
    }
  }

  /** A task whose scope overlaps; -1 for none. */
  inTheWayOf(paths: Paths): number {
    for (const path of paths) {
      let folder: Folder | undefined = this.#root
      for (const part of path) {
        for (const holder of folder.holders) return holder
        folder = folder.below.get(part)
        if (folder === undefined) break
      }
      // The whole path exists in the tree, so everything here and below overlaps.
      while (folder !== undefined) {
        for (const holder of folder.holders) return holder
        folder = folder.below.values().next().value
      }
    }
    return -1
  }

  /** Every written folder, with the tasks that write a folder around it. Without recursion. */
  *held(): Iterable<{ readonly here: readonly number[]; readonly around: readonly number[] }> {
    const open: { readonly folder: Folder; readonly around: readonly number[] }[] = [{ folder: this.#root, around: [] }]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { folder, around } = next
      const here = [...folder.holders]
      if (here.length > 0) yield { here, around }
      const within = here.length === 0 ? around : [...around, ...here].slice(-AROUND_MAX)
      for (const below of [...folder.below.values()].reverse()) open.push({ folder: below, around: within })
    }
  }
}

const AROUND_MAX = 32

/** The folders and files of a scope. Patterns with the same literal part count once. */
export function pathsOf(scope: readonly string[]): Paths {
  if (scope.length < 2) return scope.map(literalOf)
  const seen = new Map<string, readonly string[]>()
  for (const pattern of scope) {
    const path = literalOf(pattern)
    seen.set(path.join('/'), path)
  }
  return [...seen.values()]
}
