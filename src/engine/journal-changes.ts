// Which change sets the entries of a plan's journal name.

import type { Event } from '../domain/event.ts'
import type { PlanId, Sha256 } from '../domain/id.ts'
import type { Entry, Store } from '../stores/store.ts'

/** The change set an event names. */
export function changesOf(event: Event): Sha256 | null {
  switch (event.type) {
    case 'attempt.succeeded':
    case 'attempt.failed':
    case 'compensation.finished':
    case 'compensation.retried':
      return event.result.wrote?.changes ?? null
    case 'rollback.finished':
      return event.changes
    default:
      return null
  }
}

const PAGE = 500

/** The whole journal of a plan behind an entry. */
export async function entriesAfter(store: Pick<Store, 'read'>, plan: PlanId, after: number): Promise<readonly Entry[]> {
  const all: Entry[] = []
  for (let at = after; ; ) {
    const page = await store.read(plan, { after: at, limit: PAGE })
    all.push(...page)
    const last = page.at(-1)
    if (last === undefined) return all
    at = last.version
  }
}
