// Who may order and ask what through the Engine door: by the type of it, and within the scope of their token.

import type { Order, QueryOf, QueryType } from '../../engine/engine.ts'
import { RIGHTS, type Right } from '../../engine/permissions.ts'
import type { WireOrder } from '../../format/wire/orders.ts'
import type { PlanRow, TaskRow } from '../../stores/store.ts'
import { findPlan, isInScope } from '../find-plan.ts'
import { isProblem, type Problem, problem } from '../problem.ts'
import type { Call } from '../request.ts'
import type { Who } from './caller.ts'
import { pageInScope, refuseMaking, refuseScoped } from './token-scope.ts'

/** Told apart by its type. */
export type AnyQuery = { [T in QueryType]: QueryOf<T> }[QueryType]

type Asking = Pick<Call<unknown, unknown>, 'rooms' | 'who'>

const DECIDES: ReadonlySet<Order['type']> = new Set(['decide', 'answer', 'review', 'judge'])
const ADMINISTERS: ReadonlySet<QueryType> = new Set(['prune', 'check'])

export const orderRight = (type: Order['type']): Right => (DECIDES.has(type) ? 'decide' : 'operate')
export const queryRight = (type: QueryType): Right =>
  ADMINISTERS.has(type) ? 'administer' : type === 'blob' ? 'inspect' : 'read'

export function refuseRight({ role }: Who, right: Right): Problem | null {
  if (RIGHTS[role].has(right)) return null
  return problem(403, 'not-allowed', `a token of the role '${role}' may not ${right}`, {
    hint: `use a token of a role that may: ${(['operator', 'approver', 'admin'] as const).filter(one => RIGHTS[one].has(right)).join(' or ')}`,
  })
}

/** Null when it is within reach. */
export async function orderOutOfReach(call: Asking, plan: string | null, order: WireOrder): Promise<Problem | null> {
  if (call.who.scope === null) return null
  if (order.type === 'create') return refuseMaking(call, order.session)
  // About no plan at all: the engine says what is missing.
  if (plan === null) return null
  const found = await findPlan(call, plan)
  if (isProblem(found)) return found
  if (order.type === 'adopt') return await adoptionOutOfReach(call, found.plan, order.into)
  if (order.type !== 'fork') return null
  // It is another plan, in the session of this one.
  const session = (await call.rooms.engine.ask({ type: 'summary', plan: found.plan }))?.session
  return refuseMaking(call, session ?? undefined)
}

/** It writes into the plan that is named, or into one above the fork. */
async function adoptionOutOfReach(call: Asking, fork: string, into: string | undefined): Promise<Problem | null> {
  if (into !== undefined) {
    const named = await findPlan(call, into)
    return isProblem(named) ? named : null
  }
  const seen = new Set<string>()
  for (let at: string | null = fork; at !== null && !seen.has(at); ) {
    seen.add(at)
    const found = await findPlan(call, at)
    if (isProblem(found)) return found
    at = (await call.rooms.engine.ask({ type: 'summary', plan: found.plan }))?.origin ?? null
  }
  return null
}

/** For whoever sees some plans only: what they are answered instead; null when the engine may be asked as it is. */
export async function queryOutOfReach(
  call: Asking,
  query: AnyQuery,
): Promise<{ readonly answer: unknown } | Problem | null> {
  const { rooms, who } = call
  if (who.scope === null) return null
  switch (query.type) {
    case 'find': {
      const found = await rooms.engine.ask<'find'>(query)
      return { answer: found !== null && (await isInScope(call, found.plan)) ? found : null }
    }
    case 'plans':
      return {
        answer: await pageInScope(
          call,
          query.cursor,
          ({ id }: PlanRow) => id,
          cursor => rooms.engine.ask<'plans'>({ ...query, ...(cursor === undefined ? {} : { cursor }) }),
        ),
      }
    case 'tasks':
      return {
        answer: await pageInScope(
          call,
          query.cursor,
          ({ plan }: TaskRow) => plan,
          cursor => rooms.engine.ask<'tasks'>({ ...query, ...(cursor === undefined ? {} : { cursor }) }),
        ),
      }
    // Where the journal ends tells nothing of what is in it.
    case 'position':
      return null
    case 'attempts':
      return (await isInScope(call, query.plan)) ? null : { answer: { items: [], next: null } }
    case 'search':
      if (query.plan === undefined) return refuseScoped(call)
      return (await isInScope(call, query.plan)) ? null : { answer: { items: [], next: null, complete: true } }
    default: {
      if (query.type === 'adoption' && (await adoptionOutOfReach(call, query.plan, query.into)) !== null)
        return { answer: null }
      const named = 'plan' in query && query.plan !== undefined ? [query.plan] : []
      if (named.length === 0) return refuseScoped(call)
      for (const reference of query.type === 'compare' ? [...named, query.with] : named)
        if (isProblem(await findPlan(call, reference))) return { answer: null }
      return null
    }
  }
}
