// Drives plans in this process, each in a loop of its own, all under one lease.

import type { PlanId } from '../domain/id.ts'
import { LeaseLost, type Owner } from '../stores/store.ts'
import type { Driven, DriveOptions, Worker } from './engine.ts'
import { PlanLoop } from './plan-loop.ts'
import type { Rooms } from './rooms.ts'

export class WorkerLocal implements Worker {
  readonly #rooms: Rooms
  #owner: Promise<Owner> | null = null
  /** The loops of this process; a plan has at most one. */
  readonly #driving = new Map<PlanId, Promise<unknown>>()

  constructor(rooms: Rooms) {
    this.#rooms = rooms
  }

  async drive(plan: PlanId, options: DriveOptions): Promise<Driven> {
    if (this.#driving.has(plan)) return await this.#heldHere(plan)
    const driving = this.#drive(plan, options)
    this.#driving.set(
      plan,
      driving.catch(() => {}),
    )
    try {
      return await driving
    } finally {
      this.#driving.delete(plan)
    }
  }

  orphans(): Promise<readonly PlanId[]> {
    return this.#rooms.store.leases.orphans()
  }

  /** Waits for the loops to end, then gives the lease back. */
  async close(): Promise<void> {
    await Promise.all(this.#driving.values())
    const owner = await this.#owner?.catch(() => null)
    await owner?.stop()
  }

  async #heldHere(plan: PlanId): Promise<Driven> {
    const { store, clock } = this.#rooms
    const here = { owner: '', host: '', pid: 0, alive: true, since: clock.now() }
    return { status: 'held', holder: (await store.leases.holder(plan)) ?? here }
  }

  async #drive(plan: PlanId, options: DriveOptions): Promise<Driven> {
    const { store, processes, leaseMs } = this.#rooms
    this.#owner ??= store.leases.open({ leaseMs })
    const owner = await this.#owner
    const claimed = await store.leases.claim(plan, owner)
    if (!claimed.ok) return { status: 'held', holder: claimed.holder }
    // What is left of the old owner's processes ends before anything of ours begins.
    if (claimed.tookOver !== null && (await processes.endOwner(claimed.tookOver.owner)).left > 0) {
      await store.leases.release(plan, owner)
      return { status: 'held', holder: claimed.tookOver }
    }
    const loop = new PlanLoop(this.#rooms, plan, claimed.lease, options)
    try {
      return await loop.run(owner.lost)
    } catch (error) {
      if (error instanceof LeaseLost) return { status: 'lost' }
      throw error
    } finally {
      if (!owner.lost.aborted) await store.leases.release(plan, owner).catch(() => {})
    }
  }
}
