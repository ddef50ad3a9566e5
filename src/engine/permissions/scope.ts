// Orders and answers for callers with a limited scope: whatever is outside appears not to exist.

import type { PlanId } from '../../domain/id.ts'
import { isA, type Json } from '../../domain/json.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import { holderOf, reservedByOthers } from '../../domain/reservation.ts'
import type { Result } from '../../domain/result.ts'
import type { WhyOrigin } from '../../domain/views/pages/why-lines.ts'
import { explainScopeWait } from '../../domain/views/scope-wait.ts'
import { orElseAsync } from '../../safety/safety-refusal.ts'
import { type Entry, type Page, type PlanRow, StoreDamaged, type TaskRow } from '../../stores/store.ts'
import { answer, artifactsIn } from '../answer-query.ts'
import type { AnyQuery, Engine } from '../engine.ts'
import type { Order, Submitted } from '../orders.ts'
import type { AnswerOf } from '../queries.ts'
import { type Caller, deny, isPlanInScope, isSessionInScope, NotAllowed, type Scope } from '../roles.ts'
import type { Rooms } from '../rooms.ts'
import { noPlanRefusal } from '../write-order.ts'

export interface ScopedCaller extends Caller {
  readonly scope: Scope
}

export const isScoped = (caller: Caller): caller is ScopedCaller => caller.scope !== null

type Seen = (plan: PlanId) => Promise<boolean>

/** Resolved once for each plan, since a plan never changes its session. */
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

/** Without a readable journal the session is unknown, so nobody sees the plan by it. */
const sessionOf = (store: Rooms['store'], plan: PlanId): Promise<string | null> =>
  orElseAsync(async () => (await store.state(plan))?.session ?? null, null, isA(StoreDamaged))

async function isReferenceSeen({ store }: Rooms, isSeen: Seen, reference: string): Promise<boolean> {
  const found = await store.find(reference)
  return found !== null && (await isSeen(found.plan))
}

export async function refuseOutOfScope(
  rooms: Rooms,
  caller: ScopedCaller,
  plan: string | null,
  order: Order,
): Promise<Refusal | null> {
  // A plan created outside its creator's scope would be invisible to them: they may create plans only in their sessions.
  if (order.type === 'create')
    return (
      denyMaking(caller, order.session ?? null) ??
      refuseArtifacts(
        [],
        order.imported?.map(({ result }) => result),
      )
    )
  // Without a plan, the engine will report that.
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
  // The new plan is in the session of this one.
  return denyMaking(caller, (await rooms.store.state(found.plan))?.session ?? null)
}

/** Reporting an artifact by hash would give access to its bytes. They may only pass on artifacts that the plan has. */
function refuseArtifacts(left: readonly Json[], results: readonly (Result | undefined)[] = []): Refusal | null {
  const reported = results.flatMap(result => artifactsIn(result?.outputs))
  if (reported.every(sha256 => left.includes(sha256))) return null
  return refuse(
    'not-allowed',
    'an output names stored bytes that no task of this plan left',
    'leave it out, or report what the bytes say',
  )
}

const denyMaking = (caller: ScopedCaller, session: string | null): Refusal | null =>
  session !== null && isSessionInScope(caller.scope, session) ? null : deny(caller, 'session')

/** It writes into the named plan, or an ancestor of the fork. */
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

/** A repeated answer about a plan that left their scope is not given again. */
export async function hideOutOfScope(rooms: Rooms, caller: ScopedCaller, done: Submitted): Promise<Submitted> {
  if (!done.ok || (await seenBy(rooms, caller)(done.plan))) return done
  return { ok: false, refusal: noPlanRefusal(done.name) }
}

/** The answer within the scope; throws NotAllowed for queries about all plans. */
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
    // Restricted in the query, so that the total reveals nothing about other plans.
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
    // Restricted in the query, so that `next` reveals nothing about other plans.
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
    case 'lessons':
      return await seenOf(await answer<'lessons'>(rooms, query), isSeen)
    case 'inboxFate': {
      const fate = await answer<'inboxFate'>(rooms, query)
      return fate !== null && (await isSeen(fate.item.plan)) ? fate : null
    }
    // The end of the journal reveals nothing about its contents.
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
      // Lessons of other plans are theirs.
      if (query.type === 'briefing') {
        const { learnt: _, ...briefing } = (await answer<'briefing'>(rooms, query)) ?? {}
        return 'task' in briefing ? briefing : null
      }
      if (query.type === 'why') return await hideOrigins(isSeen, await answer<'why'>(rooms, query))
      // A forecast from other plans would reveal something about them.
      if (query.type === 'budget') return await answer<'budget'>(rooms, { ...query, earlier: false })
      return query.type === 'next'
        ? await hideHolders(isSeen, await answer<'next'>(rooms, query))
        : await answer(rooms, query)
    }
  }
}

/** Lines of other plans, of commits and by hand tell nothing about who wrote them. */
async function hideOrigins(isSeen: Seen, answer: AnswerOf<'why'>): Promise<AnswerOf<'why'>> {
  if (answer?.ok !== true) return answer
  const shown = async (origin: WhyOrigin): Promise<WhyOrigin> =>
    'plan' in origin && (await isSeen(origin.plan)) ? origin : { by: 'hidden' }
  return { ok: true, why: { ...answer.why, origins: await Promise.all(answer.why.origins.map(shown)) } }
}

/** Tasks waiting for files name the holding plans only if these are in scope. */
async function hideHolders(isSeen: Seen, found: AnswerOf<'next'>): Promise<AnswerOf<'next'>> {
  if (found === null || found.held.length === 0) return found
  const held = await Promise.all(found.held.map(async wait => ({ ...wait, by: await seenOf(wait.by, isSeen) })))
  const why = new Map(held.map(wait => [wait.task, explainScopeWait(wait)]))
  const explained = found.explained.map(each => ({ ...each, why: why.get(each.task) ?? each.why }))
  return { ...found, held, explained }
}

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

/** Pages read for one answer; with a small scope the page may be short and `next` continues. */
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
