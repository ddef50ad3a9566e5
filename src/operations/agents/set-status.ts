// Sets the status of a task in one call, for agents that keep a list of steps. Every status is an order with its rules: running is a claim,
// done is a report, and reports are checked.
//
//   running: claim      done, failed: (claim,) report      skipped: skip      pending: reopened if it has ended

import { advise, quoted } from '../../domain/hint.ts'
import type { PlanId, TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import { ENDED } from '../../domain/status.ts'
import { type Unaccepted, unacceptedIn } from '../../domain/views/board.ts'
import type { SubmitOptions, Submitted } from '../../engine/engine.ts'
import { reportTask, type WorkReport } from '../report-task.ts'
import type { CallerEngine } from '../run-plan.ts'

export type WantedStatus = 'running' | 'done' | 'failed' | 'skipped' | 'pending'

export interface StatusAsk {
  readonly status: WantedStatus
  readonly outputs?: JsonObject | undefined
  readonly outcome?: string | undefined
  /** Patterns of changes outside the scope that the task did not make. */
  readonly notMine?: readonly string[] | undefined
  /** How it is known to be done; stored with the outputs as `evidence`. */
  readonly evidence?: string | undefined
  readonly reason?: string | undefined
  /** For a failure: may it be retried, and which failure mode is it? */
  readonly retryable?: boolean | undefined
  readonly mode?: string | undefined
  /** The token of the claim; without one the claim must be the caller's. */
  readonly token?: string | undefined
  /** The caller's name: `pending` gives up a claim of that name, `running` keeps it. */
  readonly me?: string | undefined
  /** Accept `done` for a completed task, which a report refuses. */
  readonly mayBeDone?: boolean
  readonly submit?: SubmitOptions
}

type Accepted = Extract<Submitted, { readonly ok: true }>

export type StatusSet =
  | { readonly status: 'set'; readonly done: Accepted; readonly unaccepted: Unaccepted | null }
  | { readonly status: 'unchanged' }
  | { readonly status: 'refused'; readonly refusal: Refusal }

export async function setStatus(
  engine: CallerEngine,
  { plan, task }: { readonly plan: PlanId; readonly task: TaskName },
  ask: StatusAsk,
): Promise<StatusSet> {
  const card = await engine.ask({ type: 'task', plan, task })
  if (card === null) return { status: 'refused', refusal: refuse('not-found', `there is no task '${task}'`) }
  const { submit = {} } = ask
  switch (ask.status) {
    case 'running':
      if (card.claimedBy !== null && card.claimedBy === ask.me) return { status: 'unchanged' }
      return outcome(await engine.submit(plan, { type: 'claim', task }, submit))
    case 'skipped':
      if (card.status === 'skipped') return { status: 'unchanged' }
      return outcome(await engine.submit(plan, { type: 'skip', task, reason: ask.reason ?? 'no reason given' }, submit))
    case 'pending':
      if (card.status === 'pending' || card.status === 'ready') return { status: 'unchanged' }
      if (card.claimedBy !== null && card.claimedBy === ask.me) {
        const why = ask.reason === undefined ? {} : { reason: ask.reason }
        return outcome(await engine.submit(plan, { type: 'release', task, ...why }, submit))
      }
      if (!ENDED.has(card.status)) return { status: 'refused', refusal: notEnded(task) }
      return outcome(await engine.submit(plan, { type: 'retry', task, reason: ask.reason }, submit))
    default:
      if (ask.status === 'done' && ask.mayBeDone === true && card.status === 'completed') return { status: 'unchanged' }
      return await report(engine, { plan, task }, card.claimedBy !== null, ask)
  }
}

async function report(
  engine: CallerEngine,
  target: { readonly plan: PlanId; readonly task: TaskName },
  isClaimed: boolean,
  ask: StatusAsk,
): Promise<StatusSet> {
  const { submit = {} } = ask
  let { token } = ask
  if (!isClaimed && token === undefined) {
    // The idempotency key belongs to the report. The claim goes without it, and only if the task is unclaimed.
    const claimed = await engine.submit(target.plan, { type: 'claim', task: target.task })
    if (!claimed.ok) return { status: 'refused', refusal: claimed.refusal }
    token = claimed.claim?.token
  }
  const work = workReport(ask)
  const reported = await reportTask(engine, target, work, { token, submit })
  if (reported.status === 'refused') return reported
  return { status: 'set', done: reported.accepted, unaccepted: reported.unaccepted }
}

function workReport({ status, outputs, outcome, notMine, evidence, reason, retryable, mode }: StatusAsk): WorkReport {
  if (status !== 'done')
    return { status: 'failed', why: { message: reason ?? 'reported as failed', retryable }, mode, outputs }
  const hasEvidence = evidence === undefined || outputs?.evidence !== undefined
  return { status: 'done', outputs: hasEvidence ? outputs : { ...outputs, evidence }, outcome, notMine }
}

const outcome = (done: Submitted): StatusSet =>
  done.ok
    ? { status: 'set', done, unaccepted: unacceptedIn(done.events) }
    : { status: 'refused', refusal: done.refusal }

const notEnded = (task: TaskName): Refusal =>
  refuse(
    'illegal-transition',
    `'${task}' has not ended, so it cannot be opened again`,
    advise`report it as done or failed first, or see ${quoted('next', { explain: true })}`,
  )
