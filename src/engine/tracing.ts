// Tells a tracer what ended, from the journal: what is traced is what happened, and the loop knows nothing of it.

import type { PlanId } from '../domain/id.ts'
import { OpenSpans } from '../domain/views/trace.ts'
import type { Entry, Position } from '../stores/store.ts'
import type { Rooms } from './rooms.ts'

export interface TracingOptions {
  readonly after: Position
  /** Only this plan; all of them when absent. */
  readonly plan?: PlanId
  /** Whose entries are ours to tell of, so that two processes do not tell of the same. */
  readonly takes: (entry: Entry) => boolean
  /** When it fires, what is written by then is still told. */
  readonly stop: AbortSignal
}

const PLANS_MAX = 1_000

export async function traceJournal(rooms: Rooms, { after, plan, takes, stop }: TracingOptions): Promise<void> {
  const { tracer, store } = rooms
  if (tracer === undefined) return
  const open = new Map<PlanId, OpenSpans>()
  const tell = async (entry: Entry): Promise<void> => {
    if (!takes(entry)) return
    const state = await store.state(entry.plan)
    if (state === null) return
    const spans = open.get(entry.plan) ?? new OpenSpans()
    if (open.size >= PLANS_MAX) open.delete(open.keys().next().value as PlanId)
    open.set(entry.plan, spans)
    tracer.export(spans.endedBy(state, entry.events, entry.now))
    if (entry.events.some(({ type }) => type === 'plan.finished')) open.delete(entry.plan)
  }
  let version = 0
  const only = plan === undefined ? {} : { plan }
  for await (const entry of store.watch({ after, signal: stop, ...only })) {
    version = entry.version
    await tell(entry)
  }
  if (plan === undefined) return
  // Stopped because the plan rests: its last entries may not have come round yet.
  for (const entry of await store.read(plan, { after: version })) if (entry.position > after) await tell(entry)
}
