// Sessions and goals: small streams of events beside the plans, hash-chained like them. The current row of a stream is the fold of its
// events by a pure function, stored in the same transaction.

import { hash } from 'node:crypto'
import type { Actor, Millis, PlanId, Sha256 } from '../../domain/id.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import { limitOf, openCursor, pageOf } from '../cursor.ts'
import type { Clock } from '../leases/host.ts'
import { isKept } from '../search/storable-text.ts'
import type {
  Conversation,
  GoalEvent,
  GoalRow,
  Once,
  SessionEvent,
  SessionRow,
  Streams,
  StreamUpdated,
} from '../store.ts'
import type { StreamEntry, StreamKind, StreamWhere, Tables, Transactions } from '../tables.ts'
import { remember, usedFor } from './idempotency.ts'

const READ_DEFAULT = 200
const READ_MAX = 2_000

type Fold<E, R> = (
  before: R | null,
  event: E,
  at: { readonly id: string; readonly version: number; readonly now: Millis },
) => R | Refusal

interface Row {
  readonly version: number
  readonly updatedAt: Millis
}

export function streamsOn<E, R extends Row, F extends StreamWhere = StreamWhere>(
  kind: StreamKind,
  fold: Fold<E, R>,
  room: { transactions: Transactions; clock: Clock },
): Streams<E, R, F> {
  const { transactions, clock } = room
  return {
    append: (id, events, options) =>
      transactions.write(tables => appendToStream(tables, { kind, fold, clock }, id, events, options)),

    read: async (id, options) =>
      transactions.read(tables =>
        (isKept(id)
          ? tables.streams.entries(kind, id, options?.after ?? 0, limitOf(options?.limit, READ_DEFAULT, READ_MAX))
          : []
        ).map(({ version, at, actor, body }) => ({ version, at, actor, event: JSON.parse(body) as E })),
      ),

    get: async id =>
      transactions.read(tables => {
        const head = isKept(id) ? tables.streams.head(kind, id) : null
        return head === null ? null : (JSON.parse(head.row) as R)
      }),

    list: async query => {
      const limit = limitOf(query.limit)
      const [before] = openCursor(`${kind}s`, 1, query) ?? [Number.MAX_SAFE_INTEGER]
      const heads = await transactions.read(tables => tables.streams.heads(kind, before!, limit + 1, query.where))
      return pageOf(
        `${kind}s`,
        query,
        heads,
        limit,
        head => JSON.parse(head.row) as R,
        head => [head.no],
      )
    },
  }
}

interface Kind<E, R> {
  readonly kind: StreamKind
  readonly fold: Fold<E, R>
  readonly clock: Clock
}

function appendToStream<E, R extends Row>(
  tables: Tables,
  { kind, fold, clock }: Kind<E, R>,
  id: string,
  events: readonly E[],
  options: { readonly actor: Actor; readonly expectedVersion?: number; readonly once?: Once },
): StreamUpdated {
  const { actor, once } = options
  if (!isKept(id))
    return { ok: false, refusal: refuse('invalid', `no ${kind} can have this id`, 'use letters and digits') }
  const used = once === undefined ? null : usedFor(tables, actor, once, kind, clock.now())
  if (used !== null)
    return 'code' in used
      ? { ok: false, refusal: used }
      : { ok: true, id: used.id, version: used.version, replayed: true }
  const head = tables.streams.head(kind, id)
  const start = head?.version ?? 0
  if (options.expectedVersion !== undefined && options.expectedVersion !== start) {
    const message = `${kind} ${id} is at version ${start}, not ${options.expectedVersion}`
    return { ok: false, refusal: refuse('conflict', message, 'read it again and decide anew') }
  }
  let row = head === null ? null : (JSON.parse(head.row) as R)
  const now = Math.max(clock.now(), row?.updatedAt ?? 0)
  const entries: StreamEntry[] = []
  let previous = head?.hash ?? ''
  for (const event of events) {
    const version = start + entries.length + 1
    const next = fold(row, event, { id, version, now })
    if ('code' in next) return { ok: false, refusal: next }
    row = next
    const entry = sealStreamEntry(previous, kind, id, {
      version,
      at: now,
      actor,
      body: JSON.stringify(event),
    })
    entries.push(entry)
    previous = entry.hash
  }
  if (row !== null && entries.length > 0) tables.streams.append(kind, id, entries, JSON.stringify(row))
  const version = start + entries.length
  if (once !== undefined) remember(tables, actor, once, { kind, id, version, made: entries.length > 0 }, clock.now())
  return { ok: true, id, version }
}

export function refuseToTalk(tables: Tables, session: string): Refusal | null {
  if (!isKept(session)) return refuse('invalid', 'no session can have this id', 'use letters and digits')
  const head = tables.streams.head('session', session)
  const isClosed = head !== null && (JSON.parse(head.row) as SessionRow).status === 'closed'
  return isClosed ? refuse('illegal-transition', `the session '${session}' is closed`, 'open another one') : null
}

/** Appends the message about a new plan to its session, inside the transaction that creates the plan. */
export function sessionMessages(
  tables: Tables,
  clock: Clock,
  session: string,
  { title, message }: Conversation,
  { plan, actor }: { readonly plan: PlanId; readonly actor: Actor },
): void {
  const isNew = tables.streams.head('session', session) === null
  const events: SessionEvent[] = [
    ...(isNew ? [{ type: 'session.opened', title } as const] : []),
    ...(message === undefined ? [] : [{ type: 'message.added', ...message, plan } as const]),
  ]
  const appended = appendToStream(tables, { kind: 'session', fold: foldSession, clock }, session, events, { actor })
  // The plan is written already, and must not be committed without its messages.
  if (!appended.ok) throw new Error(`bug: session ${session} took no message: ${appended.refusal.message}`)
}

type Unsealed = Omit<StreamEntry, 'hash'>

function sealStreamEntry(previous: string, kind: StreamKind, id: string, entry: Unsealed): StreamEntry {
  return { ...entry, hash: streamHash(previous, kind, id, entry) }
}

export function streamHash(
  previous: string,
  kind: StreamKind,
  id: string,
  { version, at, actor, body }: Unsealed,
): Sha256 {
  return hash('sha256', `${previous}\n${JSON.stringify([kind, id, version, at, actor])}\n${body}`) as Sha256
}

/** A session exists from its first event; only `session.opened` gives it a title. */
export const foldSession: Fold<SessionEvent, SessionRow> = (before, event, { id, version, now }) => {
  const row: SessionRow = {
    ...(before ?? { id, title: '', status: 'open', messages: 0, createdAt: now }),
    version,
    updatedAt: now,
  }
  switch (event.type) {
    case 'session.opened':
      return { ...row, title: event.title, status: 'open' }
    case 'message.added':
      return { ...row, messages: row.messages + 1 }
    case 'session.closed':
      return { ...row, status: 'closed' }
  }
}

export const foldGoal: Fold<GoalEvent, GoalRow> = (before, event, { id, version, now }) => {
  if (event.type === 'goal.set') {
    const { title, parent, priority, criteria } = event
    return {
      id,
      title,
      parent,
      priority,
      criteria,
      status: 'open',
      version,
      createdAt: before?.createdAt ?? now,
      updatedAt: now,
    }
  }
  if (before === null) return refuse('not-found', `there is no goal ${id}`, 'set it first')
  switch (event.type) {
    case 'goal.changed': {
      // Only known keys of the right type; other keys stay in the journal for later releases.
      const { title, parent, priority, criteria } = event.changes
      return {
        ...before,
        ...(typeof title === 'string' && { title }),
        ...((typeof parent === 'string' || parent === null) && { parent }),
        ...(typeof priority === 'number' && { priority }),
        ...(Array.isArray(criteria) && {
          criteria: criteria.filter((item): item is string => typeof item === 'string'),
        }),
        version,
        updatedAt: now,
      }
    }
    case 'goal.closed':
      return { ...before, status: event.status, version, updatedAt: now }
  }
}

export function refold(
  kind: StreamKind,
  id: string,
  entries: readonly { version: number; at: Millis; actor: Actor; body: string }[],
): string {
  let row: SessionRow | GoalRow | null = null
  for (const { version, at, body } of entries) {
    const place = { id, version, now: at }
    const next: SessionRow | GoalRow | Refusal =
      kind === 'session'
        ? foldSession(row as SessionRow | null, JSON.parse(body) as SessionEvent, place)
        : foldGoal(row as GoalRow | null, JSON.parse(body) as GoalEvent, place)
    if (!('code' in next)) row = next
  }
  return JSON.stringify(row)
}
