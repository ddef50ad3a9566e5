// Takes over plans whose owner is gone, and gives back claims whose agent is: once at the start, then every few seconds, until
// told to stop. A plan that cannot be driven now is tried again at the next round.

import type { Actor, PlanId } from '../../domain/id.ts'
import type { Store } from '../../stores/store.ts'
import type { RescueOptions, Worker } from '../engine.ts'
import type { Rooms } from '../rooms.ts'
import { Bell } from './bell.ts'

const JANITOR = 'janitor' as Actor

/** Ends lapsed claims, of one plan or of all, so that others can claim the tasks; returns how many. */
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

export async function rescue(
  worker: Pick<Worker, 'orphans' | 'drive'>,
  rooms: Pick<Rooms, 'clock' | 'store'>,
  options: RescueOptions,
): Promise<void> {
  const bell = new Bell()
  const driving = new Map<PlanId, Promise<void>>()
  const ring = () => bell.ring()
  options.stop.addEventListener('abort', ring)
  while (!options.stop.aborted) {
    await sweepClaims(rooms.store)
    for (const plan of await worker.orphans()) {
      if (driving.has(plan)) continue
      options.onRescued?.(plan)
      const driven = worker.drive(plan, { stop: options.stop }).then(
        result => options.onDriven?.(plan, result),
        () => {},
      )
      driving.set(
        plan,
        driven.finally(() => driving.delete(plan)),
      )
    }
    await bell.wait(rooms.clock, options.everyMs)
  }
  options.stop.removeEventListener('abort', ring)
  await Promise.all(driving.values())
}
