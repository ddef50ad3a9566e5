// Has the plan come to rest? When nothing is ready, running or waiting, tasks that were never routed to are skipped, then
// the definition of done is judged, then the plan ends. A failed required task never ends `completed`.

import { DONE_TASK } from '../graph.ts'
import type { PlanState, TaskState } from '../state.ts'
import { BLOCKS } from '../status.ts'
import { groupOf } from '../task-graph.ts'
import { type Draft, emit } from './draft.ts'
import { passOver, readyUp } from './readiness.ts'

export function conclude(draft: Draft): void {
  const { state } = draft
  // Each round ends the plan or moves at least one task on, so this ends.
  while (state.status === 'active' && isQuiet(state)) {
    // What was written is committed first; a rollback ends by itself.
    if (state.rollback !== null || state.uncommitted.length > 0) return
    if (state.compensating !== null) {
      if (state.compensating.length > 0 || state.compensation !== null) return
      emit(draft, { type: 'plan.finished', status: state.ending ?? 'cancelled', reason: state.reason ?? 'cancelled' })
      return
    }
    if (skipUnrouted(draft)) continue
    const failed =
      state.counts.failed + state.counts.blocked + state.counts.abandoned + state.counts.cancelled > 0
        ? worst(state)
        : null
    if (failed !== null) {
      if (compensates(state)) {
        emit(draft, { type: 'plan.compensating', reason: whyFailed(failed) })
        continue
      }
      emit(draft, { type: 'plan.finished', status: 'failed', reason: whyFailed(failed) })
      return
    }
    const done = state.tasks.get(DONE_TASK)
    if (done?.status === 'pending' && done.definition.action.type === 'verify') {
      emit(draft, { type: 'task.routed', task: DONE_TASK, outcome: 'done', to: [DONE_TASK] })
      readyUp(draft, [done])
      return
    }
    emit(draft, { type: 'plan.finished', status: 'completed', reason: 'every required task is completed' })
  }
}

/** A plan that fails undoes what declared how, unless it says that all shall stay. */
function compensates({ rules, definition, completedOrder, tasks }: PlanState): boolean {
  if (rules === 1 || definition.policy?.onFailure === 'keep') return false
  return completedOrder.some(name => tasks.get(name)?.definition.compensate !== undefined)
}

/** While cancelling, only what still runs is waited for. */
function isQuiet({ counts, compensating }: PlanState): boolean {
  return counts.running === 0 && (compensating !== null || (counts.ready === 0 && counts.waiting === 0))
}

/** Skips what is dormant, first inside groups, which others may wait for. True when anything moved. */
function skipUnrouted(draft: Draft): boolean {
  const { state } = draft
  if (state.counts.pending === 0) return false
  const dormant = state.order.filter(
    task => task.status === 'pending' && task.dormant && task.definition.action.type !== 'verify',
  )
  const inside = dormant.filter(task => groupOf(state, task) !== null)
  passOver(draft, inside.length > 0 ? inside : dormant)
  return dormant.length > 0
}

/** The required task that keeps the plan from completing: a failure before what it blocks. */
function worst(state: PlanState): TaskState | null {
  let blocked: TaskState | null = null
  for (const task of state.order) {
    if (task.definition.optional === true || !BLOCKS.has(task.status) || isHandled(state, task)) continue
    if (task.status !== 'blocked') return task
    blocked ??= task
  }
  return blocked
}

/** Its failure was taken up, or that of a group around it. */
function isHandled(state: PlanState, task: TaskState): boolean {
  for (let at: TaskState | null = task; at !== null; at = groupOf(state, at)) if (at.handled) return true
  return false
}

function whyFailed(task: TaskState): string {
  const { id } = task.definition
  if (task.status === 'blocked') return `task '${id}' is ${task.reason ?? 'blocked'}`
  return `task '${id}' ${task.status}: ${task.reason ?? ''}`.replace(/: $/, '')
}
