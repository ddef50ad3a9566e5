// Which ready tasks may start: highest priority first, within `concurrency`, never two with overlapping write scopes, nor one over files
// that a retry will restore. A task under preparation keeps its place in the queue, so that lower priorities cannot starve it.
// Also which workers may drive the plan at all.

import { worksInFolder } from '../actions/actions.ts'
import { type Begin, beginWithin, waitsForBudget } from '../budget/budget-rules.ts'
import { isAgreed, needsConsent } from '../gates/consent-rules.ts'
import { type Asking, openPrepared } from '../gates/open-gate.ts'
import { advise, quoted } from '../hint.ts'
import type { Millis, TaskName } from '../id.ts'
import { CONCURRENCY_DEFAULT, CONCURRENCY_MAX } from '../limits.ts'
import type { PlanDefinition } from '../plan.ts'
import { capturesFiles, heldScope, isWatched, scopesOverlap } from '../plan-rules/effect.ts'
import { runsAs } from '../policy/run-mode.ts'
import { attemptsUsedUp, blockingBreaker, isTriedIn } from '../recovery/breaker.ts'
import { TIMEBOX } from '../recovery/choose-recovery.ts'
import { needsReservation } from '../reservation.ts'
import type { Failure, Prepared } from '../result.ts'
import { dueBefore, takenBefore } from '../rollback/checkpoint-rules.ts'
import { goneBackIn, type PlanState, type TaskState } from '../state/state.ts'
import {
  asksBeforeClaim,
  hasUncheckedPreconditions,
  isClaimable,
  isStartable,
  isUnjudged,
  NOTHING,
} from '../state/task-index.ts'
import { type DecisionDraft, emit } from './decision.ts'
import { propagate } from './readiness.ts'
import { settle } from './settle.ts'

/** How far to look past tasks that wait for an overlapping scope. */
const LOOK_PAST_MAX = 64

/** The same for tasks that a breaker, another plan, a permission or the budget delays: there may be many, and others must not wait. */
const LOOK_PAST_HELD_MAX = 1_024

/** The next tasks for the free slots, in order. Reads only: what it takes from the heap it puts back. */
export const inLine = (state: PlanState, now: Millis, held: Held = NOBODY_HELD): readonly TaskState[] =>
  lineOf(state, now, held).line

/** Tasks whose files another plan has reserved. */
type Held = { has(task: TaskName): boolean }
const NOBODY_HELD: Held = new Set()

/** The queue, and when the first task behind a breaker may begin. */
export function lineOf(
  state: PlanState,
  now: Millis,
  passOver: Held = NOBODY_HELD,
): { readonly line: readonly TaskState[]; readonly heldAt: Millis | null } {
  let free = concurrencyOf(state.definition) - state.running.size
  if (state.status !== 'active' || state.compensating !== null || free <= 0) return NOBODY_IN_LINE
  if (state.ready.peek(isStartable) === undefined) return NOBODY_IN_LINE
  let heldAt: Millis | null = null
  let held = 0
  const looked: TaskState[] = []
  const line: TaskState[] = []
  for (let past = 0; free > 0 && past < LOOK_PAST_MAX; ) {
    const task = state.ready.pop(isStartable)
    if (task === undefined) break
    // A task may be queued twice, and then the entries are adjacent.
    if (looked.at(-1) === task) continue
    looked.push(task)
    if (passOver.has(task.definition.id)) {
      if (++held >= LOOK_PAST_HELD_MAX) break
      continue
    }
    const breaker = blockingBreaker(state, task, now, one => isTriedIn(state.running, one) || isTriedIn(line, one))
    if (breaker !== null) {
      // A half-open breaker waits for the task that tries it, not for a time.
      if (breaker.until > now) heldAt = Math.min(heldAt ?? breaker.until, breaker.until)
      if (++held >= LOOK_PAST_HELD_MAX) break
      continue
    }
    if (waitsForPermission(state, task) || (state.budget !== null && waitsForBudget(state, task, now))) {
      if (++held >= LOOK_PAST_HELD_MAX) break
      continue
    }
    const scope = writeScope(state, task)
    const inTheWay = (other: TaskState) => other !== task && scopesOverlap(scope, writeScope(state, other))
    // Git tasks wait for the commits of earlier tasks.
    const waits = task.definition.action.type === 'git' && state.uncommitted.length > 0
    if (waits || (scope.length > 0 && [...state.running, ...state.holding, ...line].some(inTheWay))) {
      past++
      continue
    }
    line.push(task)
    free--
  }
  for (const task of looked) state.ready.push(task)
  return { line, heldAt }
}

/** Its agent was stopped while it waited for a permission, and continues with the answer. */
const waitsForPermission = ({ questions }: PlanState, { definition }: TaskState): boolean =>
  questions.length > 0 && questions.some(({ task, agent }) => agent !== undefined && task === definition.id)

const NOBODY_IN_LINE = { line: NOTHING, heldAt: null }

/** Would an attempt begin now if limits allowed it? */
export const wantsAttempt = (state: PlanState, now: Millis): boolean =>
  state.status === 'active' &&
  state.compensating === null &&
  (state.claimable.peek(task => isClaimable(state, task)) !== undefined ||
    inLine(state, now).length > 0 ||
    // External tasks that need an approval before a claim.
    [...state.asking].some(({ definition }) => definition.action.type !== 'gate'))

/** How many tasks the engine runs at once; at least one, or nothing would ever start. */
export function concurrencyOf({ concurrency }: PlanDefinition): number {
  return concurrency !== undefined && concurrency >= 1 ? Math.min(concurrency, CONCURRENCY_MAX) : CONCURRENCY_DEFAULT
}

/** Labels of the plan that a worker with these labels lacks; none if it may drive the plan. Labels and capabilities of tasks do not count. */
export const lacksLabels = ({ place = [] }: PlanDefinition, labels: ReadonlySet<string>): readonly string[] =>
  place.filter(label => !labels.has(label))

/** Must something be found out or captured before its next attempt? */
export function needsPreparing(state: PlanState, task: TaskState): boolean {
  const { preconditions, action } = task.definition
  return (
    action.type === 'gate' ||
    isUnjudged(task) ||
    (preconditions?.length ?? 0) > 0 ||
    action.type === 'items' ||
    capturesScope(state, task) ||
    needsLook(state, task) ||
    dueBefore(state, task) !== null ||
    needsConsent(state, task) ||
    (worksInFolder(action) && needsReservation(state, task))
  )
}

export function capturesScope(state: PlanState, task: TaskState): boolean {
  return capturesFiles(state.definition, task.definition)
}

/** Does the next attempt need a snapshot of all files first? For an external task, the claim takes it. */
function needsLook(state: PlanState, task: TaskState): boolean {
  if (task.definition.action.type === 'external' || !isWatched(state, task.definition)) return false
  // Before a retry: changes since the previous attempt are not its work.
  return task.attempt === 0 ? task.prepared?.before === undefined : task.prepared?.ended !== undefined
}

/** Opens prepared gates and starts the prepared tasks at the head of the queue. Called only by the owner of the plan's lease. */
export function startInLine(
  draft: DecisionDraft,
  prepared: ReadonlyMap<TaskState, Prepared>,
  asking: ReadonlyMap<TaskState, Asking>,
  held: Held = NOBODY_HELD,
): void {
  openAsked(draft, prepared, asking)
  startEach(draft, inLine(draft.state, draft.now, held), prepared, asking)
}

/** Opens gates, also those before a claim, with prepared questions. This runs nothing, so it also happens while the engine is stopping. */
export function openAsked(
  draft: DecisionDraft,
  prepared: ReadonlyMap<TaskState, Prepared>,
  asking: ReadonlyMap<TaskState, Asking>,
): void {
  const { state } = draft
  const claimable = [...prepared.keys()].filter(task => isApproved(state, task))
  if (state.asking.size === 0 && claimable.length === 0) return
  startEach(draft, [...askable(state).filter(task => prepared.has(task)), ...claimable], prepared, asking)
}

/** An approved external task is checked again when it is claimed. */
const isApproved = (state: PlanState, task: TaskState): boolean =>
  task.consent !== null && asksBeforeClaim(state, task) && isClaimable(state, task)

function startEach(
  draft: DecisionDraft,
  tasks: readonly TaskState[],
  prepared: ReadonlyMap<TaskState, Prepared>,
  asking: ReadonlyMap<TaskState, Asking>,
): void {
  const line = tasks.map(task => ({ task, visit: task.visit }))
  for (const { task, visit } of line) {
    // A task before it in the queue may have failed and reopened its dependencies.
    const mayBegin = isStartable(task) || draft.state.asking.has(task) || isApproved(draft.state, task)
    if (!mayBegin || task.visit !== visit || draft.state.compensating !== null) continue
    // A task before it in the queue found the budget used up.
    if (draft.state.status === 'paused') return
    // The next turn ends the plan.
    if (attemptsUsedUp(draft.state) !== null && task.definition.action.type !== 'gate') continue
    const made = prepared.get(task) ?? null
    const question = asking.get(task) ?? null
    if (made === null ? !needsPreparing(draft.state, task) : isEnough(draft.state, task, made, question))
      start(draft, task, made ?? {}, question)
  }
}

/** How many gates are prepared at once. */
const ASKING_MAX = 64

export function askable(state: PlanState): readonly TaskState[] {
  if (state.asking.size === 0 || state.status !== 'active' || state.compensating !== null) return NOTHING
  return [...state.asking].sort((a, b) => a.ordinal - b.ordinal).slice(0, ASKING_MAX)
}

/** Is the preparation complete, so that the task can start or be ruled out? */
function isEnough(state: PlanState, task: TaskState, made: Prepared, asking: Asking | null): boolean {
  if (made.failure !== undefined || made.when === false) return true
  if (made.when === undefined && isUnjudged(task)) return false
  if (made.edits !== undefined) return true
  // Its result arrives as the expanded plan, see turn.ts.
  if (task.definition.action.type === 'items') return false
  if ((task.definition.preconditions?.length ?? 0) > 0 && made.preconditions === undefined) return false
  if (asking !== null) return true
  // A gate opens only with its own question, except for text preconditions.
  if (task.definition.action.type === 'gate') return proseOf(task, made).length > 0
  if (proseOf(task, made).length > 0) return true
  // What it would do was examined under this definition. While a person is asked about that, its files are neither captured nor reserved.
  if (needsConsent(state, task)) return made.consent?.from === state.hash
  return isCaptured(state, task, made)
}

/** Without the preimage, a crash could not be repaired. */
const isCaptured = (state: PlanState, task: TaskState, { preimage }: Prepared): boolean =>
  preimage !== undefined || !capturesScope(state, task)

/** The preconditions that only a person can judge, and that are open in this visit. */
function proseOf(task: TaskState, made: Prepared): readonly string[] {
  if (task.prepared?.approved === true) return []
  return (made.preconditions ?? []).flatMap(({ criterion, holds }) => (holds === null ? [criterion] : []))
}

function start(draft: DecisionDraft, task: TaskState, prepared: Prepared, asking: Asking | null): void {
  const name = task.definition.id
  if (prepared.when === false) {
    emit(draft, {
      type: 'task.skipped',
      task: name,
      reason: `its condition is false: ${task.definition.when ?? ''}`,
    })
    propagate(draft, task)
    return
  }
  if (prepared.failure === undefined && isUnjudged(task)) {
    emit(draft, { type: 'criterion.judged', task: name, criterion: task.definition.when ?? '', holds: true })
  }
  if (prepared.failure === undefined && !isClear(draft, task, prepared)) return
  if (prepared.failure === undefined && prepared.edits !== undefined) {
    const { shown, ...edits } = prepared.edits
    emit(draft, { type: 'gate.opened', task: name, asks: { type: 'edits', ...edits }, hash: shown, shown })
    return
  }
  if (prepared.failure === undefined && asking !== null) {
    openPrepared(draft, task, asking)
    return
  }
  if (prepared.failure === undefined && !isAgreed(draft, task, prepared)) return
  if (prepared.failure === undefined && !isCaptured(draft.state, task, prepared)) return
  const { type } = task.definition.action
  const isEngines = type !== 'gate' && type !== 'external'
  const within = prepared.failure === undefined && isEngines ? withinBudget(draft, task) : NO_BUDGET
  if (within === 'later') return
  const { holds, failure: over } = within
  if (prepared.failure === undefined) takenBefore(draft, task, prepared.checkpoint)
  if (prepared.failure === undefined && !isEngines) return
  const begun = { type: 'attempt.started', task: name, visit: task.visit, attempt: task.attempt + 1 } as const
  const { preimage, before, unwatched, inputHash, reserves, edited } = prepared
  const goneBack = goneBackIn(task)
  const idle = (prepared.failure ?? over) !== undefined ? ({ begun: false } as const) : {}
  const runs = runsAs(draft.state, task.definition)
  // In stored order, so that a replay is byte-equal.
  if ([preimage, inputHash, before, unwatched, reserves, edited].every(one => one === undefined))
    emit(draft, { ...begun, ...goneBack, ...idle, ...(holds === undefined ? {} : { holds }), ...runs })
  else
    emit(draft, {
      ...begun,
      preimage,
      before,
      unwatched,
      inputHash,
      reserves,
      edited,
      ...goneBack,
      ...idle,
      ...(holds === undefined ? {} : { holds }),
      ...runs,
    })
  const { failure = over ?? outOfTime(draft, task), mode } = prepared
  if (failure === undefined) return
  const judged = prepared.failure !== undefined ? (prepared.preconditions ?? []) : []
  const verdicts = judged.map(verdict => ({ ...verdict, stage: 'precondition' as const }))
  settle(draft, task, {
    status: 'failed',
    failure,
    mode,
    ...(verdicts.length === 0 ? {} : { verdicts }),
  })
}

const NO_BUDGET: Exclude<Begin, 'later'> = {}

/** Reserves its start budget; most plans have none. */
function withinBudget(draft: DecisionDraft, task: TaskState): Begin {
  return draft.state.budget === null ? NO_BUDGET : beginWithin(draft, task, concurrencyOf(draft.state.definition))
}

/** After crashes or a long wait the time of the visit is used up: the attempt ends before it begins. */
function outOfTime(
  { now }: DecisionDraft,
  { definition: { timeboxMs }, visitAt, failures, lost }: TaskState,
): Failure | undefined {
  if (timeboxMs === undefined || visitAt === null || failures + lost === 0 || now - visitAt < timeboxMs)
    return undefined
  return {
    class: 'transient',
    message: `its timebox of ${timeboxMs / 1000} s is used up`,
    hint: advise`raise \`timebox\`, or retry it: ${quoted('retry')}`,
    retryable: false,
    code: TIMEBOX,
  }
}

/** Do the preconditions hold? For text preconditions a person is asked first. */
function isClear(draft: DecisionDraft, task: TaskState, prepared: Prepared): boolean {
  const { id } = task.definition
  const criteria = proseOf(task, prepared)
  if (criteria.length > 0) {
    emit(draft, {
      type: 'gate.opened',
      task: id,
      asks: { type: 'verdict', criteria, before: true },
      hash: draft.state.hash,
    })
    return false
  }
  if (!hasUncheckedPreconditions(task)) return true
  for (const { criterion, evidence } of prepared.preconditions ?? []) {
    emit(draft, {
      type: 'criterion.judged',
      task: id,
      criterion,
      holds: true,
      evidence,
      stage: 'precondition',
    })
  }
  return true
}

function writeScope(state: PlanState, task: TaskState): readonly string[] {
  const { definition } = task
  return definition.action.type === 'external' ? (definition.write ?? []) : heldScope(state.definition, definition)
}
