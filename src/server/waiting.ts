// Waits for something to happen in a plan, by following its journal, for as long as a request may.

import type { Event } from '../domain/event.ts'
import type { PlanId } from '../domain/id.ts'
import type { ServerRooms } from './rooms.ts'

/** Behind this entry; null when it did not happen in time, or nobody waits any more. */
export async function waitFor<T>(
  { engine, stopping }: Pick<ServerRooms, 'engine' | 'stopping'>,
  { plan, version }: { readonly plan: PlanId; readonly version: number },
  found: (event: Event) => T | null,
  { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
): Promise<T | null> {
  const [entry] = (await engine.ask({ type: 'entries', plan, after: version - 1, limit: 1 })) ?? []
  if (entry === undefined || ms <= 0) return null
  const over = new AbortController()
  const until = AbortSignal.any([signal, stopping, AbortSignal.timeout(ms), over.signal])
  try {
    for await (const { events } of engine.watch({ plan, after: entry.position, signal: until })) {
      for (const event of events) {
        const what = found(event)
        if (what !== null) return what
      }
    }
    return null
  } finally {
    over.abort()
  }
}
