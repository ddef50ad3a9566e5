// Follows the recovery that `choose-recovery.ts` chooses, and journals it with its reason. While a remedy runs, the failed task stays
// failed and `recovering`; its dependants wait until it is done.

import type { TaskName } from '../id.ts'
import type { Recovery } from '../plan.ts'
import { remedyIn } from '../plan-rules/expand.ts'
import type { Failure } from '../result.ts'
import { type DecisionDraft, emit } from '../rules/decision.ts'
import { block, unblock } from '../rules/readiness.ts'
import { type edges, exhausted, NEEDS_OPEN, reopen, route, wouldReopen } from '../rules/routing.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { beginningsOf, groupOf, openNeeds, worksOf } from '../state/task-index.ts'
import { attemptsUsedUp, breakerOf, loopsUsedUp } from './breaker.ts'
import { type Chosen, choose, type NothingLeft, notRetried } from './choose-recovery.ts'
import { retryOf } from './retry.ts'

/** Retries or follows a rule, and returns null; or returns why nothing is left to do. `why`: the result of the last rule. */
export function beginRecovery(
  draft: DecisionDraft,
  task: TaskState,
  from: 'attempt' | 'else',
  why?: string,
): NothingLeft | null {
  const { state, now } = draft
  const { id, timeboxMs } = task.definition
  const failure = failureOf(state, task)
  const mode = task.result?.status === 'failed' ? task.result.mode : undefined
  const chosen = choose({
    task,
    failure,
    mode,
    retry: retryOf(state.definition, task.definition),
    seed: `${state.id}/${id}/${task.visit}`,
    leftMs: timeboxMs === undefined ? null : (task.visitAt ?? now) + timeboxMs - now,
    attempted: from === 'attempt',
    since: why,
    obstacle: recovery => obstacleOf(draft, task, recovery),
  })
  if (chosen.choice !== 'retry' && chosen.timebox) callAboutTime(draft, task)
  if (chosen.choice === null) return chosen
  follow(draft, task, failure, chosen)
  return null
}

function follow(
  draft: DecisionDraft,
  task: TaskState,
  failure: Failure,
  chosen: Exclude<Chosen, { choice: null }>,
): void {
  const { state } = draft
  const { id } = task.definition
  const { choice, reason, rule } = chosen
  const helper = chosen.choice === 'retry' ? null : remedyIn({ do: chosen.recovery })
  // A dependency was reopened during the attempt: wait for it, then begin the next visit.
  if (choice === 'retry' && openNeeds(state, task).unmet > 0) return reopen(draft, [task], NEEDS_OPEN)
  // Announce nothing that may not begin: the plan is out of attempts.
  const cap = choice === 'retry' ? attemptsUsedUp(state) : null
  if (cap !== null) return abort(draft, cap, undefined, id)
  emit(draft, {
    type: 'recovery.chosen',
    task: id,
    visit: task.visit,
    choice,
    reason,
    rule,
    ...(helper === null ? {} : { to: [helper] }),
  })
  if (chosen.choice === 'retry') {
    emit(draft, { type: 'retry.scheduled', task: id, at: draft.now + chosen.waitMs })
    free(draft, task)
    return
  }
  const { recovery } = chosen
  switch (recovery.type) {
    case 'alternate':
    case 'repair': {
      const target = state.tasks.get(recovery.task)!
      route(draft, task, recovery.type, ledTo(state, target))
      if (task.status === 'failed') block(draft, task)
      return
    }
    case 'replan':
    case 'ask': {
      const to = recovery.type === 'ask' ? recovery.to : undefined
      const type = recovery.type === 'ask' ? 'recovery' : 'replan'
      const asks = { type, failure, to } as const
      emit(draft, { type: 'gate.opened', task: id, asks, hash: state.hash })
      free(draft, task)
      return
    }
    case 'abort':
      abort(draft, `task '${id}' failed: ${task.reason ?? failure.message}`, recovery.with, id)
      return
    default:
      recovery satisfies never
  }
}

/** The recovering task no longer blocks its dependants; they wait. */
function free(draft: DecisionDraft, task: TaskState): void {
  unblock(draft, task.dependants)
}

/** Why a matching rule cannot be followed now; null when it can. */
function obstacleOf(draft: DecisionDraft, task: TaskState, recovery: Recovery): string | null {
  const name = remedyIn({ do: recovery })
  if (name === null) return null
  const { state } = draft
  const target = state.tasks.get(name)
  if (target === undefined) return `'${name}' is not in the plan`
  if (target === task) return `'${name}' is the failed task itself`
  // A group around the failed task cannot be its remedy, because the group waits for that task.
  for (let at = groupOf(state, task); at !== null; at = groupOf(state, at))
    if (at === target) return `'${task.definition.id}' is part of '${name}'`
  if (target.recovering?.by === task.definition.id) return `'${name}' itself waits for '${task.definition.id}'`
  const to = ledTo(state, target)
  const over = exhausted(task, to) ?? (recovery.type === 'repair' ? exhausted(task, [task]) : null)
  if (over !== null) return `'${over.target}' has used all of its ${over.visits} runs`
  return to.some(wouldReopen) || recovery.type === 'repair' ? loopsUsedUp(state) : null
}

/** For a group, its first tasks are activated, and the group itself, by whose `routedBy` the end of the remedy is noticed (`touchedBy`). */
function ledTo(state: PlanState, target: TaskState): readonly TaskState[] {
  const first = beginningsOf(state, target)
  return first.length === 1 && first[0] === target ? first : [...first, target]
}

/** No rule is left: an outcome edge applies, or dependants are blocked. */
export function endRecovery(
  draft: DecisionDraft,
  task: TaskState,
  left: NothingLeft,
  taken: ReturnType<typeof edges>,
  over: ReturnType<typeof exhausted>,
): void {
  const choice = { type: 'recovery.chosen', task: task.definition.id, visit: task.visit } as const
  if (taken === null) return emit(draft, { ...choice, choice: 'block', reason: left.reason })
  const passed = left.passed === '' ? '' : `${left.passed}; `
  const isMode = task.definition.failureModes?.some(({ name }) => name === taken.outcome) === true
  const edge = `${isMode ? 'failure mode' : 'outcome'} '${taken.outcome}'`
  if (over !== null) {
    const why = `${edge} leads back to '${over.target}', which has used all of its ${over.visits} runs`
    return emit(draft, { ...choice, choice: 'block', reason: notRetried(`${passed}${why}`) })
  }
  const to = taken.to.map(({ definition }) => definition.id)
  const next = to.length === 0 ? 'continues without a task' : `continues with ${to.map(name => `'${name}'`).join(', ')}`
  emit(draft, { ...choice, choice: 'route', reason: `${passed}${next} (${edge})`, to })
}

/** The parts of a failed task that must run again: itself, or those tasks of a group that failed or were given up. */
export function brokenOf(state: PlanState, task: TaskState): readonly TaskState[] {
  const broken = worksOf(state, task).filter(({ status }) => ['failed', 'abandoned', 'cancelled'].includes(status))
  return broken.length === 0 ? [task] : broken
}

/** The plan ends as failed: tasks that do not run are cancelled, claimed ones abandoned; other running ones are ended by the driver. */
export function abort(
  draft: DecisionDraft,
  reason: string,
  how: 'compensate' | 'keep' | 'rollback' | undefined,
  task?: TaskName,
): void {
  const { state } = draft
  if (state.compensating !== null) return
  emit(draft, {
    type: 'plan.aborted',
    reason,
    with: how ?? state.definition.policy?.onFailure ?? 'compensate',
    task,
  })
  for (const other of state.order) {
    if (other.status === 'running' && other.claim !== null)
      emit(draft, { type: 'task.abandoned', task: other.definition.id, reason: 'the plan was aborted' })
  }
}

/** The failure of a task: of an attempt, of one of its children, or a rejection. */
export function failureOf(state: PlanState, task: TaskState): Failure {
  // The result of an earlier visit does not count, unless a rollback restored it.
  const isOfThis = task.failures > 0 || task.attempt === 0
  if (isOfThis && task.result?.status === 'failed') return task.result.failure
  const failure = { message: task.reason ?? 'it failed', retryable: false } as const
  if (task.lost > 0) return { class: 'unknown', code: 'lost', ...failure }
  const child = task.definition.action.type === 'group' ? brokenOf(state, task)[0] : undefined
  if (child !== undefined && child !== task && child.result?.status === 'failed')
    return { ...child.result.failure, ...failure }
  return { class: 'logic', code: task.definition.action.type === 'gate' ? 'rejected' : 'said', ...failure }
}

function callAboutTime(draft: DecisionDraft, task: TaskState): void {
  if (task.escalated.includes('timebox')) return
  const to = draft.state.definition.policy?.escalate?.to
  emit(draft, {
    type: 'task.escalated',
    task: task.definition.id,
    why: 'timebox',
    to,
  })
}

export function updateBreakers(
  draft: DecisionDraft,
  { definition: { capabilities = [] } }: TaskState,
  ended: 'well' | 'badly',
): void {
  const { state, now } = draft
  if (capabilities.length === 0) return
  const { failures: max, cooldownMs } = breakerOf(state.definition)
  for (const { capability, failures, until } of state.breakers) {
    if (!capabilities.includes(capability)) continue
    if (ended === 'well' && until !== null) emit(draft, { type: 'breaker.closed', capability })
    else if (ended === 'badly' && failures >= max && (until === null || until <= now))
      emit(draft, { type: 'breaker.opened', capability, until: now + cooldownMs, failures })
  }
}
