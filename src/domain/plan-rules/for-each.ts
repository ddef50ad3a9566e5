// The items of a `for_each`: added to the definition when they are found, and kept when the plan is revised without them.

import type { TaskName } from '../id.ts'
import type { Json } from '../json.ts'
import type { ForEach, PlanDefinition, TaskDefinition } from '../plan.ts'
import { isStructured } from './expand.ts'

export function bindItems(definition: PlanDefinition, name: TaskName, items: readonly Json[]): PlanDefinition {
  return { ...definition, tasks: bindIn(definition.tasks, name, items) }
}

function bindIn(tasks: readonly TaskDefinition[], name: string, items: readonly Json[]): readonly TaskDefinition[] {
  return tasks.map(task => {
    if (task.id === name && task.forEach?.in !== undefined)
      return { ...task, forEach: { in: task.forEach.in, items } satisfies ForEach }
    if (task.action.type !== 'subplan' || !name.startsWith(`${task.id}/`)) return task
    const inner = bindIn(task.action.tasks, name.slice(task.id.length + 1), items)
    return { ...task, action: { ...task.action, tasks: inner } }
  })
}

/** A revision without the items of a `for_each` keeps those found for the same expression. */
export function keepItems(before: PlanDefinition, after: PlanDefinition): PlanDefinition {
  const kept = keepIn(before.tasks, after.tasks)
  return kept === after.tasks ? after : { ...after, tasks: kept }
}

function keepIn(before: readonly TaskDefinition[], after: readonly TaskDefinition[]): readonly TaskDefinition[] {
  if (!after.some(isStructured)) return after
  const byName = new Map(before.map(task => [task.id, task]))
  let changed = false
  const kept = after.map(task => {
    const was = byName.get(task.id)
    if (was === undefined) return task
    let next = task
    const found = was.forEach?.in === task.forEach?.in ? was.forEach?.items : undefined
    if (task.forEach?.in !== undefined && task.forEach.items === undefined && found !== undefined)
      next = { ...next, forEach: { in: task.forEach.in, items: found } }
    if (task.action.type === 'subplan' && was.action.type === 'subplan') {
      const inner = keepIn(was.action.tasks, task.action.tasks)
      if (inner !== task.action.tasks) next = { ...next, action: { ...task.action, tasks: inner } }
    }
    changed ||= next !== task
    return next
  })
  return changed ? kept : after
}
