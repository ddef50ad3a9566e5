// The state after an attempt began, ended or was lost. Part of `evolve`.

import { actionFacts } from '../actions/actions.ts'
import { attemptEnded, attemptStarted } from '../budget/ledger.ts'
import type { Reset } from '../command.ts'
import type { EventOf, Upload } from '../event.ts'
import { CONSENT } from '../gates/consent.ts'
import type { Millis, TaskName } from '../id.ts'
import { SIGN_SLACK_MS } from '../limits.ts'
import { breakersAfter, countsForBreaker } from '../recovery/breaker.ts'
import type { FailureClass, Prepared, Result } from '../result.ts'
import type { TaskStatus } from '../status.ts'
import type { PlanState, SetBack, TaskState } from './state.ts'
import { NO_TASKS, NOTHING, setStatus } from './task-index.ts'

// Transitions of one task between its visits: it ends, completes, is reopened or reset. Only `evolve` calls these; they validate nothing.

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
  // A failed task may be in recovery.
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
  // It was running when the plan was cancelled or a rollback began: its effect is compensated too, unless it is kept.
  const { rollback } = state
  if (rollback === null || rollback.resets.some(to => to.task === id)) state.compensating?.push(id)
}

/** Opens the next visit: counters are reset, the journal keeps the earlier visits. */
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
  task.conversation = undefined
  // The task made from `done` waits again for all others. Any other task keeps its activation.
  task.dormant = task.definition.action.type === 'verify'
  if (task.dormant) task.routedBy = NO_TASKS
  task.reason = reason
  // `completedOrder` keeps it, so that the effect of the earlier visit can be compensated.
  setStatus(state, task, 'pending')
}

/** A new visit with the state after a rollback. The task is also open when its effect was compensated during the rollback. */
export function reset(state: PlanState, task: TaskState, to: Reset, now: Millis): void {
  const isUndone = to.status === 'completed' && state.compensated.includes(to.task)
  const status = isUndone ? 'pending' : to.status
  reopen(state, task, to.reason ?? 'rolled back')
  task.goneBack = to.visits === undefined ? task.goneBack + 1 : task.visit - to.visits
  task.dormant = to.dormant === true
  task.routedBy = to.routedBy ?? NO_TASKS
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
  | 'artifact.uploaded'
>

export function evolveAttempt(state: PlanState, task: TaskState, event: AttemptEvent, now: Millis): void {
  if ('result' in event && event.result.programs !== undefined)
    state.programs = { ...state.programs, ...event.result.programs }
  if (event.type !== 'report.refused' && event.type !== 'artifact.uploaded') task.uploads = undefined
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
      // Kept over retries and rollbacks: changes outside the scope from an earlier claim concern the next report.
      if (event.around !== undefined) task.around ??= event.around
      if (
        event.preimage !== undefined ||
        event.before !== undefined ||
        event.inputHash !== undefined ||
        event.reserves !== undefined ||
        task.prepared?.ended !== undefined
      ) {
        // An attempt that begins uses up the choices about edits and the end of the previous attempt.
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
      if (task.race !== undefined) task.race = { ...task.race, over: true }
      if (state.budget !== null) attemptEnded(state.budget, event, measured(event.result), now)
      task.result = event.result
      noteOverwritten(state, task, event.result, now)
      task.claim = null
      state.breakers = breakersAfter(state.breakers, task.definition, false)
      endedMeanwhile(state, event.task)
      // An open text criterion keeps the task open; a gate will ask for the verdict.
      if (event.result.verdicts?.some(verdict => verdict.holds === null) === true) setStatus(state, task, 'waiting')
      else complete(state, task, now)
      return
    case 'attempt.failed':
      if (event.result.beside === undefined) task.around = undefined
      if (task.race !== undefined) task.race = { ...task.race, over: true }
      if (state.budget !== null) attemptEnded(state.budget, event, measured(event.result), now)
      task.result = event.result
      noteOverwritten(state, task, event.result, now)
      // Nothing was tried, because a person is asked first.
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
      // An attempt that did not begin does not count against a cap.
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
      // With changes outside the scope the checks did not run, so that report does not count against the limit.
      if (event.failure.code !== 'outside-scope') task.refused++
      task.reason = event.failure.message
      return
    case 'artifact.uploaded':
      task.uploads = withPart(task.uploads, event)
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

function withPart(
  uploads: readonly Upload[] = [],
  { name, sha256, bytes, from, part, partBytes }: EventOf<'artifact.uploaded'>,
): readonly Upload[] {
  // The first part begins anew.
  const before = from === 0 ? undefined : uploads.find(one => one.name === name)
  const parts = [...(before?.parts ?? []), part]
  return [...uploads.filter(one => one.name !== name), { name, sha256, bytes, received: from + partBytes, parts }]
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

/** Limits the state; the journal and its manifests have all of them. */
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

/** Overwritten edits can be restored like reverted ones. */
function noteOverwritten(state: PlanState, { definition, prepared }: TaskState, { wrote }: Result, at: Millis): void {
  const saved = prepared?.preimage ?? prepared?.before
  if (wrote?.overwrote === undefined || saved === undefined) return
  const { paths: files, more = 0 } = wrote.overwrote
  rememberSetBack(state, { task: definition.id, saved, files, more, how: 'overwritten' }, at)
}

/** For tasks whose files are compared: later changes are a person's work. */
function endedAt(task: TaskState, ended: NonNullable<Prepared['ended']>): void {
  const isLookedAt = task.prepared?.preimage !== undefined || task.prepared?.before !== undefined
  // Nothing ran, so the end of the previous attempt is still valid.
  if (task.prepared?.idle === true) return
  if (isLookedAt) task.prepared = { ...task.prepared, ended }
}

/** A logic failure shows that the capability works; a refusal or an interruption shows nothing. */
function tellBreakers(state: PlanState, { definition }: TaskState, kind: FailureClass): void {
  if (countsForBreaker(kind) || kind === 'logic')
    state.breakers = breakersAfter(state.breakers, definition, countsForBreaker(kind))
}

/** Remembered, because its consequences follow only when the rollback is over: the rollback decides about the tasks first. */
function endedMeanwhile(state: PlanState, task: TaskName): void {
  if (state.rollback !== null) state.rollback = { ...state.rollback, ended: [...state.rollback.ended, task] }
}
