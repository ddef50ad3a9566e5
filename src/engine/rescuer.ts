// Takes over plans whose owner is gone: once at the start, then every few seconds, until told to stop.

import type { PlanId } from '../domain/id.ts'
import { Bell } from './bell.ts'
import type { Clock } from './clock.ts'
import type { Driven, Worker } from './engine.ts'

export interface RescuerOptions {
  readonly everyMs: number
  readonly stop: AbortSignal
  readonly onRescued?: (plan: PlanId) => void
  readonly onDriven?: (plan: PlanId, driven: Driven) => void
}

export async function rescue(worker: Worker, clock: Clock, options: RescuerOptions): Promise<void> {
  const bell = new Bell()
  const driving = new Map<PlanId, Promise<void>>()
  options.stop.addEventListener('abort', () => bell.ring())
  while (!options.stop.aborted) {
    for (const plan of await worker.orphans()) {
      if (driving.has(plan)) continue
      options.onRescued?.(plan)
      const done = worker.drive(plan, { stop: options.stop }).then(driven => options.onDriven?.(plan, driven))
      driving.set(plan, done.finally(() => driving.delete(plan)).catch(() => {}))
    }
    await bell.wait(clock, options.everyMs)
  }
  await Promise.all(driving.values())
}
