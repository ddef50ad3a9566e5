// The end of a compensation: a retry, or its outcome and the next compensation.

import { actionFacts } from '../actions/actions.ts'
import type { TaskName } from '../id.ts'
import type { EffectClass } from '../plan.ts'
import { effectOf } from '../plan-rules/effect.ts'
import { retryOf, retryWaitMs } from '../recovery/retry.ts'
import type { Result } from '../result.ts'
import { type DecisionDraft, emit } from '../rules/decision.ts'
import type { PlanState } from '../state/state.ts'
import { stopRollback } from './rollback-rules.ts'

const SHORT_AGAIN_MS = 1_000

export function compensated(draft: DecisionDraft, name: TaskName, result: Result): void {
  const { state } = draft
  const task = state.tasks.get(name)
  // It could not begin for lack of a local resource, which is no failure; it follows later.
  if (result.status === 'failed' && result.failure.shortage !== undefined) {
    emit(draft, { type: 'compensation.retried', task: name, result, at: draft.now + SHORT_AGAIN_MS })
    return
  }
  if (result.status === 'failed' && task !== undefined && result.failure.retryable) {
    const retry = retryOf(state.definition, compensator(state, name) ?? task.definition)
    const failures = state.compensationFailures + 1
    if (failures < retry.attempts) {
      const wait = retryWaitMs(retry, failures, `${state.id}/${name}/compensation`, result.failure)
      emit(draft, { type: 'compensation.retried', task: name, result, at: draft.now + wait })
      return
    }
  }
  emit(draft, { type: 'compensation.finished', task: name, result })
  if (result.status !== 'failed' || state.rollback === null || state.rollback.force === true) return
  stopRollback(draft, {
    changes: null,
    paths: 0,
    failure: {
      ...result.failure,
      message: `the undo step of '${name}' failed: ${result.failure.message}`,
      hint: 'undo by hand what it did and roll back with --force, or fix it and roll back again',
    },
  })
}

function compensator(state: PlanState, name: TaskName) {
  const action = state.tasks.get(name)?.definition.compensate
  return action?.type === 'task' ? state.tasks.get(action.task)?.definition : undefined
}

/** An action as compensation declares no effect class, so a command counts as unsafe: it may have reached anything. */
export function compensationEffect(state: PlanState, name: TaskName): EffectClass {
  const by = compensator(state, name)
  if (by !== undefined) return effectOf(state.definition, by)
  const undo = state.tasks.get(name)?.definition.compensate
  if (undo === undefined || undo.type === 'task' || actionFacts(undo).runsCommands === true) return 'unsafe'
  return effectOf(state.definition, { id: name, action: undo })
}
