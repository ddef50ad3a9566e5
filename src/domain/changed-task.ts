// One task of a definition with some of its fields changed, wherever it is written: also inside a subplan.

import type { TaskDefinition } from './plan.ts'

/** Fields of a task as they shall be; null takes one away. */
export type TaskChanges = {
  readonly [K in Exclude<keyof TaskDefinition, 'id' | 'bound' | 'sleeps' | 'leads'>]?: TaskDefinition[K] | null
}

/** Null when nobody wrote such a task: what was made of a list or a matrix is changed where that is written. */
export function changedIn(
  tasks: readonly TaskDefinition[],
  name: string,
  set: TaskChanges,
): readonly TaskDefinition[] | null {
  const at = tasks.findIndex(
    ({ id, action }) => id === name || (action.type === 'subplan' && name.startsWith(`${id}/`)),
  )
  const task = tasks[at]
  if (task === undefined) return null
  if (task.id === name) return tasks.with(at, withChanges(task, set))
  const inner =
    task.action.type === 'subplan' ? changedIn(task.action.tasks, name.slice(task.id.length + 1), set) : null
  if (inner === null || task.action.type !== 'subplan') return null
  return tasks.with(at, { ...task, action: { ...task.action, tasks: inner } })
}

function withChanges(task: TaskDefinition, set: TaskChanges): TaskDefinition {
  const fields = new Map<string, unknown>(Object.entries(task))
  for (const [key, value] of Object.entries(set)) {
    if (value === undefined) continue
    if (value === null) fields.delete(key)
    else fields.set(key, value)
  }
  // Without an action of its own somebody claims it.
  return { action: { type: 'external' }, ...Object.fromEntries(fields), id: task.id } as TaskDefinition
}
