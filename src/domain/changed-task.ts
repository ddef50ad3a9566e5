// A definition with some fields of one task changed, wherever it is written: also inside a subplan; or some of its own.

import type { Json, JsonObject } from './json.ts'
import type { PlanDefinition, TaskDefinition } from './plan.ts'

/** Fields of a task as they shall be; null takes one away. */
export type TaskChanges = {
  readonly [K in Exclude<keyof TaskDefinition, 'id' | 'bound' | 'sleeps' | 'leads'>]?: TaskDefinition[K] | null
}

/** Null when nobody wrote such a task: what was made of a list or a matrix is changed where that is written. */
export function changedIn(
  tasks: readonly TaskDefinition[],
  name: string,
  set: TaskChanges,
  extra?: JsonObject,
): readonly TaskDefinition[] | null {
  const at = tasks.findIndex(
    ({ id, action }) => id === name || (action.type === 'subplan' && name.startsWith(`${id}/`)),
  )
  const task = tasks[at]
  if (task === undefined) return null
  if (task.id === name) return tasks.with(at, withChanges(task, set, extra))
  const inner =
    task.action.type === 'subplan' ? changedIn(task.action.tasks, name.slice(task.id.length + 1), set, extra) : null
  if (inner === null || task.action.type !== 'subplan') return null
  return tasks.with(at, { ...task, action: { ...task.action, tasks: inner } })
}

function withChanges(task: TaskDefinition, set: TaskChanges, extra: JsonObject | undefined): TaskDefinition {
  const fields = changed({ ...task }, set)
  // Without an action of its own somebody claims it.
  return { action: { type: 'external' }, ...withExtra(fields, extra), id: task.id } as TaskDefinition
}

/** What a plan says of itself; null takes it away. */
export type PlanChanges = {
  readonly [K in 'title' | 'goal' | 'owner' | 'labels']?: PlanDefinition[K] | null
}

export function outlinedBy(
  definition: PlanDefinition,
  { set, extra }: { readonly set: PlanChanges; readonly extra?: JsonObject },
): PlanDefinition {
  return withExtra(changed({ ...definition }, set), extra) as unknown as PlanDefinition
}

/** Keys in the order they had, new ones at the end. */
function changed(before: object, set: object): { readonly [key: string]: unknown } {
  const fields = new Map<string, unknown>(Object.entries(before))
  for (const [key, value] of Object.entries(set)) {
    if (value === undefined) continue
    if (value === null) fields.delete(key)
    else fields.set(key, value)
  }
  return Object.fromEntries(fields)
}

/** `extra` is merged key by key, and gone when nothing is left of it. */
function withExtra(fields: { readonly [key: string]: unknown }, extra: JsonObject | undefined) {
  if (extra === undefined) return fields
  const merged = changed((fields.extra ?? {}) as JsonObject, extra) as { readonly [key: string]: Json }
  return changed(fields, { extra: Object.keys(merged).length === 0 ? null : merged })
}
