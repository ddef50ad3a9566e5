// The plans of a session, page by page: by number, as clients of sessions ask, with a count of all; or by cursor, where no page
// costs more than the first.

import type { PlanStatus } from '../../../domain/status.ts'
import type { Engine } from '../../../engine/engine.ts'
import type { PlanRow } from '../../../stores/store.ts'

export interface HistoryAsk {
  readonly session: string
  readonly statuses: readonly PlanStatus[] | null
  readonly text?: string
}

interface Rows {
  readonly items: readonly PlanRow[]
  readonly next: string | null
}

const PAGE = 200

/** As many as are wanted, from the cursor on; each look asks only for what is missing, so that none is passed over. */
export async function rowsFrom(engine: Engine, ask: HistoryAsk, limit: number, cursor?: string): Promise<Rows> {
  const items: PlanRow[] = []
  let at = cursor
  if (ask.statuses?.length === 0) return { items, next: null }
  for (;;) {
    const page = await lookAt(engine, ask, limit - items.length, at)
    items.push(...page.items.filter(({ status }) => ask.statuses?.includes(status) ?? true))
    if (page.next === null || items.length >= limit) return { items, next: page.next }
    at = page.next
  }
}

export async function rowsOfPage(
  engine: Engine,
  ask: HistoryAsk,
  { page, limit }: { readonly page: number; readonly limit: number },
): Promise<Rows & { readonly total: number }> {
  const first = (page - 1) * limit
  const items: PlanRow[] = []
  let [total, next]: [number, string | null] = [0, null]
  for (let cursor: string | undefined; ; ) {
    // Up to the end of the page in steps that end there, so that what is next is known; then only counted.
    const step = total < first + limit ? Math.min(PAGE, first + limit - total) : PAGE
    const found = await rowsFrom(engine, ask, step, cursor)
    for (const row of found.items) {
      if (total >= first && total < first + limit) items.push(row)
      total++
    }
    if (total === first + limit && next === null) next = found.next
    if (found.next === null) return { items, next: total > first + limit ? next : null, total }
    cursor = found.next
  }
}

/** A single status is looked for by the store itself. */
function lookAt(engine: Engine, { session, statuses, text }: HistoryAsk, limit: number, cursor: string | undefined) {
  const [only] = statuses?.length === 1 ? statuses : []
  return engine.ask({
    type: 'plans',
    session,
    archived: false,
    limit,
    status: only,
    ...(text === undefined || text.trim() === '' ? {} : { text }),
    cursor,
  })
}
