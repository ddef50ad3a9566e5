// What waits for a person, over all plans, oldest first, each under a short id; and what became of an id that waits no longer. Ids
// are made from the key of a question, so the same question has the same id, today and on another machine.

import { createHash } from 'node:crypto'
import type { PlanId } from '../domain/id.ts'
import type { PlanState } from '../domain/state.ts'
import type { PlanStatus } from '../domain/status.ts'
import { type InboxItem, inboxOf, rollbackItem, type StoppedRollback } from '../domain/views/inbox.ts'
import { type Became, InboxPast, stoppedIn } from '../domain/views/inbox-past.ts'
import { type Entry, type PlanRow, type Store, StoreDamaged } from '../stores/store.ts'
import { sweepClaims } from './janitor.ts'
import type { Rooms } from './rooms.ts'

export interface InboxEntry extends InboxItem {
  readonly id: string
}

export interface Inbox {
  readonly items: readonly InboxEntry[]
  /** Plans whose journal is damaged: what waits there is not known. */
  readonly unreadable: readonly { readonly plan: PlanId; readonly name: string; readonly why: string }[]
}

/** How a question that waits no longer was answered, or why it is gone. */
export type InboxFate = Became & { readonly id: string }

const OPEN: readonly PlanStatus[] = ['active', 'blocked', 'paused']
const OVER: readonly PlanStatus[] = ['completed', 'failed', 'cancelled']
const ID_LENGTH = 8
/** Without letters that look like digits or like each other, and without `u`. */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'
const PAGE = 200

export async function inbox({ store }: Rooms): Promise<Inbox> {
  await sweepClaims(store)
  const items: InboxEntry[] = []
  const unreadable: Inbox['unreadable'][number][] = []
  for (const row of await plansIn(store, [...OPEN, ...OVER])) {
    try {
      items.push(...(await itemsOf(store, row)).map(item => ({ id: inboxId(item.key), ...item })))
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error
      unreadable.push({ plan: row.id, name: row.name, why: error.message })
    }
  }
  return { items: items.sort((a, b) => a.since - b.since || (a.key < b.key ? -1 : 1)), unreadable }
}

export async function inboxFate({ store }: Rooms, id: string): Promise<InboxFate | null> {
  for (const row of await plansIn(store, [...OPEN, ...OVER])) {
    const past = new InboxPast(key => inboxId(key) === id)
    try {
      for (let after = 0; ; ) {
        const page = await store.read(row.id, { after, limit: PAGE })
        for (const entry of page) past.read(entry)
        if (page.length < PAGE || past.found?.by != null) break
        after = page.at(-1)!.version
      }
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error
    }
    if (past.found !== null) return { id, ...past.found }
  }
  return null
}

export function inboxId(key: string): string {
  const bytes = createHash('sha256').update(key).digest()
  return Array.from(bytes.subarray(0, ID_LENGTH), byte => DIGITS[byte & 31]).join('')
}

async function itemsOf(store: Store, row: PlanRow): Promise<readonly InboxItem[]> {
  const isOver = OVER.includes(row.status)
  // An ended plan asks nothing; only a rollback of it may have been stopped, and then that is its last entry.
  const tail = isOver ? await store.read(row.id, { after: row.version - 1, limit: 1 }) : []
  if (isOver && stoppedIn(tail) === null) return []
  const state = await store.state(row.id)
  if (state === null) return []
  const stopped = isOver || isStopped(state) ? await stoppedBefore(store, state) : null
  return [...inboxOf(state), ...(stopped === null ? [] : [rollbackItem(state, stopped)])]
}

/** As `stopRollback` leaves it; whoever pauses it anew has looked. */
const isStopped = ({ status, reason }: PlanState): boolean =>
  status === 'paused' && reason?.startsWith('the rollback was stopped') === true

/** Backwards from the end: it was not long ago. */
async function stoppedBefore(store: Store, { id, version }: PlanState): Promise<StoppedRollback | null> {
  let tail: readonly Entry[] = []
  for (let after = version; after > 0; ) {
    const from = Math.max(0, after - PAGE)
    tail = [...(await store.read(id, { after: from, limit: after - from })), ...tail]
    if (tail.some(({ events }) => events.some(({ type }) => type === 'rollback.started'))) break
    after = from
  }
  return stoppedIn(tail)
}

async function plansIn(store: Store, statuses: readonly PlanStatus[]): Promise<readonly PlanRow[]> {
  const found = new Map<PlanId, PlanRow>()
  for (const status of statuses) {
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await store.plans({ status, archived: false, limit: PAGE, ...(cursor === '' ? {} : { cursor }) })
      for (const row of page.items) found.set(row.id, row)
      cursor = page.next
    }
  }
  return [...found.values()]
}
