// Reports how the work on an external task went, and keeps its claim alive until then. What is said to be done is judged by the
// criteria of the task: a report may be recorded and still not be accepted.

import type { PlanId, TaskName } from '../domain/id.ts'
import type { JsonObject } from '../domain/json.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Failure, FailureClass } from '../domain/result.ts'
import { type Unaccepted, unacceptedIn } from '../domain/views/board.ts'
import type { Order, SubmitOptions, Submitted } from '../engine/engine.ts'
import type { CallerEngine } from './run-plan.ts'

type Accepted = Extract<Submitted, { readonly ok: true }>
type Target = { readonly plan: PlanId; readonly task: TaskName }

export type WorkReport =
  | {
      readonly status: 'done'
      readonly outputs?: JsonObject | undefined
      readonly outcome?: string | undefined
      /** Patterns of what changed outside its scope, and is somebody else's. */
      readonly notMine?: readonly string[] | undefined
    }
  | {
      readonly status: 'failed'
      readonly why: FailureReport
      readonly outputs?: JsonObject | undefined
      /** The failure mode it was recognised as. */
      readonly mode?: string | undefined
    }

export interface FailureReport {
  readonly message: string
  readonly class?: FailureClass | undefined
  readonly retryable?: boolean | undefined
  readonly hint?: string | undefined
  readonly code?: string | undefined
  readonly retryAfterMs?: number | undefined
}

export type TaskReported =
  | {
      readonly status: 'recorded'
      readonly accepted: Accepted
      /** It was said to be done, and its criteria say otherwise; null when all is well, and for what is said to have failed. */
      readonly unaccepted: Unaccepted | null
    }
  | { readonly status: 'refused'; readonly refusal: Refusal }

/** `token` is that of the claim; without one, the claim must be the caller's, or there must be none. */
export async function reportTask(
  engine: Pick<CallerEngine, 'submit'>,
  { plan, task }: Target,
  report: WorkReport,
  { token, submit = {} }: { readonly token?: string | undefined; readonly submit?: SubmitOptions } = {},
): Promise<TaskReported> {
  const done = await engine.submit(plan, reportOrder(task, report, token), submit)
  if (!done.ok) return { status: 'refused', refusal: done.refusal }
  return { status: 'recorded', accepted: done, unaccepted: report.status === 'done' ? unacceptedIn(done.events) : null }
}

/** The order that says the same, for whoever gives several as one. */
export function reportOrder(task: TaskName, report: WorkReport, token?: string): Extract<Order, { type: 'report' }> {
  const { outputs } = report
  const left = outputs === undefined ? {} : { outputs }
  const held = token === undefined ? {} : { token }
  if (report.status === 'done') {
    const way = report.outcome === undefined ? {} : { outcome: report.outcome }
    const disclaimed = report.notMine === undefined ? {} : { notMine: report.notMine }
    return { type: 'report', task, ...held, ...disclaimed, result: { status: 'succeeded', ...way, ...left } }
  }
  const known = report.mode === undefined ? {} : { mode: report.mode }
  return {
    type: 'report',
    task,
    ...held,
    result: { status: 'failed', ...known, failure: failureOf(report.why), ...left },
  }
}

/** What may be tried again is passing trouble, and the other way round, unless it is said otherwise. */
function failureOf({ message, class: said, retryable: again, hint, code, retryAfterMs }: FailureReport): Failure {
  const retryable = again ?? said === 'transient'
  return {
    class: said ?? (retryable ? 'transient' : 'logic'),
    message,
    retryable,
    hint,
    code,
    retryAfterMs,
  }
}

export type ClaimKept =
  | { readonly status: 'kept'; readonly accepted: Accepted; readonly expiresInMs: number | null }
  | { readonly status: 'refused'; readonly refusal: Refusal }

/** Still at it: the claim lasts for another while. Without a token the claim must be the caller's. */
export async function keepClaim(
  engine: Pick<CallerEngine, 'submit'>,
  { plan, task }: Target,
  { token, leaseMs }: { readonly token?: string | undefined; readonly leaseMs?: number | undefined },
  submit: SubmitOptions = {},
): Promise<ClaimKept> {
  const lease = leaseMs === undefined ? {} : { leaseMs }
  const done = await engine.submit(plan, { type: 'heartbeat', task, token, ...lease }, submit)
  if (!done.ok) return { status: 'refused', refusal: done.refusal }
  return { status: 'kept', accepted: done, expiresInMs: done.claim?.expiresInMs ?? null }
}
