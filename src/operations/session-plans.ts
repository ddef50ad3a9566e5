// The plans of a session: which one is active, and pausing or resuming all of them. The active plan is the active, blocked or paused one
// that changed last, else the newest draft.

import type { PlanId } from '../domain/id.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { PlanStatus } from '../domain/status.ts'
import type { Engine, Order, Submitted } from '../engine/engine.ts'
import type { PlanRow } from '../stores/store.ts'

const UNDER_WAY: readonly PlanStatus[] = ['active', 'blocked', 'paused']
const PAGE = 200

/** Plans of the session with these statuses, the last changed first. */
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

/** It was opened, or a plan belongs to it. */
export async function isSessionKnown(engine: Pick<Engine, 'ask' | 'sessions'>, session: string): Promise<boolean> {
  if ((await engine.sessions.get(session)) !== null) return true
  return (await engine.ask({ type: 'plans', session, limit: 1 })).items.length > 0
}

/** Null if the session has no plan that is under way or could be started. */
export async function activePlan(engine: Pick<Engine, 'ask'>, session: string): Promise<PlanRow | null> {
  const [underWay] = await sessionPlans(engine, session)
  if (underWay !== undefined) return underWay
  const { items } = await engine.ask({ type: 'plans', session, status: 'draft', archived: false, limit: 1 })
  return items[0] ?? null
}

export interface SessionRoom {
  readonly engine: Pick<Engine, 'ask'>
  readonly submit: (plan: PlanId, order: Order) => Promise<Submitted>
}

export interface SessionMoved {
  readonly moved: readonly Extract<Submitted, { readonly ok: true }>[]
  readonly refused: readonly { readonly plan: PlanId; readonly name: string; readonly refusal: Refusal }[]
}

/** Pauses every active or blocked plan of the session. A refusal for one does not stop the others. */
export async function pauseSession(
  room: SessionRoom,
  session: string,
  options: { readonly reason?: string; readonly force?: true } = {},
): Promise<SessionMoved> {
  const { reason = `session ${session} is paused`, ...rest } = options
  return await moveAll(room, session, ['active', 'blocked'], { type: 'pause', reason, ...rest })
}

/** Resumes every paused plan of the session, whoever paused it. */
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
  // The active plan comes last, so that it remains the last changed.
  for (const { id, name } of (await sessionPlans(engine, session, statuses)).toReversed()) {
    const done = await submit(id, order)
    if (done.ok) moved.unshift(done)
    else refused.push({ plan: id, name, refusal: done.refusal })
  }
  return { moved, refused }
}
