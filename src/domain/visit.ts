// What happens to one task within its visits: it ends, it completes, its next visit is opened, a rollback sets it. Only `evolve`
// calls these; they believe what they are told.

import type { Reset } from './command.ts'
import type { Millis, TaskName } from './id.ts'
import type { PlanState, TaskState } from './state.ts'
import type { TaskStatus } from './status.ts'
import { NOBODY, NOTHING, setStatus } from './task-graph.ts'

export function end(
  state: PlanState,
  task: TaskState,
  status: TaskStatus,
  now: Millis,
  reason: string | null = null,
): void {
  task.endedAt = now
  task.reason = reason
  task.gate = null
  task.claim = null
  task.retryAt = null
  // What failed may be in the middle of its recovery.
  if (status !== 'failed') task.recovering = null
  setStatus(state, task, status)
}

export function complete(state: PlanState, task: TaskState, now: Millis): void {
  const { id, compensate } = task.definition
  end(state, task, 'completed', now)
  if (state.rules > 1) {
    state.sinceCheckpoint++
    const changes = task.result?.wrote?.changes ?? null
    if (changes !== null && state.definition.git?.commits === 'task')
      state.uncommitted = [...state.uncommitted, { task: id, visit: task.visit, changes }]
  }
  if (compensate === undefined) return
  if (state.compensated.length > 0) state.compensated = without(state.compensated, id)
  if (state.unsureCompensated.length > 0) state.unsureCompensated = without(state.unsureCompensated, id)
  state.completedOrder = [...without(state.completedOrder, id), id]
  // It was still running when the plan was cancelled or began to go back: what it did is undone too, unless it stays as it is.
  const { rollback } = state
  if (rollback === null || rollback.resets.some(to => to.task === id)) state.compensating?.push(id)
}

/** Opens the next visit: counters begin anew, what earlier visits did stays in the journal. */
export function reopen(state: PlanState, task: TaskState, reason: string): void {
  task.visit++
  task.attempt = 0
  task.failures = 0
  task.lost = 0
  task.refused = 0
  task.startedAt = null
  task.endedAt = null
  task.retryAt = null
  task.claim = null
  task.prepared = null
  task.gate = null
  task.handled = false
  task.consent = null
  task.recovering = null
  task.visitAt = null
  task.escalated = NOTHING
  // The task made from `done` waits again until everything else has ended. Any other keeps the way that led here.
  task.dormant = task.definition.action.type === 'verify'
  if (task.dormant) task.routedBy = NOBODY
  task.reason = reason
  // What an earlier visit did stays to be compensated, so `completedOrder` keeps it.
  setStatus(state, task, 'pending')
}

/**
 * A visit of its own for how the task stands after a rollback: open, or ended as an earlier one had. It is open as well when what
 * it had done was compensated on the way.
 */
export function reset(state: PlanState, task: TaskState, to: Reset, now: Millis): void {
  const isUndone = to.status === 'completed' && state.compensated.includes(to.task)
  const status = isUndone ? 'pending' : to.status
  reopen(state, task, to.reason ?? 'rolled back')
  task.goneBack = to.visits === undefined ? task.goneBack + 1 : task.visit - to.visits
  task.dormant = to.dormant === true
  task.routedBy = to.routedBy ?? NOBODY
  task.result = to.result ?? null
  task.recoveries = to.recoveries ?? NOTHING
  state.uncommitted = state.uncommitted.filter(one => one.task !== to.task)
  state.compensated = without(state.compensated, to.task)
  if (status === 'pending') return
  task.handled = to.handled === true
  task.recovering = to.recovering ?? null
  end(state, task, status, now, to.reason ?? null)
  if (status === 'completed' && task.definition.compensate !== undefined)
    state.completedOrder = [...without(state.completedOrder, to.task), to.task]
}

export const without = (names: readonly TaskName[], ...gone: readonly TaskName[]): TaskName[] =>
  names.filter(name => !gone.includes(name))
