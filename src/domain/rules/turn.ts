// One turn of the loop: settles ended attempts, readies due retries, starts tasks from the queue, in one entry. And `recover`: a new owner
// loses the attempts that the previous one left open (lost-attempt.ts).

import { beginWithin, shortForClaim } from '../budget/budget-rules.ts'
import type { CommandOf, Expanded, Turn } from '../command.ts'
import { raiseDue } from '../gates/gate-timeouts.ts'
import type { Asking } from '../gates/open-gate.ts'
import type { TaskName } from '../id.ts'
import { mayRunAgain } from '../plan-rules/effect.ts'
import { checkGraph } from '../plan-rules/graph-rules.ts'
import { attemptsUsedUp } from '../recovery/breaker.ts'
import { continueRecoveries } from '../recovery/finished-remedy.ts'
import { abort } from '../recovery/follow-recovery.ts'
import type { Prepared } from '../result.ts'
import { proposeByRule } from '../revisions/proposals.ts'
import { compensated, compensationEffect } from '../rollback/compensation.ts'
import { finishRollback } from '../rollback/rollback-rules.ts'
import { goneBackIn, type TaskState } from '../state/state.ts'
import { allTasks, isStartable, isTimed, isUnjudged, runningInOrder } from '../state/task-index.ts'
import { conclude } from './conclude.ts'
import { type DecisionDraft, emit } from './decision.ts'
import { pauseForShortage } from './lifecycle.ts'
import { lose } from './lost-attempt.ts'
import { refresh } from './readiness.ts'
import { checkOutputs } from './reopen.ts'
import { openAsked, startInLine, wantsAttempt } from './scheduling.ts'
import { settle } from './settle.ts'

// A `for_each` with computed items: when it is due, the engine computes them, and a revision of the plan binds them. This is an attempt
// that begins and ends in the turn that reports it, so a crash before that turn has no effect. Reporting the same items again changes
// nothing.

function expandFound(draft: DecisionDraft, found: readonly Expanded[]): void {
  for (const one of found) {
    const { state } = draft
    const task = state.tasks.get(one.task)
    if (state.status !== 'active' || state.compensating !== null || task?.definition.action.type !== 'items') continue
    // The definition changed meanwhile: the items are computed again.
    if (!isStartable(task) || task.visit !== one.visit || state.hash !== one.from) continue
    bind(draft, task, one)
  }
}

function bind(draft: DecisionDraft, task: TaskState, { items, definition, hash }: Expanded): void {
  const { id, action, when } = task.definition
  if (action.type !== 'items') return
  if (isUnjudged(task)) emit(draft, { type: 'criterion.judged', task: id, criterion: when ?? '', holds: true })
  emit(draft, {
    type: 'attempt.started',
    task: id,
    visit: task.visit,
    attempt: task.attempt + 1,
    ...goneBackIn(task),
  })
  const obstacle = hash === draft.state.hash ? null : whyNot(draft, definition)
  if (obstacle !== null) {
    const failure = { class: 'logic', message: `the items of '${action.of}' cannot be used: ${obstacle}` } as const
    settle(draft, task, { status: 'failed', failure: { ...failure, retryable: true } })
    return
  }
  if (hash !== draft.state.hash) {
    abandonRemoved(draft, definition)
    const rationale = `for_each of '${action.of}' gives ${items.length} item${items.length === 1 ? '' : 's'}`
    // Journals from before tasks had authors omit it.
    const writer = draft.state.sandbox === 'by-task' ? ({ writer: 'items' } as const) : {}
    emit(draft, { type: 'plan.revised', revision: draft.state.revision + 1, definition, hash, rationale, ...writer })
  }
  settle(draft, task, { status: 'succeeded', outputs: { items } })
  refresh(draft, draft.state.order)
}

/** Why the expansion is refused: it would lose work, or the expanded plan is invalid. */
function whyNot(draft: DecisionDraft, definition: Expanded['definition']): string | null {
  const fault = checkGraph(definition)[0]
  if (fault !== undefined) return fault.message
  const kept = new Set(allTasks(definition).map(task => task.id))
  for (const task of draft.state.order) {
    if (kept.has(task.definition.id)) continue
    if (task.status === 'running' || task.gate !== null)
      return `'${task.definition.id}' is ${task.status}, but its item is no longer in the list`
  }
  return null
}

/** Children of removed items that have begun are abandoned. */
function abandonRemoved(draft: DecisionDraft, definition: Expanded['definition']): void {
  const kept = new Set(allTasks(definition).map(task => task.id))
  for (const task of draft.state.order) {
    if (kept.has(task.definition.id) || (task.attempt === 0 && task.visit === 1)) continue
    emit(draft, { type: 'task.abandoned', task: task.definition.id, reason: 'its item is no longer in the list' })
  }
}

export function turn(draft: DecisionDraft, command: Turn): void {
  const { state } = draft
  for (const restored of command.restored ?? [])
    if (state.tasks.has(restored.task)) emit(draft, { type: 'workspace.restored', ...restored })
  for (const notice of command.notices ?? []) emit(draft, { type: 'notice.sent', ...notice })
  for (const { task: name, visit, attempt, result } of command.settled ?? []) {
    const task = state.tasks.get(name)
    const open = task?.status === 'running' && task.claim === null && task.visit === visit && task.attempt === attempt
    if (task !== undefined && open) settle(draft, task, result)
  }
  for (const { task, result } of command.compensated ?? [])
    if (state.compensation === task) compensated(draft, task, result)
  for (const { task, visit, operations, failure } of command.committed ?? []) {
    if (state.uncommitted.some(one => one.task === task && one.visit === visit))
      emit(draft, { type: 'git.committed', task, visit, operations, failure })
  }
  if (command.rolledBack !== undefined) finishRollback(draft, command.rolledBack)
  continueRecoveries(draft)
  for (const proposed of command.proposed ?? []) proposeByRule(draft, proposed)
  if (command.shortage !== undefined) pauseForShortage(draft, command.shortage)
  readyDue(draft)
  raiseDue(draft)
  endWornOut(draft)
  const held = new Set(command.held)
  if (command.start !== false) {
    expandFound(draft, command.expanded ?? [])
    startInLine(draft, preparedFor(draft, command), askingFor(draft, command), held)
    compensateNext(draft)
  } else openAsked(draft, preparedFor(draft, command), askingFor(draft, command))
  askForClaims(draft)
  const before = draft.events.length
  conclude(draft)
  // Concluding may have readied the final task.
  if (draft.events.length > before && command.start !== false) startInLine(draft, NONE, NONE, held)
}

/** Ends a plan that is out of attempts and would begin another. */
function endWornOut(draft: DecisionDraft): void {
  const cap = attemptsUsedUp(draft.state)
  if (cap !== null && wantsAttempt(draft.state, draft.now)) abort(draft, cap, undefined)
}

/** An external task is ready without budget for it: a person is asked, or an attempt that did not begin fails, with the usual recovery. */
function askForClaims(draft: DecisionDraft): void {
  const task = shortForClaim(draft.state, draft.now)
  const begin = task === null ? 'later' : beginWithin(draft, task, 1)
  if (task === null || begin === 'later' || begin.failure === undefined) return
  const { visit, attempt } = task
  const started = { type: 'attempt.started', task: task.definition.id, visit, attempt: attempt + 1 } as const
  emit(draft, { ...started, ...goneBackIn(task), begun: false })
  settle(draft, task, { status: 'failed', failure: begin.failure })
}

function readyDue(draft: DecisionDraft): void {
  // A set, because two timers of one task may be due together if the wall clock did not move.
  let due: Set<TaskName> | null = null
  for (;;) {
    const timer = draft.state.timers.peek(isTimed)
    if (timer === undefined || timer.at > draft.now) break
    draft.state.timers.pop(isTimed)
    due ??= new Set()
    due.add(timer.task.definition.id)
  }
  if (due !== null) emit(draft, { type: 'task.readied', tasks: [...due] })
}

/** Compensations run one by one, last completed first, and only when nothing else runs. */
function compensateNext(draft: DecisionDraft): void {
  const { state } = draft
  if (state.compensating === null || state.compensation !== null || state.running.size > 0) return
  if (state.compensationAt !== null && state.compensationAt > draft.now) return
  const name = state.compensating.at(-1)
  const action = name === undefined ? undefined : state.tasks.get(name)?.definition.compensate
  if (name !== undefined && action !== undefined) emit(draft, { type: 'compensation.started', task: name, action })
}

function preparedFor(draft: DecisionDraft, command: Turn): ReadonlyMap<TaskState, Prepared> {
  if (command.prepared === undefined) return NONE
  const prepared = new Map<TaskState, Prepared>()
  for (const { task: name, visit, prepared: made } of command.prepared) {
    const task = draft.state.tasks.get(name)
    if (task !== undefined && task.visit === visit) prepared.set(task, made)
  }
  return prepared
}

/** Shared, because most turns have no preparations. */
const NONE: ReadonlyMap<TaskState, never> = new Map<TaskState, never>()

function askingFor({ state }: DecisionDraft, { gates }: Turn): ReadonlyMap<TaskState, Asking> {
  if (gates === undefined) return NONE
  const asking = new Map<TaskState, Asking>()
  for (const { task: name, visit, from, question, voids } of gates) {
    const task = state.tasks.get(name)
    if (task?.visit === visit && from === state.hash) asking.set(task, { question, voids })
  }
  return asking
}

export function recover(draft: DecisionDraft, command: CommandOf<'recover'>): void {
  for (const task of runningInOrder(draft.state))
    lose(draft, task, command.reason, 'by the world', { lastSign: command.lastSign })
  const name = draft.state.compensation
  if (name !== null && !mayRunAgain(compensationEffect(draft.state, name))) {
    const failure = {
      class: 'unknown',
      message: `${command.reason}; whether the undo step took effect is unknown`,
      hint: 'check, and undo by hand what is left',
      retryable: false,
    } as const
    compensated(draft, name, { status: 'failed', failure })
  }
  if (command.lost !== undefined) checkOutputs(draft, command.lost)
  conclude(draft)
}
