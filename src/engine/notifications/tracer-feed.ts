// Feeds the tracer from the journal, so that traces show what really happened and the loop knows nothing of them.

import type { PlanId } from '../../domain/id.ts'
import { OpenSpans } from '../../domain/views/trace.ts'
import type { Entry, Position } from '../../stores/store.ts'
import { refusesSending } from '../attempts/policy-checks.ts'
import type { Rooms } from '../rooms.ts'

export interface TracingOptions {
  readonly after: Position
  readonly plan: PlanId
  /** Entries that this process traces; others are traced by their own process. */
  readonly takes: (entry: Entry) => boolean
  /** Entries written before it fires are still traced. */
  readonly stop: AbortSignal
}

const PLANS_MAX = 1_000

export async function traceJournal(rooms: Rooms, { after, plan, takes, stop }: TracingOptions): Promise<void> {
  const tell = entryTracer(rooms)
  let version = 0
  for await (const entry of rooms.store.watch({ after, signal: stop, plan })) {
    version = entry.version
    if (takes(entry)) await tell(entry)
  }
  // Stopped because the plan rests: its last entries may not have arrived yet.
  for (const entry of await rooms.store.read(plan, { after: version }))
    if (entry.position > after && takes(entry)) await tell(entry)
}

/** Passes entries to the tracer, in order. Never fails. */
export function entryTracer({ tracer, store }: Rooms): (entry: Entry) => Promise<void> {
  const open = new Map<PlanId, OpenSpans>()
  let last: Promise<void> = Promise.resolve()
  const tell = async (entry: Entry): Promise<void> => {
    const state = await store.state(entry.plan)
    if (state === null || refusesSending(state, 'traces') !== null) return
    const spans = open.get(entry.plan) ?? new OpenSpans()
    if (open.size >= PLANS_MAX) open.delete(open.keys().next().value as PlanId)
    open.set(entry.plan, spans)
    tracer?.export(spans.endedBy(state, entry.events, entry.now))
    if (entry.events.some(({ type }) => type === 'plan.finished')) open.delete(entry.plan)
  }
  return entry => {
    last = last.then(() => tell(entry)).catch(() => {})
    return last
  }
}
