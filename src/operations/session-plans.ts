// The plans of one session: which of them is the active one, and all that are under way paused or resumed together. A session may
// have many plans; the active one is the plan under way that moved last, else the draft that was made last.

import type { PlanId } from '../domain/id.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { PlanStatus } from '../domain/status.ts'
import type { Engine, Order, Submitted } from '../engine/engine.ts'
import type { PlanRow } from '../stores/store.ts'

const UNDER_WAY: readonly PlanStatus[] = ['active', 'blocked', 'paused']
const PAGE = 200

/** Those of the session that have these statuses, the one that moved last first. */
export async function sessionPlans(
  engine: Pick<Engine, 'ask'>,
  session: string,
  statuses: readonly PlanStatus[] = UNDER_WAY,
): Promise<readonly PlanRow[]> {
  const rows = new Map<PlanId, PlanRow>()
  for (const status of statuses)
    for (let cursor: string | undefined, more = true; more; ) {
      const page = await engine.ask({
        type: 'plans',
        session,
        status,
        archived: false,
        limit: PAGE,
        cursor,
      })
      for (const row of page.items) rows.set(row.id, row)
      cursor = page.next ?? undefined
      more = cursor !== undefined
    }
  return [...rows.values()].sort((a, b) => b.updatedAt - a.updatedAt || (a.id < b.id ? 1 : -1))
}

/** Somebody opened it, or a plan names it. */
export async function isSessionKnown(engine: Pick<Engine, 'ask' | 'sessions'>, session: string): Promise<boolean> {
  if ((await engine.sessions.get(session)) !== null) return true
  return (await engine.ask({ type: 'plans', session, limit: 1 })).items.length > 0
}

/** Null when the session has no plan that is under way or could be started. */
export async function activePlan(engine: Pick<Engine, 'ask'>, session: string): Promise<PlanRow | null> {
  const [underWay] = await sessionPlans(engine, session)
  if (underWay !== undefined) return underWay
  const { items } = await engine.ask({ type: 'plans', session, status: 'draft', archived: false, limit: 1 })
  return items[0] ?? null
}

export interface SessionRoom {
  readonly engine: Pick<Engine, 'ask'>
  /** Hands an order about one plan on, in the caller's name. */
  readonly submit: (plan: PlanId, order: Order) => Promise<Submitted>
}

export interface SessionMoved {
  readonly moved: readonly Extract<Submitted, { readonly ok: true }>[]
  readonly refused: readonly { readonly plan: PlanId; readonly name: string; readonly refusal: Refusal }[]
}

/** Pauses every plan of the session that is under way. One that cannot be paused is told, and keeps no other from it. */
export async function pauseSession(
  room: SessionRoom,
  session: string,
  options: { readonly reason?: string; readonly force?: true } = {},
): Promise<SessionMoved> {
  const { reason = `session ${session} is paused`, ...rest } = options
  return await moveAll(room, session, ['active', 'blocked'], { type: 'pause', reason, ...rest })
}

/** Lets every plan of the session go on that is paused, whoever paused it. */
export async function resumeSession(room: SessionRoom, session: string): Promise<SessionMoved> {
  return await moveAll(room, session, ['paused'], { type: 'resume' })
}

async function moveAll(
  { engine, submit }: SessionRoom,
  session: string,
  statuses: readonly PlanStatus[],
  order: Order,
): Promise<SessionMoved> {
  const moved: Extract<Submitted, { readonly ok: true }>[] = []
  const refused: { plan: PlanId; name: string; refusal: Refusal }[] = []
  // The active plan comes last, so that it is still the one that moved last.
  for (const { id, name } of (await sessionPlans(engine, session, statuses)).toReversed()) {
    const done = await submit(id, order)
    if (done.ok) moved.unshift(done)
    else refused.push({ plan: id, name, refusal: done.refusal })
  }
  return { moved, refused }
}
