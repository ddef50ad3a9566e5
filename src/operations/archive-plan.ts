// Archives a plan: its tasks are hidden with it, its journal stays. A started plan is cancelled and compensated first. Also waits for an
// event of a plan.

import type { Event } from '../domain/event.ts'
import type { PlanId } from '../domain/id.ts'
import type { Refusal } from '../domain/refusal.ts'
import { PLAN_ENDED } from '../domain/status.ts'
import type { AnswerOf, Engine, Order, Submitted } from '../engine/engine.ts'
import type { CallerEngine } from './run-plan.ts'

type Summary = NonNullable<AnswerOf<'summary'>>

export type PlanArchived =
  | { readonly status: 'archived' }
  | { readonly status: 'gone' }
  | { readonly status: 'moved'; readonly plan: Summary }
  | { readonly status: 'cancelling'; readonly plan: Summary }
  | { readonly status: 'refused'; readonly order: Order['type']; readonly refusal: Refusal }

export interface ArchiveOptions {
  readonly expectedVersion?: number | undefined
  /** An idempotency key; each order derives its own from it. */
  readonly once?: string | undefined
  /** How long to wait for the end of a cancelled plan. */
  readonly waitMs: number
  readonly signal: AbortSignal
}

export async function archivePlan(
  engine: CallerEngine & Pick<Engine, 'watch'>,
  plan: PlanId,
  { expectedVersion, once, waitMs, signal }: ArchiveOptions,
): Promise<PlanArchived> {
  const summary = await engine.ask({ type: 'summary', plan })
  if (summary === null) return { status: 'gone' }
  if (expectedVersion !== undefined && expectedVersion !== summary.version) return { status: 'moved', plan: summary }
  if (summary.archived) return { status: 'archived' }
  const give = async (order: Order): Promise<Submitted> =>
    await engine.submit(plan, order, once === undefined ? {} : { once: `${once}/${order.type}` })
  if (summary.status !== 'draft' && !PLAN_ENDED.has(summary.status)) {
    const cancelled = await give({ type: 'cancel', reason: 'the plan was deleted' })
    if (!cancelled.ok) return { status: 'refused', order: 'cancel', refusal: cancelled.refusal }
    const isEnd = ({ type }: Event): true | null => (type === 'plan.finished' ? true : null)
    const isOver = cancelled.events.some(event => isEnd(event) !== null)
    if (!isOver && (await waitForEvent(engine, cancelled, isEnd, { ms: waitMs, signal })) === null)
      return { status: 'cancelling', plan: summary }
  }
  const archived = await give({ type: 'archive' })
  return archived.ok ? { status: 'archived' } : { status: 'refused', order: 'archive', refusal: archived.refusal }
}

/** The event after this version; null if it did not happen in time, or the wait was aborted. */
export async function waitForEvent<T>(
  engine: Pick<Engine, 'ask' | 'watch'>,
  { plan, version }: { readonly plan: PlanId; readonly version: number },
  found: (event: Event) => T | null,
  { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
): Promise<T | null> {
  const [entry] = (await engine.ask({ type: 'entries', plan, after: version - 1, limit: 1 })) ?? []
  if (entry === undefined || ms <= 0) return null
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(), ms)
  const until = AbortSignal.any([signal, over.signal])
  try {
    for await (const { events } of engine.watch({ plan, after: entry.position, signal: until })) {
      for (const event of events) {
        const what = found(event)
        if (what !== null) return what
      }
    }
    return null
  } finally {
    clearTimeout(timer)
    over.abort()
  }
}
