// Decides what a task asks, or everything that asks for approval at once. A decision is bound to the hash of what was looked at: when
// something else is asked by then, it is refused. Whoever approves names the hash of what they were shown, or says that they approve
// without having seen it; the journal keeps which of the two it was.

import type { PlanId, Sha256, TaskName } from '../domain/id.ts'
import { type Refusal, refuse } from '../domain/refusal.ts'
import type { Waiting } from '../domain/views/summary.ts'
import type { OpenReview, Order, SubmitOptions, Submitted } from '../engine/engine.ts'
import type { CallerEngine } from './run-plan.ts'

type Accepted = Extract<Submitted, { readonly ok: true }>

const HASH_MIN = 8

/** Did they see what is asked about? Its first digits will do. Whoever names no hash is asked for none. */
export const isSeen = (hash: string | undefined, on: string | null): boolean =>
  hash === undefined || (hash.length >= HASH_MIN && on?.startsWith(hash.toLowerCase()) === true)

/** Null when they said what they were shown, or that they have not seen it. `on`: the hash of what is asked; null when it has none. */
export const sightUnsaid = (
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

/** The same of an order that no other operation has made. */
export async function orderUnsaid(
  engine: Pick<CallerEngine, 'ask'>,
  plan: string,
  order: Order,
): Promise<Refusal | null> {
  const decisions = order.type === 'decide' ? [order] : order.type === 'review' ? order.decisions : []
  const silent = decisions.find(({ verdict, hash, unseen }) => verdict === 'approved' && !hash && unseen !== true)
  if (silent === undefined) return null
  const waiting = (await engine.ask({ type: 'summary', plan }))?.waiting.find(({ task }) => task === silent.task)
  return sightUnsaid(`'${silent.task}'`, approvedHash(waiting), silent)
}

const approvedHash = (waiting: Waiting | undefined): Sha256 | null =>
  waiting !== undefined && /^(approval|consent|verdict)$/.test(waiting.asks.type) ? (waiting.hash ?? null) : null

export type GateAnswer = Omit<Extract<Order, { readonly type: 'decide' }>, 'type' | 'task' | 'hash'>

export interface DecideOptions {
  readonly hash?: string | undefined
  /** Whoever names no hash decides about what is asked right now. */
  readonly bind?: boolean
  readonly submit?: SubmitOptions
}

export type GateDecided =
  /** `verdict` is what was understood. */
  | { readonly status: 'decided'; readonly verdict: GateAnswer['verdict']; readonly accepted: Accepted }
  /** It asks about something else than was seen; `on` is null when it is bound to no hash. */
  | { readonly status: 'other-hash'; readonly on: string | null }
  | { readonly status: 'refused'; readonly refusal: Refusal }

export async function decideGate(
  engine: CallerEngine,
  { plan, task }: { readonly plan: PlanId; readonly task: TaskName },
  said: GateAnswer,
  { hash, bind = false, submit = {} }: DecideOptions = {},
): Promise<GateDecided> {
  const summary = await engine.ask({ type: 'summary', plan })
  const waiting = summary?.waiting.find(each => each.task === task)
  const on = waiting?.hash ?? null
  // What does not ask has no hash to compare: that it does not ask is the answer.
  const unsaid = said.verdict === 'approved' ? sightUnsaid(`'${task}'`, approvedHash(waiting), { ...said, hash }) : null
  if (unsaid !== null) return { status: 'refused', refusal: unsaid }
  const isBound = bind && waiting !== undefined
  if (isBound && !isSeen(hash, on)) return { status: 'other-hash', on }
  const seen = isBound ? on : ((hash ?? null) as Sha256 | null)
  // Yes to "did it happen?" says that it did.
  const isDone = said.verdict === 'approved' && waiting?.asks.type === 'unknown-outcome'
  const verdict = isDone ? 'done' : said.verdict
  const submitted = await engine.submit(plan, { type: 'decide', task, ...said, verdict, ...bound(seen) }, submit)
  return submitted.ok
    ? { status: 'decided', verdict, accepted: submitted }
    : { status: 'refused', refusal: submitted.refusal }
}

export type ReviewDecided =
  | { readonly status: 'decided'; readonly accepted: Accepted; readonly review: OpenReview }
  | { readonly status: 'nothing' }
  | { readonly status: 'other-review' }
  | { readonly status: 'refused'; readonly refusal: Refusal }

/** All of the first review, or none: it holds for the plan as it was seen, and whoever moves it meanwhile makes it another review. */
export async function decideReview(
  engine: CallerEngine,
  plan: PlanId,
  said: Pick<GateAnswer, 'rationale' | 'unseen'> & { readonly verdict: 'approved' | 'rejected' },
  { hash, submit = {} }: Omit<DecideOptions, 'bind'> = {},
): Promise<ReviewDecided> {
  const [review] = (await engine.ask({ type: 'reviews', plan })) ?? []
  if (review === undefined) return { status: 'nothing' }
  if (!isSeen(hash, review.hash)) return { status: 'other-review' }
  const unsaid = said.verdict === 'approved' ? sightUnsaid('this review', review.hash, { ...said, hash }) : null
  if (unsaid !== null) return { status: 'refused', refusal: unsaid }
  const decisions = review.items.map(({ task, asks }) => ({
    task: task!,
    ...said,
    ...bound('on' in asks ? asks.on : null),
  }))
  const expectedVersion = submit.expectedVersion ?? review.items[0]!.version
  const submitted = await engine.submit(plan, { type: 'review', decisions }, { ...submit, expectedVersion })
  return submitted.ok
    ? { status: 'decided', accepted: submitted, review }
    : { status: 'refused', refusal: submitted.refusal }
}

const bound = (hash: Sha256 | null): { readonly hash?: Sha256 } => (hash === null ? {} : { hash })
