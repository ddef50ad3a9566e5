// The tasks of one request, put so that each comes behind those it needs: whoever sends several may write them in any order.

import type { TaskName } from '../domain/id.ts'
import type { TaskDefinition } from '../domain/plan.ts'

export type Ordered =
  | { readonly ok: true; readonly tasks: readonly TaskDefinition[] }
  /** Two have the name, at these places. */
  | { readonly ok: false; readonly duplicate: TaskName; readonly at: readonly [number, number] }
  /** Each needs the next; the first is also the last. */
  | { readonly ok: false; readonly cycle: readonly TaskName[] }

export function inOrder(tasks: readonly TaskDefinition[]): Ordered {
  const places = new Map<TaskName, number>()
  for (const [place, { id }] of tasks.entries()) {
    const first = places.get(id)
    if (first !== undefined) return { ok: false, duplicate: id, at: [first, place] }
    places.set(id, place)
  }
  const ordered: TaskDefinition[] = []
  const seen = new Set<TaskName>()
  for (const { id } of tasks) {
    // The way from the first of them down to what it needs; not by recursion, since a batch may be one long chain.
    const way = seen.has(id) ? [] : [walkOf(id)]
    seen.add(id)
    while (way.length > 0) {
      const { name, left } = way.at(-1)!
      const need = left.next()
      if (need.done === true) {
        ordered.push(tasks[places.get(name)!]!)
        way.pop()
      } else if (places.has(need.value)) {
        const from = way.findIndex(step => step.name === need.value)
        if (from !== -1) return { ok: false, cycle: [...way.slice(from).map(step => step.name), need.value] }
        if (seen.has(need.value)) continue
        seen.add(need.value)
        way.push(walkOf(need.value))
      }
    }
  }
  return { ok: true, tasks: ordered }

  function walkOf(name: TaskName): { readonly name: TaskName; readonly left: Iterator<TaskName> } {
    return { name, left: (tasks[places.get(name)!]!.needs ?? [])[Symbol.iterator]() }
  }
}
