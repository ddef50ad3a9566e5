// What is true after an attempt began, ended or was lost. Part of `evolve`.

import { isTrouble, reckoned } from './breaker.ts'
import { CONSENT } from './consent.ts'
import type { EventOf } from './event.ts'
import type { Millis, TaskName } from './id.ts'
import { SIGN_SLACK_MS } from './limits.ts'
import type { FailureClass, Prepared } from './result.ts'
import type { PlanState, TaskState } from './state.ts'
import { setStatus } from './task-graph.ts'
import { complete, end } from './visit.ts'

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
      if (state.rules > 2) state.attempts++
      task.claim = event.claim ?? null
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
      task.result = event.result
      task.claim = null
      if (state.rules > 2) state.breakers = reckoned(state.breakers, task.definition, false)
      endedMeanwhile(state, event.task)
      // Prose that nobody has judged yet keeps the task open; the gate that follows asks for the verdict.
      if (event.result.verdicts?.some(verdict => verdict.holds === null) === true) setStatus(state, task, 'waiting')
      else complete(state, task, now)
      return
    case 'attempt.failed':
      task.result = event.result
      // Nothing was tried: somebody is asked first.
      if (event.result.failure.code !== CONSENT) task.failures++
      task.handled = false
      if (state.rules > 2) tellBreakers(state, task, event.result.failure.class)
      endedAt(state, task, { how: 'failed', at: now })
      endedMeanwhile(state, event.task)
      end(state, task, 'failed', now, event.result.failure.message)
      return
    case 'attempt.lost':
      if (event.byUs !== true) task.lost++
      // What did not begin is no attempt that a cap counts.
      if (event.begun === false && state.rules > 2) state.attempts--
      task.claim = null
      task.reason = event.reason
      if (event.byUs === true) endedAt(state, task, { how: 'interrupted', at: now })
      else
        endedAt(state, task, {
          how: 'lost',
          ...(event.lastSign === undefined ? {} : { at: event.lastSign + SIGN_SLACK_MS }),
        })
      setStatus(state, task, 'ready')
      return
    case 'attempt.parked':
      task.gate = { asks: { type: 'unknown-outcome', evidence: event.evidence }, since: now, hash: null }
      setStatus(state, task, 'waiting')
      return
    case 'report.refused':
      task.refused++
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

const some = (chosen: Prepared['chosen'], ended: Prepared['ended']): Pick<Prepared, 'chosen' | 'ended'> => ({
  ...(chosen === undefined ? {} : { chosen }),
  ...(ended === undefined ? {} : { ended }),
})

/** Remembered where files are looked at: what changed later is a person's work. */
function endedAt({ rules }: PlanState, task: TaskState, ended: NonNullable<Prepared['ended']>): void {
  const isLookedAt = task.prepared?.preimage !== undefined || task.prepared?.before !== undefined
  // Nothing ran, so whatever was true of the attempt before is still so.
  if (task.prepared?.idle === true) return
  if (rules > 3 && isLookedAt) task.prepared = { ...task.prepared, ended }
}

/** What said no by its own judgement works; what was refused or stopped by us tells nothing. */
function tellBreakers(state: PlanState, { definition }: TaskState, kind: FailureClass): void {
  if (isTrouble(kind) || kind === 'logic') state.breakers = reckoned(state.breakers, definition, isTrouble(kind))
}

/** Told to nobody before the rollback is over: it says first how the tasks stand. */
function endedMeanwhile(state: PlanState, task: TaskName): void {
  if (state.rollback !== null) state.rollback = { ...state.rollback, ended: [...state.rollback.ended, task] }
}
