// The inbox: everything in all plans that waits for a person, oldest first, each under a short id; and the outcome of ids that are settled.

import { createHash } from 'node:crypto'
import type { PlanId, Sha256 } from '../../domain/id.ts'
import { isA } from '../../domain/json.ts'
import { RESTORED_KEPT_MS } from '../../domain/limits.ts'
import { policyOf } from '../../domain/policy/policy-in-state.ts'
import { ROLLBACK_STOPPED } from '../../domain/rollback/rollback-rules.ts'
import { hasDueAlarm } from '../../domain/state/alarms.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { type PlanStatus, planWord } from '../../domain/status.ts'
import { board } from '../../domain/views/board.ts'
import { type InboxItem, inboxOf, reviewsOf, rollbackItem, type StoppedRollback } from '../../domain/views/inbox.ts'
import { InboxPast, stoppedIn } from '../../domain/views/inbox-history.ts'
import { planState } from '../../domain/views/pages/plan-state.ts'
import { summary } from '../../domain/views/summary.ts'
import { orElseAsync } from '../../safety/safety-refusal.ts'
import { type Entry, type PlanRow, type Store, StoreDamaged } from '../../stores/store.ts'
import { sweepClaims } from '../attempts/lapsed-claims.ts'
import { withTitles } from '../attempts/resolve.ts'
import { scopeWaits } from '../files/scope-reservation.ts'
import { lazy } from '../lazy-imports.ts'
import type {
  AskedQuestion,
  Inbox,
  InboxEntry,
  InboxFate,
  OpenReview,
  Overview,
  QueryOf,
  SeenState,
} from '../queries.ts'
import type { Rooms } from '../rooms.ts'
import { inboxId } from './inbox-id.ts'

const OPEN: readonly PlanStatus[] = ['active', 'blocked', 'paused']
const OVER: readonly PlanStatus[] = ['completed', 'failed', 'cancelled']
const PAGE = 200

export async function inbox(rooms: Rooms): Promise<Inbox> {
  const { store } = rooms
  await sweepClaims(rooms)
  const items: InboxEntry[] = []
  const restored: Inbox['restored'][number][] = []
  const unreadable: Inbox['unreadable'][number][] = []
  for (const row of await plansThatMayAsk(store)) {
    try {
      if (row.status === 'active' || row.status === 'blocked')
        await (await lazy.dueQuestions()).raiseDueQuestions(rooms, row.id)
      restored.push(...(await restoredIn(rooms, row)))
      items.push(...(await itemsOf(store, row)).map(item => ({ id: inboxId(item.key), ...item })))
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error
      unreadable.push({ plan: row.id, name: row.name, why: error.message })
    }
  }
  return { items: items.sort((a, b) => a.since - b.since || (a.key < b.key ? -1 : 1)), restored, unreadable }
}

/** `within`: the caller's scope. */
export async function overview(
  rooms: Rooms,
  { waiting, ...query }: Omit<QueryOf<'overview'>, 'type'>,
): Promise<Overview> {
  const { store } = rooms
  const among = waiting === true ? await plansThatWait(rooms) : undefined
  const page = await store.overview({ ...query, ...(among === undefined ? {} : { among }) })
  const items: Overview['items'][number][] = []
  for (const row of page.items) items.push({ ...row, ...(await seenOf(rooms, row)) })
  return { ...page, items }
}

type Seen = Pick<Overview['items'][number], 'waiting' | 'seen'>

/** Opens the state of active plans, because owner and open questions are not in the row. */
async function seenOf(rooms: Rooms, row: PlanRow): Promise<Seen> {
  const { store, clock } = rooms
  const { id, status } = row
  const asWritten: SeenState =
    status === 'blocked'
      ? { word: planWord(status), sign: 'waiting', waitsFor: 'you' }
      : { word: planWord(status), sign: status }
  if (status !== 'active') return { waiting: await countIn(store, row), seen: asWritten }
  try {
    let state = await store.state(id)
    if (state !== null && hasDueAlarm(state, clock.now())) {
      await (await lazy.dueQuestions()).raiseDueQuestions(rooms, id)
      state = await store.state(id)
    }
    if (state === null) return { waiting: 0, seen: asWritten }
    const holder = await store.leases.holder(id)
    const isDriven = holder?.alive === true
    const found = summary(state)
    // Another plan's files can hold up only what is ready.
    const { running, ready } = found.progress.counts
    const held = isDriven && running === 0 && ready > 0 ? await scopeWaits(rooms, state) : []
    const { words: _, ...seen } = planState({ summary: found, board: board(state), isDriven, held })
    return { waiting: row.archived ? 0 : (await asked(store, state)).length, seen }
  } catch (error) {
    if (error instanceof StoreDamaged) return { waiting: null, seen: asWritten }
    throw error
  }
}

async function plansThatWait(rooms: Rooms): Promise<readonly PlanId[]> {
  const found: PlanId[] = []
  for (const row of await plansThatMayAsk(rooms.store)) if ((await countIn(rooms.store, row)) !== 0) found.push(row.id)
  return found
}

const countIn = (store: Store, row: PlanRow): Promise<number | null> =>
  orElseAsync(async () => (await waitingIn(store, row)).length, null, isA(StoreDamaged))

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

/** Open questions; with `id`, that one even if it is answered. */
export async function questions({ store }: Rooms, state: PlanState, id?: string): Promise<readonly AskedQuestion[]> {
  const open = state.questions.map(question => ({ ...question, answer: null }))
  if (id === undefined) return open
  const waiting = open.filter(question => question.id === id)
  if (waiting.length > 0) return waiting
  let found: AskedQuestion | null = null
  for (let after = 0; ; ) {
    const page = await store.read(state.id, { after, limit: PAGE })
    for (const { now, events } of page) {
      for (const event of events) {
        if (event.type === 'question.asked' && event.id === id) {
          const { type: _, ...question } = event
          found = { ...question, since: now, answer: null }
        } else if (event.type === 'question.answered' && event.id === id && found !== null)
          return [{ ...found, answer: { answers: event.answers, by: event.by, at: now } }]
      }
    }
    if (page.length < PAGE) return found === null ? [] : [found]
    after = page.at(-1)!.version
  }
}

export function reviews({ clock }: Rooms, state: PlanState): readonly OpenReview[] {
  return reviewsOf(state, clock.now()).map(review => ({
    ...review,
    items: review.items.map(item => ({ id: inboxId(item.key), ...item })),
    hash: createHash('sha256')
      .update(JSON.stringify(review.items.map(({ key }) => key)))
      .digest('hex') as Sha256,
  }))
}

async function restoredIn({ store, clock }: Rooms, { id, name, status }: PlanRow): Promise<Inbox['restored']> {
  const isOver = OVER.includes(status)
  // Among ended plans, opens only those with retries.
  if (isOver && (await store.metrics(id)).every(({ retries }) => retries === 0)) return []
  const state = await store.state(id)
  if (state === null) return []
  const keptMs = policyOf(state).retention.restoredMs ?? RESTORED_KEPT_MS
  const backups = isOver ? state.restored.filter(({ at }) => at + keptMs > clock.now()) : state.restored
  return backups.map(one => ({ plan: id, name, ...one }))
}

type PlanStand = Pick<PlanRow, 'id' | 'version' | 'status' | 'archived'>

/** Titles are returned unresolved. */
export async function waitingIn(store: Store, row: PlanStand): Promise<readonly InboxItem[]> {
  if (row.archived || row.status === 'draft') return []
  return (await asking(store, row))?.items ?? []
}

async function itemsOf(store: Store, row: PlanRow): Promise<readonly InboxItem[]> {
  const found = await asking(store, row)
  if (found === null) return []
  const { state, items } = found
  return await withTitles(state, items, ({ task }) => (task === null ? undefined : state.tasks.get(task)))
}

async function asking(
  store: Store,
  row: PlanStand,
): Promise<{ readonly state: PlanState; readonly items: readonly InboxItem[] } | null> {
  const isOver = OVER.includes(row.status)
  // An ended plan has at most one item: a rollback that was stopped, and then that is its last entry.
  const tail = isOver ? await store.read(row.id, { after: row.version - 1, limit: 1 }) : []
  if (isOver && stoppedIn(tail) === null) return null
  const state = await store.state(row.id)
  if (state === null) return null
  return { state, items: await asked(store, state, isOver) }
}

async function asked(store: Store, state: PlanState, isOver = false): Promise<readonly InboxItem[]> {
  const stopped = isOver || isStopped(state) ? await stoppedBefore(store, state) : null
  return [...inboxOf(state), ...(stopped === null ? [] : [rollbackItem(state, stopped)])]
}

/** Matches the reason that `stopRollback` writes; pausing the plan again clears it. */
const isStopped = ({ status, reason }: PlanState): boolean =>
  status === 'paused' && reason?.startsWith(ROLLBACK_STOPPED) === true

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

/** Among ended plans, only those that may have an item: opening 100,000 takes half a minute. */
const plansThatMayAsk = (store: Store): Promise<readonly PlanRow[]> => plansIn(store, OPEN, OVER)

async function plansIn(
  store: Store,
  statuses: readonly PlanStatus[],
  onlyUnsettled: readonly PlanStatus[] = [],
): Promise<readonly PlanRow[]> {
  const found = new Map<PlanId, PlanRow>()
  for (const status of [...statuses, ...onlyUnsettled]) {
    const only = onlyUnsettled.includes(status) ? { unsettled: true as const } : {}
    for (let cursor: string | null = ''; cursor !== null; ) {
      const at = cursor === '' ? {} : { cursor }
      const page = await store.plans({ status, archived: false, limit: PAGE, ...only, ...at })
      for (const row of page.items) found.set(row.id, row)
      cursor = page.next
    }
  }
  // Ids sort by time: the oldest plan comes first.
  return [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}
