// What a caller of some plans may order, and what they are answered: what lies outside is as if it were not there.

import type { PlanId } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import { holderOf, reservedByOthers } from '../../domain/reservation.ts'
import type { Result } from '../../domain/result.ts'
import { explainScopeWait } from '../../domain/views/scope-wait.ts'
import { type Entry, type Page, type PlanRow, StoreDamaged, type TaskRow } from '../../stores/store.ts'
import { answer, artifactsIn } from '../answer-query.ts'
import type { AnyQuery, Engine } from '../engine.ts'
import type { Order, Submitted } from '../orders.ts'
import type { AnswerOf } from '../queries.ts'
import { type Caller, deny, isPlanInScope, isSessionInScope, NotAllowed, type Scope } from '../roles.ts'
import type { Rooms } from '../rooms.ts'
import { noPlanRefusal } from '../write-order.ts'

/** A caller whose scope is not null. */
export interface ScopedCaller extends Caller {
  readonly scope: Scope
}

export const isScoped = (caller: Caller): caller is ScopedCaller => caller.scope !== null

type Seen = (plan: PlanId) => Promise<boolean>

/** Asked once a plan: what belongs to a session stays there. */
function seenBy({ store }: Rooms, { scope }: ScopedCaller): Seen {
  const known = new Map<PlanId, boolean>()
  return async plan => {
    const before = known.get(plan)
    if (before !== undefined) return before
    const isNamed = scope.plans?.includes(plan) === true
    const session = isNamed || (scope.sessions ?? []).length === 0 ? null : await sessionOf(store, plan)
    const isSeen = isPlanInScope(scope, plan, session)
    known.set(plan, isSeen)
    return isSeen
  }
}

/** Of a plan whose journal cannot be read nobody knows the session, so nobody sees it by one. */
async function sessionOf(store: Rooms['store'], plan: PlanId): Promise<string | null> {
  try {
    return (await store.state(plan))?.session ?? null
  } catch (error) {
    if (error instanceof StoreDamaged) return null
    throw error
  }
}

async function isReferenceSeen({ store }: Rooms, isSeen: Seen, reference: string): Promise<boolean> {
  const found = await store.find(reference)
  return found !== null && (await isSeen(found.plan))
}

/** Null when the order is within reach. */
export async function refuseOutOfScope(
  rooms: Rooms,
  caller: ScopedCaller,
  plan: string | null,
  order: Order,
): Promise<Refusal | null> {
  // A plan made outside the scope of its maker would be lost to them: only in a session of theirs may they make one.
  if (order.type === 'create')
    return (
      denyMaking(caller, order.session ?? null) ??
      refuseArtifacts(
        [],
        order.imported?.map(({ result }) => result),
      )
    )
  // About no plan at all: the engine says what is missing.
  if (plan === null || plan === '') return null
  const isSeen = seenBy(rooms, caller)
  const found = await rooms.store.find(plan)
  if (found === null || !(await isSeen(found.plan))) return noPlanRefusal(plan)
  if (order.type === 'report') {
    const board = await answer<'board'>(rooms, { type: 'board', plan: found.plan })
    const left = (board ?? []).flatMap(({ outputs }) => artifactsIn(outputs))
    return refuseArtifacts(left, [order.result])
  }
  if (order.type === 'adopt') return await adoptionOutOfScope(rooms, isSeen, found.plan, order.into)
  if (order.type !== 'fork') return null
  // It is another plan, in the session of this one.
  return denyMaking(caller, (await rooms.store.state(found.plan))?.session ?? null)
}

/** Whoever says that a task left certain bytes could then ask for them. They may hand on what the plan has, and no more. */
function refuseArtifacts(left: readonly Json[], results: readonly (Result | undefined)[] = []): Refusal | null {
  const said = results.flatMap(result => artifactsIn(result?.outputs))
  if (said.every(sha256 => left.includes(sha256))) return null
  return refuse(
    'not-allowed',
    'an output names stored bytes that no task of this plan left',
    'leave it out, or report what the bytes say',
  )
}

const denyMaking = (caller: ScopedCaller, session: string | null): Refusal | null =>
  session !== null && isSessionInScope(caller.scope, session) ? null : deny(caller, 'session')

/** It writes into the plan that is named, or into one above the fork. */
async function adoptionOutOfScope(
  rooms: Rooms,
  isSeen: Seen,
  fork: PlanId,
  into: string | undefined,
): Promise<Refusal | null> {
  if (into !== undefined) return (await isReferenceSeen(rooms, isSeen, into)) ? null : noPlanRefusal(into)
  const looked = new Set<PlanId>()
  for (let at: PlanId | null = fork; at !== null && !looked.has(at); ) {
    looked.add(at)
    if (!(await isSeen(at))) return noPlanRefusal(at)
    at = (await rooms.store.state(at))?.origin ?? null
  }
  return null
}

/** What was answered about a plan that is out of their reach by now is not answered again. */
export async function hideOutOfScope(rooms: Rooms, caller: ScopedCaller, done: Submitted): Promise<Submitted> {
  if (!done.ok || (await seenBy(rooms, caller)(done.plan))) return done
  return { ok: false, refusal: noPlanRefusal(done.name) }
}

/** What the caller is answered; throws NotAllowed for what is about all plans. */
export async function answerInScope(rooms: Rooms, caller: ScopedCaller, query: AnyQuery): Promise<unknown> {
  const isSeen = seenBy(rooms, caller)
  switch (query.type) {
    case 'find': {
      const found = await answer<'find'>(rooms, query)
      return found !== null && (await isSeen(found.plan)) ? found : null
    }
    case 'plans':
      return await pageInScope(
        isSeen,
        query.cursor,
        ({ id }: PlanRow) => id,
        cursor => answer<'plans'>(rooms, { ...query, ...(cursor === undefined ? {} : { cursor }) }),
      )
    // Looked for in these plans alone, so that the total tells nothing of others.
    case 'overview':
      return await answer<'overview'>(rooms, { ...query, within: caller.scope })
    case 'tasks':
      return await pageInScope(
        isSeen,
        query.cursor,
        ({ plan }: TaskRow) => plan,
        cursor => answer<'tasks'>(rooms, { ...query, ...(cursor === undefined ? {} : { cursor }) }),
      )
    case 'attempts':
      return (await isSeen(query.plan)) ? await answer<'attempts'>(rooms, query) : { items: [], next: null }
    // Looked for in these plans alone, so that `next` tells nothing of what is found in others.
    case 'search':
      return await answer<'search'>(rooms, { ...query, within: caller.scope })
    case 'inbox': {
      const { items, unreadable, restored } = await answer<'inbox'>(rooms, query)
      const inbox: AnswerOf<'inbox'> = {
        items: await seenOf(items, isSeen),
        unreadable: await seenOf(unreadable, isSeen),
        restored: await seenOf(restored, isSeen),
      }
      return inbox
    }
    case 'inboxFate': {
      const fate = await answer<'inboxFate'>(rooms, query)
      return fate !== null && (await isSeen(fate.item.plan)) ? fate : null
    }
    // Where the journal ends tells nothing of what is in it.
    case 'position':
      return await answer<'position'>(rooms, query)
    default: {
      const [plan, other] = [
        'plan' in query ? query.plan : undefined,
        query.type === 'compare' ? query.with : undefined,
      ]
      if (plan === undefined) throw new NotAllowed(deny(caller, 'all plans'))
      const found = await rooms.store.find(plan)
      if (found === null || !(await isSeen(found.plan))) return null
      if (other !== undefined && !(await isReferenceSeen(rooms, isSeen, other))) return null
      if (query.type === 'adoption' && (await adoptionOutOfScope(rooms, isSeen, found.plan, query.into)) !== null)
        return null
      // A forecast from other plans would tell of them.
      if (query.type === 'budget') return await answer<'budget'>(rooms, { ...query, earlier: false })
      return query.type === 'next'
        ? await hideHolders(isSeen, await answer<'next'>(rooms, query))
        : await answer(rooms, query)
    }
  }
}

/** Tasks that wait for files say so, and name the plans that hold them as far as these are within reach. */
async function hideHolders(isSeen: Seen, found: AnswerOf<'next'>): Promise<AnswerOf<'next'>> {
  if (found === null || found.held.length === 0) return found
  const held = await Promise.all(found.held.map(async wait => ({ ...wait, by: await seenOf(wait.by, isSeen) })))
  const why = new Map(held.map(wait => [wait.task, explainScopeWait(wait)]))
  const explained = found.explained.map(each => ({ ...each, why: why.get(each.task) ?? each.why }))
  return { ...found, held, explained }
}

/** The same of what was submitted: a refusal because another plan holds the files names only a plan within reach. */
export async function hideHolder(rooms: Rooms, caller: ScopedCaller, done: Submitted): Promise<Submitted> {
  const holder = done.ok ? null : holderOf(done.refusal)
  if (done.ok || holder === null || (await seenBy(rooms, caller)(holder))) return done
  return { ok: false, refusal: reservedByOthers(done.refusal.code) }
}

async function seenOf<T extends { readonly plan: PlanId }>(items: readonly T[], isSeen: Seen): Promise<readonly T[]> {
  const seen: T[] = []
  for (const item of items) if (await isSeen(item.plan)) seen.push(item)
  return seen
}

/** Pages that are looked through for one answer; who sees little gets a short page and goes on from there. */
const PAGES_MAX = 20

async function pageInScope<T>(
  isSeen: Seen,
  first: string | undefined,
  planOf: (item: T) => PlanId,
  pageFrom: (cursor: string | undefined) => Promise<Page<T>>,
): Promise<Page<T>> {
  let cursor = first
  for (let tries = 1; ; tries++) {
    const { items, next } = await pageFrom(cursor)
    const seen: T[] = []
    for (const item of items) if (await isSeen(planOf(item))) seen.push(item)
    if (seen.length > 0 || next === null || tries === PAGES_MAX) return { items: seen, next }
    cursor = next
  }
}

export async function* watchInScope(
  rooms: Rooms,
  caller: ScopedCaller,
  options: Parameters<Engine['watch']>[0],
): AsyncIterable<Entry> {
  const isSeen = seenBy(rooms, caller)
  for await (const entry of rooms.store.watch(options)) if (await isSeen(entry.plan)) yield entry
}
