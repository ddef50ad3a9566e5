// The tasks as the graph shows them: a folded group stands for its tasks.

import type { TaskView } from '../data/live-messages.ts'

export interface Visible {
  readonly tasks: readonly TaskView[]
  readonly shownAs: (name: string) => string
}

export function foldGroups(
  tasks: readonly TaskView[],
  byName: ReadonlyMap<string, TaskView>,
  folded: ReadonlySet<string>,
): Visible {
  if (folded.size === 0) return { tasks, shownAs: name => name }
  const inside = new Map<string, string>()
  for (const name of folded) for (const child of byName.get(name)?.children ?? []) inside.set(child, name)
  const shownAs = (name: string): string => {
    let at = name
    for (let up = inside.get(at); up !== undefined; up = inside.get(at)) at = up
    return at
  }
  const needs = new Map<string, Set<string>>()
  for (const task of tasks) {
    const own = shownAs(task.name)
    const set = needs.get(own) ?? new Set<string>()
    for (const need of task.needs) if (shownAs(need) !== own) set.add(shownAs(need))
    needs.set(own, set)
  }
  const shown = tasks
    .filter(({ name }) => !inside.has(name))
    .map(task =>
      folded.has(task.name) ? { ...task, needs: [...(needs.get(task.name) ?? [])] } : mapped(task, shownAs),
    )
  return { tasks: shown, shownAs }
}

function mapped(task: TaskView, shownAs: (name: string) => string): TaskView {
  const needs = [...new Set(task.needs.map(shownAs))]
  return needs.length === task.needs.length && needs.every((need, at) => need === task.needs[at])
    ? task
    : { ...task, needs }
}
