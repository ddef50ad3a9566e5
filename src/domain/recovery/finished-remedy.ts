// What follows when a remedy has ended: the failed task completes, has its next visit, or the next rule applies. Derived from the events of
// one command, so it does not matter how the remedy ended: by itself, by hand, or because a revision removed it.

import type { Feedback } from '../event.ts'
import { tasksOf } from '../events/event-row.ts'
import { type DecisionDraft, emit } from '../rules/decision.ts'
import { exhausted, reopen } from '../rules/routing.ts'
import { afterFailure, afterSuccess, whyNotDone } from '../rules/settle.ts'
import type { TaskState } from '../state/state.ts'
import { PLAN_ENDED } from '../status.ts'
import { loopsUsedUp } from './breaker.ts'
import { explanationOf } from './explanation.ts'
import { abort, brokenOf } from './follow-recovery.ts'

/** Continues every task whose remedy ended in this command. Each round uses up a rule or ends a recovery, so this terminates. */
export function continueRecoveries(draft: DecisionDraft): void {
  const { state, events } = draft
  // Fast path: only a failed task has a remedy, and most plans have no failed task.
  if (state.counts.failed === 0) return
  for (let at = 0; at < events.length; at++) {
    if (state.compensating !== null || state.rollback !== null || PLAN_ENDED.has(state.status)) return
    for (const task of touchedBy(draft, at)) look(draft, task)
  }
}

function touchedBy({ state, events }: DecisionDraft, at: number): readonly TaskState[] {
  const event = events[at]!
  if (event.type === 'plan.revised' || event.type === 'rollback.finished' || event.type === 'rollback.stopped')
    return state.order.filter(awaitsHelper)
  const found: TaskState[] = []
  for (const name of tasksOf(event)) {
    const task = state.tasks.get(name)
    if (task === undefined) continue
    if (awaitsHelper(task)) found.push(task)
    for (const led of task.routedBy) {
      const source = state.tasks.get(led)
      if (source !== undefined && source.recovering?.by === name && awaitsHelper(source)) found.push(source)
    }
  }
  return found
}

export const awaitsHelper = ({ status, recovering, definition }: TaskState): boolean =>
  status === 'failed' && recovering !== null && recovering.by !== definition.id

function look(draft: DecisionDraft, task: TaskState): void {
  if (!awaitsHelper(task)) return
  const { by, rule } = task.recovering!
  const helper = draft.state.tasks.get(by)
  if (helper === undefined) return tryNext(draft, task, `'${by}' is no longer in the plan`)
  switch (helper.status) {
    case 'completed':
      return helped(draft, task, helper, rule)
    case 'failed':
      // The remedy may have a remedy of its own.
      if (helper.recovering === null) tryNext(draft, task, `'${by}' failed: ${helper.reason ?? ''}`)
      return
    case 'blocked':
      return tryNext(draft, task, `'${by}' is ${helper.reason ?? 'blocked'}`)
    case 'skipped':
    case 'abandoned':
    case 'cancelled':
      return tryNext(
        draft,
        task,
        `'${by}' was ${helper.status === 'skipped' ? 'skipped' : 'cancelled'}: ${helper.reason ?? ''}`,
      )
    case 'pending':
      if (helper.dormant) tryNext(draft, task, `no outcome leads to '${by}' any more`)
      return
    case 'ready':
    case 'running':
    case 'waiting':
      return
    default:
      helper.status satisfies never
  }
}

/** The result of an alternate becomes the task's; that of a repair is input for its next visit. */
function helped(draft: DecisionDraft, task: TaskState, helper: TaskState, rule: number): void {
  const { id, recover = [] } = task.definition
  const by = helper.definition.id
  const { result } = helper
  const type = recover[rule]?.do.type
  if (type === 'alternate') {
    const fault = whyNotDone(draft, task, result)
    if (fault !== null) return tryNext(draft, task, `'${by}' completed, but ${fault.failure.message}`)
    emit(draft, { type: 'task.substituted', task: id, by })
    return afterSuccess(draft, task)
  }
  if (type !== 'repair') return tryNext(draft, task, 'its recovery rule is no longer in the plan')
  if (result?.status === 'succeeded' && result.outcome === GIVE_UP) return tryNext(draft, task, `'${by}' gave up`)
  const over = exhausted(task, [task])
  if (over !== null) return tryNext(draft, task, `'${id}' has used all of its ${over.visits} runs`)
  const cap = loopsUsedUp(draft.state)
  if (cap !== null) return abort(draft, cap, undefined, id)
  const feedback: Feedback = { from: by, by, text: explanationOf(result) }
  reopen(draft, brokenOf(draft.state, task), `'${by}' repaired it`, feedback)
}

/** The outcome of a critic for which no repair will help. */
export const GIVE_UP = 'give-up'

function tryNext(draft: DecisionDraft, task: TaskState, why: string): void {
  const mode = task.result?.status === 'failed' ? task.result.mode : undefined
  afterFailure(draft, task, ['failure'], mode, why)
}
