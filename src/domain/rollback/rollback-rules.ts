// Rollback to an earlier entry, and undo. The effect on each task was computed from the journal and is part of the command; here it is
// checked and becomes events.
//
//   rollback.started ──► running tasks end ──► compensations, last first ──► files and refs ──► rollback.finished ──► paused
//                                                    └─ one fails ────────────────┴─ they cannot ──► rollback.stopped ──► paused
//
// A plan that had ended, and stays so or returns to an entry where it had ended, ends again instead of pausing.

import type { CommandOf, RollbackOutcome, RolledBack } from '../command.ts'
import { advise, next, quoted } from '../hint.ts'
import { effectOf, mayRunAgain } from '../plan-rules/effect.ts'
import { brokenOf } from '../recovery/follow-recovery.ts'
import { type Refusal, refuse } from '../refusal.ts'
import type { Failure } from '../result.ts'
import { type DecisionDraft, emit, unknownTask } from '../rules/decision.ts'
import { illegal } from '../rules/lifecycle.ts'
import { lose } from '../rules/lost-attempt.ts'
import { blockHeld, refresh } from '../rules/readiness.ts'
import { settleLate } from '../rules/settle.ts'
import type { PlanState, RollbackUnderWay, TaskState } from '../state/state.ts'
import { openNeeds, runningInOrder } from '../state/task-index.ts'
import { ENDED, PLAN_ENDED } from '../status.ts'

export function rollback(draft: DecisionDraft, command: CommandOf<'rollback'>): Refusal | undefined {
  const { state } = draft
  if (state.status === 'draft') return illegal(state, 'roll back', 'nothing has been done yet')
  if (state.compensating !== null) return illegal(state, 'roll back', 'its tasks are being compensated')
  const refusal = refuseUnknown(draft, command) ?? (command.kind === 'adopt' ? refuseWorking(state) : undefined)
  if (refusal !== undefined) return refusal
  const unsafe = runningInOrder(state).find(task => !mayRunAgain(effectOf(state.definition, task.definition)))
  if (unsafe !== undefined && command.force !== true)
    return refuse(
      'not-ready',
      `'${unsafe.definition.id}' is running and cannot be ended without losing track of what it did`,
      'wait for it or pause the plan first; --force ends it all the same',
    )
  const ended = PLAN_ENDED.has(state.status)
  const { type: _, ...asked } = command
  emit(draft, { type: 'rollback.started', ...asked })
  if (ended) emit(draft, { type: 'plan.reopened', reason: nameOf(command) })
  const reset = new Set(asked.resets.map(({ task }) => task))
  for (const task of state.order)
    if (task.claim !== null && reset.has(task.definition.id)) lose(draft, task, nameOf(command), 'by us')
  return undefined
}

/** No task may run while the changes of a fork are merged: they would count as the task's. */
function refuseWorking(state: PlanState): Refusal | undefined {
  const busy = state.order.find(task => task.status === 'running' || task.claim !== null)
  if (busy === undefined) return undefined
  const name = state.definition.name
  return refuse(
    'not-ready',
    `'${busy.definition.id}' of '${name}' is working in the files that the fork would change`,
    advise`wait for it, or pause the plan first: ${next('pause', { plan: name })}`,
  )
}

function refuseUnknown(draft: DecisionDraft, { to, resets, compensate }: CommandOf<'rollback'>): Refusal | undefined {
  const { state } = draft
  if (to < 1 || to > state.version)
    return refuse('not-found', `the plan has no entry ${to}`, advise`see ${quoted('checkpoints')}`)
  for (const name of [...resets.map(({ task }) => task), ...compensate])
    if (!state.tasks.has(name)) return unknownTask(draft, name)
  const bare = compensate.find(name => state.tasks.get(name)?.definition.compensate === undefined)
  return bare === undefined ? undefined : refuse('invalid', `'${bare}' does not declare how it is compensated`)
}

/** Ignored for another rollback id, or while tasks run or compensations are open. */
export function finishRollback(draft: DecisionDraft, { id, outcome }: RolledBack): void {
  const { failure, conflicts: _, ...done } = outcome
  const { state } = draft
  const under = state.rollback
  if (under?.id !== id || !isReadyForRollback(state)) return
  if (failure !== undefined) {
    stopRollback(draft, { ...outcome, failure })
    return
  }
  emit(draft, { type: 'rollback.finished', ...done })
  if (under.because === 'failure') return endFailed(draft, under, setBackWords(outcome))
  if (under.kind === 'adopt') return standAsBefore(draft, under)
  settleReset(draft, under)
  const ends = isAtRest(state) ? (under.ends ?? null) : null
  if (ends !== null) emit(draft, { type: 'plan.finished', ...ends })
  else if (under.resets.length > 0 || !endAgain(draft, under))
    emit(draft, { type: 'plan.paused', reason: nameOf(under) })
}

/** The start of the reason of a plan paused by a stopped rollback. */
export const ROLLBACK_STOPPED = 'the rollback was stopped'

/** No file was changed. A running plan pauses, so that a person looks; an ended one stays ended. */
export function stopRollback(draft: DecisionDraft, outcome: RollbackOutcome & { readonly failure: Failure }): void {
  const under = draft.state.rollback
  if (under === null) return
  emit(draft, { type: 'rollback.stopped', ...outcome })
  if (under.because === 'failure')
    return endFailed(draft, under, `its files were not reverted: ${outcome.failure.message}`)
  if (under.kind === 'adopt') return standAsBefore(draft, under)
  settleReset(draft, { ...under, resets: [], filesOnly: undefined })
  if (!endAgain(draft, under))
    emit(draft, { type: 'plan.paused', reason: `${ROLLBACK_STOPPED}: ${outcome.failure.message}` })
}

/** An adoption changes only files, so the plan keeps its status. */
function standAsBefore(draft: DecisionDraft, under: RollbackUnderWay): void {
  settleReset(draft, under)
  const { status, reason } = under.was
  if (endAgain(draft, under) || status !== 'paused') return
  emit(draft, { type: 'plan.paused', reason: reason ?? nameOf(under) })
}

/** The plan had failed before; tasks stay as they are, and the result of the rollback is added to the reason. */
function endFailed(draft: DecisionDraft, { reason }: RollbackUnderWay, what: string): void {
  emit(draft, { type: 'plan.finished', status: 'failed', reason: reason === undefined ? what : `${reason}; ${what}` })
}

function setBackWords({ paths, left = [] }: RollbackOutcome): string {
  if (paths === 0 && left.length === 0) return 'its files are as they were before its first task'
  const but = left.length === 0 ? '' : `, except ${left.length === 1 ? `'${left[0]!.path}'` : `${left.length} paths`}`
  return `its files were reverted to before its first task (${paths} ${paths === 1 ? 'path' : 'paths'})${but}`
}

type Named = Pick<CommandOf<'rollback'>, 'kind' | 'checkpoint' | 'to' | 'adopts' | 'undoes' | 'tasks'>

type ResetPlan = Named &
  Pick<RollbackUnderWay, 'resets' | 'ended'> & {
    readonly filesOnly?: true | undefined
  }

/** Settles readiness and blocking after the reset, and the consequences of tasks that ended meanwhile. */
function settleReset(draft: DecisionDraft, under: ResetPlan): void {
  const { state } = draft
  const reset = new Set(under.resets.map(({ task }) => task))
  const stray = state.order.filter(task => !reset.has(task.definition.id) && isStray(state, task, under))
  if (stray.length > 0)
    emit(draft, {
      type: 'task.reopened',
      tasks: stray.map(({ definition }) => definition.id),
      reason: nameOf(under),
    })
  for (const name of under.ended) {
    const task = state.tasks.get(name)
    if (task !== undefined && !reset.has(name)) settleLate(draft, task)
  }
  refresh(draft, state.order)
  blockHeld(draft, state.order)
}

/** It was ready or waiting and a dependency is open again, or its next attempt would restore outdated files. */
function isStray(state: PlanState, task: TaskState, { filesOnly }: Pick<ResetPlan, 'filesOnly'>): boolean {
  if (filesOnly === true && task.status === 'ready' && task.prepared?.preimage !== undefined) return true
  if (openNeeds(state, task).unmet === 0 || isAskedAbout(state, task)) return false
  if (task.status === 'ready') return true
  return (
    task.status === 'waiting' &&
    task.gate?.asks.type !== 'unknown-outcome' &&
    mayRunAgain(effectOf(state.definition, task.definition))
  )
}

/** A group that waits for a person because its tasks failed needs them, and keeps its state. */
function isAskedAbout(state: PlanState, task: TaskState): boolean {
  const asks = task.gate?.asks.type
  return (asks === 'recovery' || asks === 'replan') && brokenOf(state, task)[0] !== task
}

const isOpen = (task: TaskState): boolean => !ENDED.has(task.status) && task.status !== 'blocked'

/** Have running tasks ended, and are compensations done? Before that, a rollback touches no file. */
export const isReadyForRollback = ({ running, compensation, compensating }: PlanState): boolean =>
  running.size === 0 && compensation === null && (compensating ?? []).length === 0

const isAtRest = (state: PlanState): boolean =>
  state.order.every(task => !isOpen(task) || (task.dormant && task.definition.action.type === 'verify'))

function endAgain(draft: DecisionDraft, { was: { status, reason } }: RollbackUnderWay): boolean {
  if (status !== 'completed' && status !== 'failed' && status !== 'cancelled') return false
  emit(draft, { type: 'plan.finished', status, reason: reason ?? '' })
  return true
}

function nameOf({ kind, checkpoint, to, adopts, undoes, tasks }: Named): string {
  if (kind === 'adopt') return `adopted the work of ${adopts?.name ?? 'a fork'}`
  if (kind === 'rollback' && tasks !== undefined) return `reverted what ${tasks.join(', ')} wrote`
  if (undoes !== undefined) return `the adoption of ${undoes} was undone`
  return kind === 'undo' ? 'the last rollback was undone' : `rolled back to ${checkpoint ?? `entry ${to}`}`
}
