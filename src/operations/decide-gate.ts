// Decides a question of a task, or all open approvals together. A decision is bound to the hash of what was seen, and is refused if
// something else is asked by then. An approval states the hash that was shown, or that nothing was seen; the journal records which.

import type { PlanId, Sha256, TaskName } from '../domain/id.ts'
import { type Refusal, refuse } from '../domain/refusal.ts'
import type { Waiting } from '../domain/views/summary.ts'
import type { OpenReview, Order, SubmitOptions, Submitted } from '../engine/engine.ts'
import type { CallerEngine } from './run-plan.ts'

type Accepted = Extract<Submitted, { readonly ok: true }>

const HASH_MIN = 8

/** Does the hash, or its first digits, match the question? Without a hash nothing is compared. */
export const isSeen = (hash: string | undefined, on: string | null): boolean =>
  hash === undefined || (hash.length >= HASH_MIN && on?.startsWith(hash.toLowerCase()) === true)

/** Null if the approval states what was shown, or that nothing was seen. `on`: the hash of the question; null if it has none. */
export const missingSight = (
  what: string,
  on: string | null,
  { hash, unseen }: { readonly hash?: string | undefined; readonly unseen?: boolean | undefined },
): Refusal | null =>
  on === null || hash !== undefined || unseen === true
    ? null
    : refuse(
        'invalid',
        `the approval of ${what} does not say what was shown`,
        "add the 'hash' of what was shown, or 'unseen: true' to approve it without having seen it",
      )

/** The same for an order that was not built here. */
export async function missingSightOf(
  engine: Pick<CallerEngine, 'ask'>,
  plan: string,
  order: Order,
): Promise<Refusal | null> {
  const decisions = order.type === 'decide' ? [order] : order.type === 'review' ? order.decisions : []
  const silent = decisions.find(({ verdict, hash, unseen }) => verdict === 'approved' && !hash && unseen !== true)
  if (silent === undefined) return null
  const waiting = (await engine.ask({ type: 'summary', plan }))?.waiting.find(({ task }) => task === silent.task)
  return missingSight(`'${silent.task}'`, approvedHash(waiting), silent)
}

const approvedHash = (waiting: Waiting | undefined): Sha256 | null =>
  waiting !== undefined && /^(approval|consent|verdict)$/.test(waiting.asks.type) ? (waiting.hash ?? null) : null

export type GateAnswer = Omit<Extract<Order, { readonly type: 'decide' }>, 'type' | 'task' | 'hash'>

export interface DecideOptions {
  readonly hash?: string | undefined
  /** Without a hash, decide whatever is asked right now. */
  readonly bind?: boolean
  readonly submit?: SubmitOptions
}

export type GateDecided =
  /** `verdict` as it was recorded: `done` for an approved unknown outcome. */
  | { readonly status: 'decided'; readonly verdict: GateAnswer['verdict']; readonly accepted: Accepted }
  /** Something else is asked than was seen; `on` is null if the question has no hash. */
  | { readonly status: 'other-hash'; readonly on: string | null }
  | { readonly status: 'refused'; readonly refusal: Refusal }

export async function decideGate(
  engine: CallerEngine,
  { plan, task }: { readonly plan: PlanId; readonly task: TaskName },
  answer: GateAnswer,
  { hash, bind = false, submit = {} }: DecideOptions = {},
): Promise<GateDecided> {
  const summary = await engine.ask({ type: 'summary', plan })
  const waiting = summary?.waiting.find(each => each.task === task)
  const on = waiting?.hash ?? null
  // A task that does not ask has no hash: the refusal that it does not ask comes first.
  const missing =
    answer.verdict === 'approved' ? missingSight(`'${task}'`, approvedHash(waiting), { ...answer, hash }) : null
  if (missing !== null) return { status: 'refused', refusal: missing }
  const isBound = bind && waiting !== undefined
  if (isBound && !isSeen(hash, on)) return { status: 'other-hash', on }
  const seen = isBound ? on : ((hash ?? null) as Sha256 | null)
  // For "did it happen?", approval means yes.
  const isDone = answer.verdict === 'approved' && waiting?.asks.type === 'unknown-outcome'
  const verdict = isDone ? 'done' : answer.verdict
  const submitted = await engine.submit(plan, { type: 'decide', task, ...answer, verdict, ...bound(seen) }, submit)
  return submitted.ok
    ? { status: 'decided', verdict, accepted: submitted }
    : { status: 'refused', refusal: submitted.refusal }
}

export type ReviewDecided =
  | { readonly status: 'decided'; readonly accepted: Accepted; readonly review: OpenReview }
  | { readonly status: 'nothing' }
  | { readonly status: 'other-review' }
  | { readonly status: 'refused'; readonly refusal: Refusal }

/** All of the first review, or none: it is valid for the plan as it was seen, and a concurrent change makes it another review. */
export async function decideReview(
  engine: CallerEngine,
  plan: PlanId,
  answer: Pick<GateAnswer, 'rationale' | 'unseen'> & { readonly verdict: 'approved' | 'rejected' },
  { hash, submit = {} }: Omit<DecideOptions, 'bind'> = {},
): Promise<ReviewDecided> {
  const [review] = (await engine.ask({ type: 'reviews', plan })) ?? []
  if (review === undefined) return { status: 'nothing' }
  if (!isSeen(hash, review.hash)) return { status: 'other-review' }
  const missing = answer.verdict === 'approved' ? missingSight('this review', review.hash, { ...answer, hash }) : null
  if (missing !== null) return { status: 'refused', refusal: missing }
  const decisions = review.items.map(({ task, asks }) => ({
    task: task!,
    ...answer,
    ...bound('on' in asks ? asks.on : null),
  }))
  const expectedVersion = submit.expectedVersion ?? review.items[0]!.version
  const submitted = await engine.submit(plan, { type: 'review', decisions }, { ...submit, expectedVersion })
  return submitted.ok
    ? { status: 'decided', accepted: submitted, review }
    : { status: 'refused', refusal: submitted.refusal }
}

const bound = (hash: Sha256 | null): { readonly hash?: Sha256 } => (hash === null ? {} : { hash })
