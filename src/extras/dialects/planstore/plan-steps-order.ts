// Order among steps: which steps a reference means, and what a step waits for when it does not say. Reading and printing ask
// the same functions, so what is left unsaid on paper is understood again.

import { isTaskName, type TaskName } from '../../../domain/id.ts'
import type { Json } from '../../../domain/json.ts'
import { isList } from '../../../format/text/source.ts'

/** More edges than this between two ranks are no plan anybody can read, and slow down everything that looks at it. */
export const EDGES_MAX = 200_000

/** Each step needs everything of the rank before it. */
export function needsByRank(ranks: readonly (readonly TaskName[])[]): ReadonlyMap<TaskName, readonly TaskName[]> {
  const needs = new Map<TaskName, readonly TaskName[]>()
  for (const [index, rank] of ranks.entries()) {
    const before = ranks[index - 1]
    if (before !== undefined) for (const name of rank) needs.set(name, before)
  }
  return needs
}

/** How many needs that would be. */
export function edgesByRank(ranks: readonly (readonly unknown[])[]): number {
  return ranks.reduce((sum, rank, index) => sum + rank.length * (ranks[index - 1]?.length ?? 0), 0)
}

/** Neighbours with the same mark are one rank; a step without one is a rank of its own. */
export function ranksOf<T>(items: readonly { readonly item: T; readonly mark: Json | undefined }[]): readonly T[][] {
  const ranks: T[][] = []
  let last: Json | undefined
  for (const { item, mark } of items) {
    if (mark !== undefined && mark === last) ranks.at(-1)!.push(item)
    else ranks.push([item])
    last = mark
  }
  return ranks
}

/** Which step a word means. A word that means two steps means neither. */
export class References {
  readonly #exact = new Map<string, TaskName | null>()
  readonly #folded = new Map<string, TaskName | null>()

  /** Earlier words win: add ids before numbers, numbers before titles. */
  add(words: Iterable<readonly [Json | undefined, TaskName]>): void {
    const exact = new Map<string, TaskName | null>()
    const folded = new Map<string, TaskName | null>()
    for (const [word, name] of words) {
      if (typeof word !== 'number' && typeof word !== 'string') continue
      const key = String(word).trim()
      for (const [map, as] of [
        [exact, key],
        [folded, key.toLowerCase()],
      ] as const)
        map.set(as, map.has(as) && map.get(as) !== name ? null : name)
    }
    for (const [from, to] of [
      [exact, this.#exact],
      [folded, this.#folded],
    ] as const)
      for (const [key, name] of from) if (!to.has(key)) to.set(key, name)
  }

  /** `null` when more than one step is called so, undefined when none is. */
  find(word: Json): TaskName | null | undefined {
    if (typeof word !== 'number' && typeof word !== 'string') return undefined
    const key = String(word).trim()
    const exact = this.#exact.get(key)
    return exact === undefined ? this.#folded.get(key.toLowerCase()) : exact
  }
}

/** The steps that a list of words means, or what is wrong with one of them. */
export function resolve(
  references: References,
  value: Json,
): { readonly needs: readonly TaskName[] } | { readonly wrong: string; readonly hint: string } {
  const needs: TaskName[] = []
  for (const word of isList(value) ? value : [value]) {
    const name = references.find(word)
    const shown = JSON.stringify(word).slice(0, 60)
    if (name === null) return { wrong: `more than one step is called ${shown}`, hint: 'name it by its id' }
    // A name nobody has is handed on: the rules of the graph tell about it, together with every other dangling need.
    if (name === undefined && !isTaskName(String(word)))
      return { wrong: `no step is called ${shown}`, hint: 'name a step by its number, its id or its title' }
    needs.push(name ?? (String(word) as TaskName))
  }
  return { needs }
}

export function sameNeeds(a: readonly TaskName[] | undefined, b: readonly TaskName[] | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.length === b.length && a.every((name, index) => name === b[index])
}
