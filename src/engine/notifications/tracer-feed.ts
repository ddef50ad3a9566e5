// Tells a tracer what ended, from the journal: what is traced is what happened, and the loop knows nothing of it.

import type { PlanId } from '../../domain/id.ts'
import { OpenSpans } from '../../domain/views/trace.ts'
import type { Entry, Position } from '../../stores/store.ts'
import { refusesSending } from '../attempts/policy-use.ts'
import type { Rooms } from '../rooms.ts'

export interface TracingOptions {
  readonly after: Position
  readonly plan: PlanId
  /** Whose entries are ours to tell of, so that two processes do not tell of the same. */
  readonly takes: (entry: Entry) => boolean
  /** When it fires, what is written by then is still told. */
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
  // Stopped because the plan rests: its last entries may not have come round yet.
  for (const entry of await rooms.store.read(plan, { after: version }))
    if (entry.position > after && takes(entry)) await tell(entry)
}

/** Tells the tracer of one entry after the other, in the order in which it is given them. Never fails. */
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
