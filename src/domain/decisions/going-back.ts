// Going back to where the plan stood, and forward again. What it means for each task was worked out from the journal and is told
// by the command; here it is checked, and carried out as events: the order, what became of it, each task in a visit of its own.

import type { CommandOf, RollbackOutcome } from '../command.ts'
import { effectOf, mayRunAgain } from '../effect.ts'
import { type Refusal, refuse } from '../refusal.ts'
import type { Failure } from '../result.ts'
import type { PlanState } from '../state.ts'
import { ENDED, PLAN_ENDED } from '../status.ts'
import { conclude } from './conclude.ts'
import { type Draft, emit } from './draft.ts'
import { illegal } from './lifecycle.ts'
import { unknownTask } from './people.ts'
import { blockHeld, refresh } from './readiness.ts'

export function rollback(draft: Draft, command: CommandOf<'rollback'>): Refusal | undefined {
  const { state } = draft
  if (state.status === 'draft') return illegal(state, 'roll back', 'nothing has been done yet')
  if (state.compensating !== null) return illegal(state, 'roll back', 'its tasks are being compensated')
  for (const name of [...command.resets.map(({ task }) => task), ...command.compensate])
    if (!state.tasks.has(name)) return unknownTask(draft, name)
  const unsafe = [...state.running].find(task => !mayRunAgain(effectOf(state.definition, task.definition)))
  if (unsafe !== undefined && command.force !== true)
    return refuse(
      'not-allowed',
      `'${unsafe.definition.id}' is running and cannot be ended without losing track of what it did`,
      'wait for it or pause the plan first; --force ends it all the same',
    )
  const { type: _, ...asked } = command
  emit(draft, { type: 'rollback.started', ...asked })
  for (const { definition, claim, visit, attempt } of state.order) {
    if (claim !== null && asked.resets.some(({ task }) => task === definition.id))
      emit(draft, { type: 'attempt.lost', task: definition.id, visit, attempt, reason: 'rolled back', byUs: true })
  }
  if (PLAN_ENDED.has(state.status)) emit(draft, { type: 'plan.reopened', reason: nameOf(command) })
  return undefined
}

export function finishRollback(draft: Draft, outcome: RollbackOutcome): void {
  const { failure, conflicts: _, ...done } = outcome
  const { state } = draft
  const under = state.rollback
  if (under === null) return
  if (failure !== undefined) {
    stopRollback(draft, { ...outcome, failure })
    return
  }
  emit(draft, { type: 'rollback.finished', ...done })
  if (under.resets.length === 0) {
    asItWas(draft, under.was)
    return
  }
  const moved = under.resets.flatMap(({ task }) => state.tasks.get(task) ?? [])
  refresh(draft, state.order)
  blockHeld(draft, moved)
  if (state.order.some(task => !ENDED.has(task.status) && !isIdle(state, task.definition.id)))
    emit(draft, { type: 'plan.paused', reason: nameOf(under) })
  else if (state.counts.cancelled > 0)
    emit(draft, { type: 'plan.finished', status: 'cancelled', reason: nameOf(under) })
  else {
    if (state.status === 'paused') emit(draft, { type: 'plan.resumed' })
    conclude(draft)
  }
}

/** No file was changed. A plan that ran stands still now, so that somebody looks; one that had ended has ended. */
export function stopRollback(draft: Draft, outcome: RollbackOutcome & { readonly failure: Failure }): void {
  const { rollback } = draft.state
  if (rollback === null) return
  emit(draft, { type: 'rollback.stopped', ...outcome })
  if (rollback.was.status === 'active')
    emit(draft, { type: 'plan.paused', reason: `the rollback was stopped: ${outcome.failure.message}` })
  else asItWas(draft, rollback.was)
}

function asItWas(draft: Draft, was: NonNullable<PlanState['rollback']>['was']): void {
  const { status, reason } = was
  if (status === 'completed' || status === 'failed' || status === 'cancelled')
    emit(draft, { type: 'plan.finished', status, reason: reason ?? '' })
}

/** Waits for nobody: dormant, or the judging of the definition of done, which comes by itself. */
function isIdle(state: PlanState, name: PlanState['order'][number]['definition']['id']): boolean {
  const task = state.tasks.get(name)
  return task !== undefined && (task.dormant || task.status === 'blocked')
}

function nameOf({ kind, checkpoint, to }: Pick<CommandOf<'rollback'>, 'kind' | 'checkpoint' | 'to'>): string {
  return kind === 'undo' ? 'the last rollback was undone' : `rolled back to ${checkpoint ?? `entry ${to}`}`
}
