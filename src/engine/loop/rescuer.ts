// Takes over plans whose owner died, and ends expired claims: once at the start, then every few seconds until stopped. A plan that cannot
// be driven now is tried again in the next round.

import type { PlanId } from '../../domain/id.ts'
import { sweepClaims } from '../attempts/lapsed-claims.ts'
import type { RescueOptions, Worker } from '../engine.ts'
import type { Rooms } from '../rooms.ts'
import { Bell } from './bell.ts'

export async function rescue(
  worker: Pick<Worker, 'orphans' | 'drive'>,
  rooms: Rooms,
  options: RescueOptions,
): Promise<void> {
  const bell = new Bell()
  const driving = new Map<PlanId, Promise<void>>()
  const ring = () => bell.ring()
  options.stop.addEventListener('abort', ring)
  while (!options.stop.aborted) {
    await sweepClaims(rooms)
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
