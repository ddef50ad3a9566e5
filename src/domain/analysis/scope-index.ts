// Write scopes by their folders, so that the ones in the way of a scope are found by walking its own path and not by asking
// every other. Two patterns overlap when the literal part of one begins the other's; it is the rule of domain/plan-rules/effect.ts.

import { literalOf } from '../plan-rules/effect.ts'

interface Folder {
  readonly below: Map<string, Folder>
  /** Who writes exactly here, or everything below here. */
  readonly holders: Set<number>
  /** How many writes there are here and below. */
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

  /** One who holds something the scope overlaps with; -1 when nobody does. */
  inTheWayOf(paths: Paths): number {
    for (const path of paths) {
      let folder: Folder | undefined = this.#root
      for (const part of path) {
        for (const holder of folder.holders) return holder
        folder = folder.below.get(part)
        if (folder === undefined) break
      }
      // The whole path exists: whoever is here or anywhere below is in the way.
      while (folder !== undefined) {
        for (const holder of folder.holders) return holder
        folder = folder.below.values().next().value
      }
    }
    return -1
  }

  /** Every folder somebody writes, with those who write a folder around it. Without recursion. */
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

/** Nobody reads a hundred names; the nearest are kept. */
const AROUND_MAX = 32

/** The folders and files a scope means, worked out once; patterns that mean the same one count once. */
export function pathsOf(scope: readonly string[]): Paths {
  if (scope.length < 2) return scope.map(literalOf)
  const seen = new Map<string, readonly string[]>()
  for (const pattern of scope) {
    const path = literalOf(pattern)
    seen.set(path.join('/'), path)
  }
  return [...seen.values()]
}
