// What a token that is for some plans only may see of many, and may make. What lies outside is as if it were not there.

import type { PlanId } from '../../domain/id.ts'
import type { Page } from '../../stores/store.ts'
import { isInScope } from '../find-plan.ts'
import { type Problem, problem } from '../problem.ts'
import type { Call } from '../request.ts'

type Asking = Pick<Call<unknown, unknown>, 'rooms' | 'who'>

/** Pages that are looked through for one answer; a token that sees little gets a short page and goes on from there. */
const PAGES_MAX = 20

/** A page of what the caller may see. */
export async function pageInScope<T>(
  call: Asking,
  first: string | undefined,
  planOf: (item: T) => PlanId,
  pageFrom: (cursor: string | undefined) => Promise<Page<T>>,
): Promise<Page<T>> {
  if (call.who.scope === null) return await pageFrom(first)
  const known = new Map<PlanId, boolean>()
  let cursor = first
  for (let tries = 1; ; tries++) {
    const { items, next } = await pageFrom(cursor)
    const seen: T[] = []
    for (const item of items) {
      const plan = planOf(item)
      const isSeen = known.get(plan) ?? (await isInScope(call, plan))
      known.set(plan, isSeen)
      if (isSeen) seen.push(item)
    }
    if (seen.length > 0 || next === null || tries === PAGES_MAX) return { items: seen, next }
    cursor = next
  }
}

/** A plan made outside the scope of its maker would be lost to them: only in a session of theirs may they make one. */
export function refuseMaking({ who: { scope } }: Asking, session: string | undefined): Problem | null {
  if (scope === null || (session !== undefined && scope.sessions?.includes(session) === true)) return null
  return problem(403, 'not-allowed', 'this token is for some plans only, and may make no others', {
    hint: 'use a token for all plans, or make it in a session of this one (session_id)',
  })
}

/** What belongs to no plan is not for those who may see some plans only. */
export function refuseScoped({ who: { scope } }: Asking): Problem | null {
  if (scope === null) return null
  return problem(403, 'not-allowed', 'this token is for some plans only', { hint: 'use a token for all plans' })
}
