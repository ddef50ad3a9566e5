// Which task of a rewritten text is which task of the plan: by id, else by the id in other letters of case, else by the same
// title. Never by place: a list that was re-ordered would carry the wrong status. What could be two is none.

import type { TaskName } from './id.ts'
import type { TaskDefinition } from './plan.ts'

export interface Match {
  readonly written: TaskName
  readonly current: TaskName
  readonly by: 'id' | 'case' | 'title'
}

export function matchTasks(
  current: readonly TaskDefinition[],
  written: readonly TaskDefinition[],
): ReadonlyMap<TaskName, Match> {
  const matches = new Map<TaskName, Match>()
  const taken = new Set<TaskName>()
  const known = new Set(current.map(({ id }) => id))
  const take = (match: Match): void => {
    matches.set(match.written, match)
    taken.add(match.current)
  }
  for (const { id } of written) if (known.has(id)) take({ written: id, current: id, by: 'id' })
  for (const [by, keyOf] of [
    ['case', ({ id }: TaskDefinition) => id.toLowerCase()],
    ['title', ({ title }: TaskDefinition) => (title === undefined || title.trim() === '' ? null : title.trim())],
  ] as const) {
    const ours = unique(
      current.filter(({ id }) => !taken.has(id)),
      keyOf,
    )
    const theirs = unique(
      written.filter(({ id }) => !matches.has(id)),
      keyOf,
    )
    for (const [key, task] of theirs) {
      const found = ours.get(key)
      if (found !== undefined) take({ written: task.id, current: found.id, by })
    }
  }
  return matches
}

/** By key, where exactly one task has it. */
function unique(
  tasks: readonly TaskDefinition[],
  keyOf: (task: TaskDefinition) => string | null,
): ReadonlyMap<string, TaskDefinition> {
  const found = new Map<string, TaskDefinition>()
  const twice = new Set<string>()
  for (const task of tasks) {
    const key = keyOf(task)
    if (key === null) continue
    if (found.has(key)) twice.add(key)
    found.set(key, task)
  }
  for (const key of twice) found.delete(key)
  return found
}
