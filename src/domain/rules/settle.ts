// Settles attempts. Success completes the task and takes its outcome edge; failure is retried, routed or final; the effect class decides
// about an unknown outcome. Stale and duplicate settlements change nothing.

import { withdrawQuestion } from '../budget/budget-rules.ts'
import type { Interrupted } from '../command.ts'
import { askAgain, isUnagreed } from '../gates/consent-rules.ts'
import { countsForBreaker, loopsUsedUp } from '../recovery/breaker.ts'
import type { NothingLeft } from '../recovery/choose-recovery.ts'
import { abort, beginRecovery, endRecovery, updateBreakers } from '../recovery/follow-recovery.ts'
import { changedPrograms, type Failed, type Result, type Succeeded } from '../result.ts'
import { takenBy } from '../rollback/checkpoint-rules.ts'
import { goneBackIn, type TaskState } from '../state/state.ts'
import { groupOf } from '../state/task-index.ts'
import { type DecisionDraft, emit } from './decision.ts'
import { attemptOf, isEnding, loseByUs } from './lost-attempt.ts'
import { block, propagate } from './readiness.ts'
import { sendBack, whyCapped } from './review.ts'
import { edges, exhausted, recovery, route, wouldReopen } from './routing.ts'

export function settle(draft: DecisionDraft, task: TaskState, result: Result | Interrupted): void {
  if (result.status === 'interrupted') loseByUs(draft, task, result)
  else if (result.status === 'succeeded') succeed(draft, task, withNewPrograms(draft, result))
  else fail(draft, task, withNewPrograms(draft, result))
}

/** Attempts that ran side by side report the same programs. */
function withNewPrograms<R extends Result>({ state }: DecisionDraft, result: R): R {
  if (result.programs === undefined) return result
  const { programs, ...rest } = result
  const changed = changedPrograms(state.programs, programs)
  return changed === undefined ? (rest as R) : { ...result, programs: changed }
}

function succeed(draft: DecisionDraft, task: TaskState, result: Succeeded): void {
  const unjudged = result.verdicts?.filter(verdict => verdict.holds === null) ?? []
  const taken = edges(draft, task, outcomesOf(task, result))
  if (taken === null && task.definition.action.type === 'decide') {
    fail(draft, task, noEdge(result.outcome ?? 'success'))
    return
  }
  const capped = isEnding(draft) ? null : whyCapped(draft.state, task, result)
  if (capped !== null) return fail(draft, task, capped)
  const isReview = task.definition.reviews !== undefined
  const over = taken === null || isReview || isEnding(draft) ? null : exhausted(task, taken.to)
  if (taken !== null && over !== null) {
    fail(draft, task, tooOften(taken.outcome, over))
    return
  }
  emit(draft, { type: 'attempt.succeeded', ...attemptOf(task), result })
  withdrawQuestion(draft, task)
  updateBreakers(draft, task, 'well')
  takenBy(draft, task, result.checkpoint)
  if (unjudged.length > 0) {
    const asks = { type: 'verdict', criteria: unjudged.map(verdict => verdict.criterion) } as const
    emit(draft, { type: 'gate.opened', task: task.definition.id, asks, hash: draft.state.hash })
  } else if (draft.state.rollback === null) afterSuccess(draft, task)
}

/** The attempt ended during a rollback, which postponed its consequences until now. */
export function settleLate(draft: DecisionDraft, task: TaskState): void {
  const { status, result } = task
  if (status === 'completed') afterSuccess(draft, task)
  else if (status === 'failed' && result?.status === 'failed') goOnAfter(draft, task, result)
}

export function afterSuccess(draft: DecisionDraft, task: TaskState): void {
  const { compensating } = draft.state
  if (compensating === null && task.result?.status === 'succeeded' && sendBack(draft, task, task.result)) return
  const taken = compensating === null ? edges(draft, task, outcomesOf(task, task.result)) : null
  if (taken !== null && exhausted(task, taken.to) === null) {
    if (isLoopTooMany(draft, task, taken.to)) return
    route(draft, task, taken.outcome, taken.to)
  }
  if (task.status === 'completed') propagate(draft, task)
}

/** Ends the plan when its limit on loops is exceeded. */
function isLoopTooMany(draft: DecisionDraft, task: TaskState, to: readonly TaskState[]): boolean {
  const cap = to.some(wouldReopen) ? loopsUsedUp(draft.state) : null
  if (cap !== null) abort(draft, cap, undefined, task.definition.id)
  return cap !== null
}

/** Why the result of an alternate does not complete this task; null when it does. */
export function whyNotDone(draft: DecisionDraft, task: TaskState, result: Result | null): Failed | null {
  const outcomes = outcomesOf(task, result)
  const taken = edges(draft, task, outcomes)
  if (taken === null) return task.definition.action.type === 'decide' ? noEdge(outcomes[0] ?? '') : null
  const over = exhausted(task, taken.to)
  return over === null ? null : tooOften(taken.outcome, over)
}

/** The target of the success edge that has no visits left; null for none. */
export function loopLimitReached(draft: DecisionDraft, task: TaskState): ReturnType<typeof exhausted> {
  const taken = edges(draft, task, outcomesOf(task, task.result))
  return taken === null ? null : exhausted(task, taken.to)
}

function fail(draft: DecisionDraft, task: TaskState, result: Failed): void {
  emit(draft, { type: 'attempt.failed', ...attemptOf(task), result, ...goneBackIn(task) })
  if (draft.state.rollback === null) goOnAfter(draft, task, result)
}

function goOnAfter(draft: DecisionDraft, task: TaskState, result: Failed): void {
  if (isUnagreed(result) && !isEnding(draft)) return askAgain(draft, task, result)
  const { class: kind } = result.failure
  if (countsForBreaker(kind) || kind === 'logic') updateBreakers(draft, task, countsForBreaker(kind) ? 'badly' : 'well')
  const left = isEnding(draft) ? ENDING : beginRecovery(draft, task, 'attempt')
  if (left !== null) giveUp(draft, task, ['failure'], result.mode, left)
}

/** A failure without a retry: follows a rule, or is final. `why`: the result of the last rule. */
export function afterFailure(
  draft: DecisionDraft,
  task: TaskState,
  outcomes: readonly string[],
  mode?: string,
  why?: string,
): void {
  const left = draft.state.compensating === null ? beginRecovery(draft, task, 'else', why) : ENDING
  if (left !== null) giveUp(draft, task, outcomes, mode, left)
}

/** The plan is ending, so there is no recovery. */
const ENDING: NothingLeft = { choice: null, passed: '', reason: '', timebox: false }

/** A final failure: routed when it has an edge and visits left, else it blocks its dependants. */
function giveUp(
  draft: DecisionDraft,
  task: TaskState,
  outcomes: readonly string[],
  mode: string | undefined,
  left: NothingLeft,
): void {
  const { compensating } = draft.state
  const taken = compensating === null ? (recovery(draft, task, mode) ?? edges(draft, task, outcomes)) : null
  const over = taken === null ? null : exhausted(task, taken.to)
  if (taken !== null && over === null && isLoopTooMany(draft, task, taken.to)) return
  if (compensating === null) endRecovery(draft, task, left, taken, over)
  if (taken !== null && over === null) route(draft, task, taken.outcome, taken.to)
  if (task.status !== 'failed') return
  block(draft, task)
  if (!task.handled) failGroup(draft, task)
}

/** A group with a failure edge or recovery rules fails with its first failed child. Any other group is only blocked. */
function failGroup(draft: DecisionDraft, task: TaskState): void {
  const group = groupOf(draft.state, task)
  if (group === null || draft.state.compensating !== null) return
  const recovers = (group.definition.recover?.length ?? 0) > 0
  if (!recovers && edges(draft, group, ['failure']) === null) return
  if (group.status !== 'pending' && group.status !== 'ready' && group.status !== 'blocked') return
  const reason = `'${task.definition.id}' failed: ${task.reason ?? ''}`
  emit(draft, { type: 'task.failed', task: group.definition.id, by: task.definition.id, reason })
  afterFailure(draft, group, ['failure'])
}

/** The names under which an outcome may have an edge, most specific first. */
function outcomesOf(task: TaskState, result: Result | null): readonly string[] {
  const picked = result?.status === 'succeeded' ? (result.outcome ?? 'success') : 'success'
  switch (task.definition.action.type) {
    case 'decide':
      return [picked, 'default']
    case 'gate':
      return picked === 'success' ? ['approved', 'success'] : [picked, 'default', 'success']
    default:
      return picked === 'success' ? ['success'] : [picked, 'success']
  }
}

function noEdge(picked: string): Failed {
  return {
    status: 'failed',
    failure: {
      class: 'logic',
      message: `it decided '${picked}', and \`on\` names no task for that`,
      hint: `add 'on: { ${picked}: <task> }', or 'on: { default: <task> }'`,
      retryable: false,
    },
  }
}

function tooOften(outcome: string, over: { target: string; visits: number }): Failed {
  return {
    status: 'failed',
    failure: {
      class: 'logic',
      message: `outcome '${outcome}' leads back to '${over.target}', which has used all of its ${over.visits} runs`,
      hint: 'find out why it does not converge, or raise `visits`',
      retryable: false,
    },
  }
}
