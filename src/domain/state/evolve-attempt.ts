// What is true after an attempt began, ended or was lost. Part of `evolve`.

import { actionFacts } from '../actions/actions.ts'
import { attemptEnded, attemptStarted } from '../budget/ledger.ts'
import type { Reset } from '../command.ts'
import type { EventOf } from '../event.ts'
import { CONSENT } from '../gates/consent.ts'
import type { Millis, TaskName } from '../id.ts'
import { SIGN_SLACK_MS } from '../limits.ts'
import { breakersAfter, countsForBreaker } from '../recovery/breaker.ts'
import type { FailureClass, Prepared, Result } from '../result.ts'
import type { TaskStatus } from '../status.ts'
import type { PlanState, SetBack, TaskState } from './state.ts'
import { NOBODY, NOTHING, setStatus } from './task-index.ts'

// What happens to one task within its visits: it ends, it completes, its next visit is opened, a rollback sets it. Only `evolve`
// calls these; they believe what they are told.

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
  state.sinceCheckpoint++
  const changes = task.result?.wrote?.changes ?? null
  if (changes !== null && state.definition.git?.commits === 'task')
    state.uncommitted = [...state.uncommitted, { task: id, visit: task.visit, changes }]
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
  task.waitsSince = null
  task.escalated = NOTHING
  // The task made from `done` waits again until everything else has ended. Any other keeps the way that led here.
  task.dormant = task.definition.action.type === 'verify'
  if (task.dormant) task.routedBy = NOBODY
  task.reason = reason
  // What an earlier visit did stays to be compensated, so `completedOrder` keeps it.
  setStatus(state, task, 'pending')
}

/** A visit of its own for how the task stands after a rollback. It is open as well when what it had done was compensated on the way. */
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

type AttemptEvent = EventOf<
  | 'attempt.started'
  | 'attempt.succeeded'
  | 'attempt.failed'
  | 'attempt.lost'
  | 'attempt.parked'
  | 'retry.scheduled'
  | 'report.refused'
>

export function evolveAttempt(state: PlanState, task: TaskState, event: AttemptEvent, now: Millis): void {
  switch (event.type) {
    case 'attempt.started':
      task.attempt = event.attempt
      task.refused = 0
      task.startedAt = now
      if (task.definition.timeboxMs !== undefined) task.visitAt ??= now
      if (actionFacts(task.definition.action).waits === true) task.waitsSince ??= now
      state.attempts++
      if (state.budget !== null) attemptStarted(state.budget, task.definition, event, now)
      task.claim = event.claim ?? null
      // Also over retries and rollbacks: what an earlier claim left outside the scope is for whoever reports the task next.
      if (event.around !== undefined) task.around ??= event.around
      if (
        event.preimage !== undefined ||
        event.before !== undefined ||
        event.inputHash !== undefined ||
        event.reserves !== undefined ||
        task.prepared?.ended !== undefined
      ) {
        // What was chosen about edits, and how the attempt before it ended, is used up; not by one that did not begin.
        const { chosen, ended, idle: _, ...kept } = task.prepared ?? {}
        task.prepared = {
          ...kept,
          ...(event.begun === false ? { idle: true as const, ...some(chosen, ended) } : {}),
          ...(event.reserves === undefined ? {} : { reserves: event.reserves }),
          ...(event.preimage === undefined ? {} : { preimage: event.preimage }),
          ...(event.before === undefined ? {} : { before: event.before }),
          ...(event.inputHash === undefined ? {} : { inputHash: event.inputHash }),
        }
      }
      setStatus(state, task, 'running')
      return
    case 'attempt.succeeded':
      task.around = undefined
      if (state.budget !== null) attemptEnded(state.budget, event, measured(event.result), now)
      task.result = event.result
      noteOverwritten(state, task, event.result, now)
      task.claim = null
      state.breakers = breakersAfter(state.breakers, task.definition, false)
      endedMeanwhile(state, event.task)
      // Prose that nobody has judged yet keeps the task open; the gate that follows asks for the verdict.
      if (event.result.verdicts?.some(verdict => verdict.holds === null) === true) setStatus(state, task, 'waiting')
      else complete(state, task, now)
      return
    case 'attempt.failed':
      if (event.result.beside === undefined) task.around = undefined
      if (state.budget !== null) attemptEnded(state.budget, event, measured(event.result), now)
      task.result = event.result
      noteOverwritten(state, task, event.result, now)
      // Nothing was tried: somebody is asked first.
      if (event.result.failure.code !== CONSENT) task.failures++
      task.handled = false
      task.waitsSince = null
      tellBreakers(state, task, event.result.failure.class)
      endedAt(task, { how: 'failed', at: now })
      endedMeanwhile(state, event.task)
      end(state, task, 'failed', now, event.result.failure.message)
      return
    case 'attempt.lost':
      if (state.budget !== null) {
        const ms = event.lastSign === undefined ? null : Math.max(0, event.lastSign - (task.startedAt ?? now))
        attemptEnded(state.budget, event, { outputBytes: null, ms, isIdle: event.begun === false }, now)
      }
      if (event.byUs !== true) task.lost++
      // What did not begin is no attempt that a cap counts.
      if (event.begun === false) state.attempts--
      task.claim = null
      task.reason = event.reason
      if (event.until !== undefined) {
        task.retryAt = event.until
        task.waitsSince ??= task.startedAt
      }
      if (event.byUs === true) endedAt(task, { how: 'interrupted', at: now })
      else
        endedAt(task, {
          how: 'lost',
          at: event.lastSign === undefined ? undefined : event.lastSign + SIGN_SLACK_MS,
        })
      setStatus(state, task, 'ready')
      return
    case 'attempt.parked':
      task.gate = { asks: { type: 'unknown-outcome', evidence: event.evidence }, since: now, hash: null }
      setStatus(state, task, 'waiting')
      return
    case 'report.refused':
      // The checks were not run, so none of the tries that they may fail is used up.
      if (event.failure.code !== 'outside-scope') task.refused++
      task.reason = event.failure.message
      return
    case 'retry.scheduled':
      task.retryAt = event.at
      task.endedAt = null
      setStatus(state, task, 'ready')
      return
    default:
      event satisfies never
  }
}

const measured = ({ log, durationMs }: Result) => ({
  outputBytes: log?.bytes ?? 0,
  ms: durationMs ?? null,
  isIdle: false,
})

const some = (chosen: Prepared['chosen'], ended: Prepared['ended']): Pick<Prepared, 'chosen' | 'ended'> => ({
  chosen,
  ended,
})

/** So many times are remembered, each with so many paths; the journal and the manifests it names hold all of them. */
const RESTORED_MAX = 20
const PATHS_MAX = 10

export function rememberSetBack(
  state: PlanState,
  {
    task,
    saved,
    files = [],
    more = 0,
    how,
  }: Pick<EventOf<'workspace.restored'>, 'task' | 'saved' | 'files' | 'more'> & Pick<SetBack, 'how'>,
  at: Millis,
): void {
  const paths = files.slice(0, PATHS_MAX)
  const rest = more + files.length - paths.length
  const one = { task, at, saved, paths, more: rest, how }
  state.restored = [...state.restored, one].slice(-RESTORED_MAX)
}

/** Edits it wrote over can be restored, as those that were set back. */
function noteOverwritten(state: PlanState, { definition, prepared }: TaskState, { wrote }: Result, at: Millis): void {
  const saved = prepared?.preimage ?? prepared?.before
  if (wrote?.overwrote === undefined || saved === undefined) return
  const { paths: files, more = 0 } = wrote.overwrote
  rememberSetBack(state, { task: definition.id, saved, files, more, how: 'overwritten' }, at)
}

/** Remembered where files are looked at: what changed later is a person's work. */
function endedAt(task: TaskState, ended: NonNullable<Prepared['ended']>): void {
  const isLookedAt = task.prepared?.preimage !== undefined || task.prepared?.before !== undefined
  // Nothing ran, so whatever was true of the attempt before is still so.
  if (task.prepared?.idle === true) return
  if (isLookedAt) task.prepared = { ...task.prepared, ended }
}

/** What said no by its own judgement works; what was refused or stopped by us tells nothing. */
function tellBreakers(state: PlanState, { definition }: TaskState, kind: FailureClass): void {
  if (countsForBreaker(kind) || kind === 'logic')
    state.breakers = breakersAfter(state.breakers, definition, countsForBreaker(kind))
}

/** Told to nobody before the rollback is over: it says first how the tasks stand. */
function endedMeanwhile(state: PlanState, task: TaskName): void {
  if (state.rollback !== null) state.rollback = { ...state.rollback, ended: [...state.rollback.ended, task] }
}
