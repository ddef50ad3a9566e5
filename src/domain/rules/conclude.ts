// Ends a plan. When nothing is ready, running or waiting, tasks that no outcome activated are skipped, then the definition of done is
// judged, then the plan ends. A plan with a failed required task never ends as `completed`.

import { remediesOf } from '../plan-rules/expand.ts'
import { DONE_TASK } from '../plan-rules/graph-rules.ts'
import { continueRecoveries } from '../recovery/finished-remedy.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { groupOf } from '../state/task-index.ts'
import { BLOCKS, SATISFIES } from '../status.ts'
import { type DecisionDraft, emit } from './decision.ts'
import { markReady, skipUnreached } from './readiness.ts'

/** `by`: who declared the plan complete; open tasks were skipped in their name. */
export function conclude(draft: DecisionDraft, { by }: { readonly by?: string } = {}): void {
  const { state } = draft
  // Each round ends the plan, starts compensation or moves at least one task, so this terminates.
  for (;;) {
    // Declaring the plan complete gives up open recoveries.
    if (by === undefined) continueRecoveries(draft)
    if (state.status !== 'active' || !isQuiet(state)) return
    // Open commits come first; while a rollback runs, `finishRollback` decides what follows.
    if (state.rollback !== null || state.uncommitted.length > 0) return
    if (state.compensating !== null) {
      if (state.compensating.length > 0 || state.compensation !== null) return
      finish(draft, state.ending ?? 'cancelled', state.reason ?? 'cancelled', state.rollsBack)
      return
    }
    if (skipUnrouted(draft)) continue
    const failed =
      state.counts.failed + state.counts.blocked + state.counts.abandoned + state.counts.cancelled > 0
        ? blockingTask(state)
        : null
    if (failed !== null) {
      if (compensates(state)) {
        emit(draft, { type: 'plan.compensating', reason: whyFailed(failed) })
        continue
      }
      finish(draft, 'failed', whyFailed(failed), state.definition.policy?.onFailure === 'rollback')
      return
    }
    const done = state.tasks.get(DONE_TASK)
    if (done?.status === 'pending' && done.definition.action.type === 'verify') {
      emit(draft, { type: 'task.routed', task: DONE_TASK, outcome: 'done', to: [DONE_TASK] })
      markReady(draft, [done])
      return
    }
    emit(draft, { type: 'plan.finished', status: 'completed', reason: whyCompleted(state, by) })
    return
  }
}

/** With `back`, a rollback of all files begins in this entry, so that no crash comes between; when it is over it ends the failed plan. */
function finish(draft: DecisionDraft, status: 'failed' | 'cancelled', reason: string, back: boolean): void {
  const { state } = draft
  if (status !== 'failed' || !back || state.startedEntry === 0) {
    emit(draft, { type: 'plan.finished', status, reason })
    return
  }
  emit(draft, {
    type: 'rollback.started',
    id: `failure-${state.version + 1}`,
    at: draft.now,
    kind: 'rollback',
    to: state.startedEntry,
    resets: [],
    compensate: [],
    filesOnly: true,
    reason,
    because: 'failure',
  })
}

/** A failed plan compensates, unless it declares otherwise. */
function compensates({ definition, completedOrder, tasks }: PlanState): boolean {
  if (definition.policy?.onFailure === 'keep') return false
  return completedOrder.some(name => tasks.get(name)?.definition.compensate !== undefined)
}

/** While the plan is cancelled, compensates or rolls back, only running tasks matter. */
function isQuiet({ counts, compensating }: PlanState): boolean {
  return counts.running === 0 && (compensating !== null || (counts.ready === 0 && counts.waiting === 0))
}

/** Skips dormant tasks, first inside groups, which others may wait for. True if anything changed. */
function skipUnrouted(draft: DecisionDraft): boolean {
  const { state } = draft
  if (state.counts.pending === 0) return false
  const dormant = state.order.filter(
    task => task.status === 'pending' && task.dormant && task.definition.action.type !== 'verify',
  )
  const inside = dormant.filter(task => groupOf(state, task) !== null)
  skipUnreached(draft, inside.length > 0 ? inside : dormant)
  return dormant.length > 0
}

/** The required task that prevents completion: a failure before what it blocks. */
export function blockingTask(state: PlanState): TaskState | null {
  let blocked: TaskState | null = null
  for (const task of state.order) {
    if (task.definition.optional === true || !BLOCKS.has(task.status) || isHandled(state, task)) continue
    if (task.status !== 'blocked') return task
    blocked ??= task
  }
  return blocked
}

/** It or a group around it was handled or is a remedy no longer needed, or a group around it was completed or skipped all the same. */
export function isHandled(state: PlanState, task: TaskState): boolean {
  for (let at: TaskState | null = task; at !== null; at = groupOf(state, at)) {
    if (at.handled) return true
    if ((at !== task && SATISFIES.has(at.status)) || isUnneededRemedy(state, at)) return true
  }
  return false
}

/** A remedy, when every task that it was to help has succeeded, is optional, or was handled. */
function isUnneededRemedy(state: PlanState, { definition: { id }, routedBy }: TaskState): boolean {
  if (routedBy.length === 0) return false
  return routedBy.every(name => {
    const helped = state.tasks.get(name)
    if (helped === undefined || !remediesOf(helped.definition).includes(id)) return false
    return SATISFIES.has(helped.status) || helped.definition.optional === true || helped.handled
  })
}

function whyCompleted({ counts }: PlanState, by: string | undefined): string {
  if (by === undefined) return 'all required tasks completed'
  return `completed by ${by}: ${counts.completed} completed, ${counts.skipped} skipped`
}

function whyFailed(task: TaskState): string {
  const { id } = task.definition
  if (task.status === 'blocked') return `task '${id}' is ${task.reason ?? 'blocked'}`
  return `task '${id}' ${task.status === 'abandoned' ? 'cancelled' : task.status}: ${task.reason ?? ''}`.replace(
    /: $/,
    '',
  )
}
