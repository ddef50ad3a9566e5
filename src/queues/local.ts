// The queue inside a process: every open plan once, then those whose journal grew, whose timer is due, or whose owner died.

import type { Millis, PlanId } from '../domain/id.ts'
import type { PlanStatus } from '../domain/status.ts'
import type { Entry, Store } from '../stores/store.ts'
import type { Queue } from './queue.ts'

const PAGE = 200
const OPEN: readonly PlanStatus[] = ['active', 'blocked', 'paused']

interface Room {
  readonly store: Pick<Store, 'plans'> & { readonly leases: Pick<Store['leases'], 'orphans'> }
  readonly clock: { now(): Millis; monotonic(): number }
  /** How often to look for plans whose owner died. */
  readonly everyMs: number
}

export class QueueLocal implements Queue {
  readonly #room: Room
  readonly #moved = new Set<PlanId>()
  readonly #wakes = new Map<PlanId, Millis>()
  #orphansAt = Number.NEGATIVE_INFINITY
  #hasLooked = false

  constructor(room: Room) {
    this.#room = room
  }

  async take(): Promise<readonly PlanId[]> {
    const { store, clock, everyMs } = this.#room
    if (!this.#hasLooked) {
      await this.#findOpen()
      this.#hasLooked = true
    }
    if (clock.monotonic() >= this.#orphansAt) {
      for (const plan of await store.leases.orphans()) this.#moved.add(plan)
      this.#orphansAt = clock.monotonic() + everyMs
    }
    const now = clock.now()
    for (const [plan, at] of this.#wakes) if (at <= now) this.#moved.add(plan)
    const taken = [...this.#moved]
    this.#moved.clear()
    for (const plan of taken) this.#wakes.delete(plan)
    return taken
  }

  heard({ plan }: Pick<Entry, 'plan'>): void {
    this.#moved.add(plan)
  }

  async rest(plan: PlanId, _version: number, until: Millis | null): Promise<void> {
    if (until === null) this.#wakes.delete(plan)
    else this.#wakes.set(plan, until)
  }

  quietMs(): number {
    const { clock } = this.#room
    if (this.#moved.size > 0) return 0
    let wait = this.#orphansAt - clock.monotonic()
    const now = clock.now()
    for (const at of this.#wakes.values()) wait = Math.min(wait, at - now)
    return Math.max(0, wait)
  }

  async #findOpen(): Promise<void> {
    for (const status of OPEN) {
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page = await this.#room.store.plans({ status, limit: PAGE, ...(cursor === '' ? {} : { cursor }) })
        for (const { id } of page.items) this.#moved.add(id)
        cursor = page.next
      }
    }
  }
}
