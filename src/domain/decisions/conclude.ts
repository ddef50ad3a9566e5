// Has the plan come to rest? When nothing is ready, running or waiting, tasks that were never routed to are skipped, then
// the definition of done is judged, then the plan ends. A failed required task never ends `completed`.

import { DONE_TASK } from '../graph.ts'
import type { PlanState, TaskState } from '../state.ts'
import { BLOCKS } from '../status.ts'
import { type Draft, emit } from './draft.ts'
import { propagate, readyUp } from './readiness.ts'

export function conclude(draft: Draft): void {
  const { state } = draft
  // Each round ends the plan or moves at least one task on, so this ends.
  while (state.status === 'active' && isQuiet(state)) {
    if (state.compensating !== null) {
      if (state.compensating.length > 0 || state.compensation !== null) return
      emit(draft, { type: 'plan.finished', status: 'cancelled', reason: state.reason ?? 'cancelled' })
      return
    }
    if (skipUnrouted(draft)) continue
    const failed =
      state.counts.failed + state.counts.blocked + state.counts.abandoned + state.counts.cancelled > 0
        ? worst(state)
        : null
    if (failed !== null) {
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

/** While cancelling, only what still runs is waited for. */
function isQuiet({ counts, compensating }: PlanState): boolean {
  return counts.running === 0 && (compensating !== null || (counts.ready === 0 && counts.waiting === 0))
}

/** Skips dormant tasks, and those whose needs were all skipped this way. True when anything moved. */
function skipUnrouted(draft: Draft): boolean {
  const { state } = draft
  if (state.counts.pending === 0) return false
  const skipped = state.order.filter(
    task => task.status === 'pending' && task.dormant && task.definition.action.type !== 'verify',
  )
  for (let at = 0; at < skipped.length; at++) {
    const task = skipped[at]!
    emit(draft, { type: 'task.skipped', task: task.definition.id, reason: NEVER_ROUTED })
    for (const dependant of task.dependants) {
      if (dependant.status === 'pending' && followsOnlyUnrouted(state, dependant)) skipped.push(dependant)
    }
  }
  for (const task of skipped) propagate(draft, task)
  return skipped.length > 0
}

const NEVER_ROUTED = 'no outcome led here'

function followsOnlyUnrouted(state: PlanState, task: TaskState): boolean {
  const needs = task.definition.needs ?? []
  return needs.length > 0 && needs.every(name => state.tasks.get(name)?.reason === NEVER_ROUTED)
}

/** The required task that keeps the plan from completing: a failure before what it blocks. */
function worst(state: PlanState): TaskState | null {
  let blocked: TaskState | null = null
  for (const task of state.order) {
    if (task.definition.optional === true || task.handled || !BLOCKS.has(task.status)) continue
    if (task.status !== 'blocked') return task
    blocked ??= task
  }
  return blocked
}

function whyFailed(task: TaskState): string {
  const { id } = task.definition
  if (task.status === 'blocked') return `task '${id}' is ${task.reason ?? 'blocked'}`
  return `task '${id}' ${task.status}: ${task.reason ?? ''}`.replace(/: $/, '')
}
