// Small duties that nobody waits for: claims whose lease ran out are given back to whoever claims next.

import type { Actor, PlanId } from '../domain/id.ts'
import type { Store } from '../stores/store.ts'

const JANITOR = 'janitor' as Actor

/** Ends lapsed claims, of one plan or of all; returns how many. */
export async function sweepClaims(store: Store, plan?: PlanId): Promise<number> {
  const lapsed = await store.claims.lapsed(plan)
  for (const { plan: of, task, token } of lapsed) {
    await store.update(
      of,
      { type: 'lapse', task, token, reason: 'no heartbeat came before its claim ran out' },
      { actor: JANITOR },
    )
    await store.claims.drop(of, task)
  }
  return lapsed.length
}
