// What is true after clients said something: tasks that were added to a draft, annotations, evaluations. Part of `evolve`.

import type { ClientEvent } from './client-event.ts'
import type { Millis } from './id.ts'
import type { JsonObject } from './json.ts'
import { EVALUATIONS_KEPT } from './limits.ts'
import type { TaskDefinition } from './plan.ts'
import { isUnsealed } from './sealed.ts'
import type { PlanState, TaskState } from './state.ts'
import { index, linkNeed, newTask, UNANNOTATED } from './task-graph.ts'

type Find = (state: PlanState, name: TaskState['definition']['id']) => TaskState

export function evolveClient(state: PlanState, event: ClientEvent, now: Millis, find: Find): void {
  switch (event.type) {
    case 'task.added':
      append(state, event.tasks, now)
      return
    case 'plan.annotated':
      state.annotations = annotated(state.annotations, event.set)
      return
    case 'task.annotated': {
      const task = find(state, event.task)
      task.annotations = annotated(task.annotations, event.set)
      return
    }
    case 'task.evaluated': {
      const { type: _, task: name, ...said } = event
      const task = find(state, name)
      task.evaluations = [...task.evaluations, { ...said, at: now }].slice(-EVALUATIONS_KEPT)
      return
    }
    default:
      event satisfies never
  }
}

/** Key by key, null takes away. Keys are data: `fromEntries` makes no difference between them, whatever they are called. */
export function annotated(before: JsonObject, set: JsonObject): JsonObject {
  const after = new Map(Object.entries(before))
  for (const [key, value] of Object.entries(set)) {
    if (value === null) after.delete(key)
    else after.set(key, value)
  }
  return after.size === 0 ? UNANNOTATED : Object.fromEntries(after)
}

/**
 * Only the new tasks are touched: nobody can need or lead to a task that was not there. While a draft is not sealed, the list of
 * its definition is the state's own and grows in place; copying it for each task would cost more with each.
 */
function append(state: PlanState, tasks: readonly TaskDefinition[], now: Millis): void {
  if (!isUnsealed(state)) {
    state.definition = { ...state.definition, tasks: [...state.definition.tasks] }
    state.hash = '' as PlanState['hash']
  }
  const list = state.definition.tasks as TaskDefinition[]
  for (const written of tasks) {
    list.push(written)
    const task = newTask(written, state.nextOrdinal++, now)
    state.order.push(task)
    state.tasks.set(written.id, task)
    state.counts[task.status]++
    for (const name of new Set(written.needs ?? [])) linkNeed(state, task, name)
    index(state, task)
  }
}
