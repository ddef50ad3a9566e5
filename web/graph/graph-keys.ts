// Which task of the graph comes first, and which one an arrow key leads to.

import type { GraphLayout, Place } from '../../src/domain/views/graph-layout.ts'
import type { TaskView } from '../data/live-messages.ts'

/** Where the view opens: a waiting or failed task, else a running one, else the next one. */
export function focusOf(tasks: readonly TaskView[]): string | null {
  for (const looks of [['failed'], ['waiting', 'lost'], ['running'], ['retrying', 'ready']])
    for (const task of tasks) if (looks.includes(task.look)) return task.name
  return tasks[0]?.name ?? null
}

/** Along the edges to the sides, and up and down in the same column. */
export function neighbour(
  from: string,
  key: string,
  layout: GraphLayout,
  tasks: ReadonlyMap<string, TaskView>,
): string | null {
  const at = layout.nodes.find(({ id }) => id === from)
  if (at === undefined) return null
  const nearest = (found: readonly Place[]): string | null =>
    found.toSorted((a, b) => Math.abs(a.y - at.y) - Math.abs(b.y - at.y))[0]?.id ?? null
  switch (key) {
    case 'ArrowLeft': {
      const needs = new Set(tasks.get(from)?.needs)
      return nearest(layout.nodes.filter(({ id }) => needs.has(id)))
    }
    case 'ArrowRight':
      return nearest(layout.nodes.filter(({ id }) => tasks.get(id)?.needs.includes(from) === true))
    case 'ArrowUp':
    case 'ArrowDown': {
      const isDown = key === 'ArrowDown'
      const middle = at.x + at.width / 2
      return nearest(
        layout.nodes.filter(
          one => Math.abs(one.x + one.width / 2 - middle) < 20 && (isDown ? one.y > at.y : one.y < at.y),
        ),
      )
    }
    default:
      return null
  }
}
