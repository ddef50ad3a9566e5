// Reports the result of an external task, and keeps its claim alive until then. A report of success is judged by the criteria of the task,
// so it may be recorded and not accepted.

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
      /** Patterns of changes outside the scope that the task did not make. */
      readonly notMine?: readonly string[] | undefined
    }
  | {
      readonly status: 'failed'
      readonly why: FailureReport
      readonly outputs?: JsonObject | undefined
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
      /** Set if success was reported and criteria do not hold. */
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

export function reportOrder(task: TaskName, report: WorkReport, token?: string): Extract<Order, { type: 'report' }> {
  const { outputs } = report
  const left = outputs === undefined ? {} : { outputs }
  const claimed = token === undefined ? {} : { token }
  if (report.status === 'done') {
    const way = report.outcome === undefined ? {} : { outcome: report.outcome }
    const disclaimed = report.notMine === undefined ? {} : { notMine: report.notMine }
    return { type: 'report', task, ...claimed, ...disclaimed, result: { status: 'succeeded', ...way, ...left } }
  }
  const known = report.mode === undefined ? {} : { mode: report.mode }
  return {
    type: 'report',
    task,
    ...claimed,
    result: { status: 'failed', ...known, failure: failureOf(report.why), ...left },
  }
}

/** Retryable failures default to class transient, and transient ones to retryable. */
function failureOf({ message, class: given, retryable: again, hint, code, retryAfterMs }: FailureReport): Failure {
  const retryable = again ?? given === 'transient'
  return {
    class: given ?? (retryable ? 'transient' : 'logic'),
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

/** A heartbeat: extends the claim. Without a token the claim must be the caller's. */
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
