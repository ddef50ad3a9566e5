// Leases: which process drives a plan. One lease per process covers all its plans; every claim increments the plan's fence, which every
// append checks. An expired lease is never renewed: its owner has to notice and stop.
//
//   free ─claim→ held ─release→ free          held, and its owner dead or expired ─claim→ held by another, fence + 1

import type { PlanId } from '../../domain/id.ts'
import { type Claimed, type Holder, LeaseLost, type Leases, type Owner, type OwnerRow, StoreFull } from '../store.ts'
import type { OwnerRecord, Tables, Transactions } from '../tables.ts'
import type { Clock, Host } from './host.ts'
import { holdsLease, isAlive, leaseFor } from './liveness.ts'

/** Renews a lease outside the event loop; calls `lost` when it could not. */
export type Heartbeat = (
  lease: { readonly id: string; readonly leaseMs: number },
  lost: () => void,
) => { stop(): Promise<void> }

export interface LeaseOptions {
  readonly transactions: Transactions
  readonly clock: Clock
  readonly host: Host
  /** Absent: leases are renewed only by `renew`, as in a simulation. */
  readonly heartbeat?: Heartbeat
  readonly newId: () => string
}

const LEASE_DEFAULT_MS = 10_000
const OPEN = ['active', 'paused'] as const

/** Releasing a lease must not fail because of a full disk. */
function passOverFull(error: unknown): void {
  if (!(error instanceof StoreFull)) throw error
}

export class LeasesOnTables implements Leases {
  readonly #room: LeaseOptions
  readonly #owners = new Map<string, { leaseMs: number; lost: AbortController; stop: () => Promise<void> }>()

  constructor(room: LeaseOptions) {
    this.#room = room
  }

  async open(options: { readonly leaseMs: number; readonly about?: string }): Promise<Owner> {
    const { transactions, host, heartbeat, newId } = this.#room
    const leaseMs = options.leaseMs > 0 ? options.leaseMs : LEASE_DEFAULT_MS
    const id = newId()
    const { about = '' } = options
    await transactions.write(tables => {
      for (const idle of tables.owners.idle()) if (!isAlive(this.#room, idle)) tables.owners.remove(idle.id)
      const { host: name, boot, pids, pid, startTime } = host
      tables.owners.add({ id, host: name, boot, pids, pid, startTime, about, ...leaseFor(this.#room, leaseMs) })
    })
    const lost = new AbortController()
    const beat = heartbeat?.({ id, leaseMs }, () => lost.abort())
    const stop = async () => {
      if (!this.#owners.delete(id)) return
      await beat?.stop()
      // If the disk is full, the row stays, until the next process finds the owner dead and removes it.
      await transactions.write(tables => tables.owners.remove(id)).catch(passOverFull)
    }
    this.#owners.set(id, { leaseMs, lost, stop })
    const describe = (text: string) => transactions.write(tables => tables.owners.describe(id, text))
    return { id, lost: lost.signal, describe, stop }
  }

  claim(plan: PlanId, owner: Owner, options?: { readonly over: string | null }): Promise<Claimed> {
    return this.#room.transactions.write(tables => {
      const head = headOf(tables, plan)
      if (head === null) throw new Error(`there is no plan ${plan} to claim`)
      if (head.home != null && head.home !== this.#room.host.host)
        return { ok: false, holder: { owner: '', host: head.home, pid: 0, alive: true, since: head.at, isHome: true } }
      const claimant = tables.owners.get(owner.id)
      if (claimant === null || !holdsLease(this.#room, claimant))
        throw new LeaseLost(`the lease of owner ${owner.id} ran out`)
      const held = tables.owners.holder(head.no)
      if (held?.owner.id === owner.id)
        return { ok: true, lease: { owner: owner.id, fence: head.fence }, tookOver: null }
      if (held !== null && isAlive(this.#room, held.owner)) return { ok: false, holder: this.#holder(held) }
      if (held !== null && options !== undefined && held.owner.id !== options.over)
        return { ok: false, holder: this.#holder(held) }
      const fence = head.fence + 1
      tables.owners.hold(head.no, owner.id, fence, this.#room.clock.now())
      return { ok: true, lease: { owner: owner.id, fence }, tookOver: held === null ? null : this.#holder(held) }
    })
  }

  release(plan: PlanId, owner: Owner): Promise<void> {
    return this.#room.transactions.write(tables => {
      const head = headOf(tables, plan)
      if (head !== null) tables.owners.letGo(head.no, owner.id)
    })
  }

  async holder(plan: PlanId): Promise<Holder | null> {
    return this.#room.transactions.read(tables => {
      const head = headOf(tables, plan)
      const held = head === null ? null : tables.owners.holder(head.no)
      return held === null ? null : this.#holder(held)
    })
  }

  async orphans(): Promise<readonly PlanId[]> {
    return this.#room.transactions.read(tables =>
      tables.owners.held('active').flatMap(({ plan, owner }) => (isAlive(this.#room, owner) ? [] : [plan])),
    )
  }

  async owners(): Promise<readonly OwnerRow[]> {
    return this.#room.transactions.read(tables => {
      const held = OPEN.flatMap(status => tables.owners.held(status))
      return tables.owners.all().map(owner => {
        const { id, host, pid, about } = owner
        const plans = held.flatMap(one => (one.owner.id === id ? [one.plan] : []))
        return { id, host, pid, about, alive: isAlive(this.#room, owner), plans }
      })
    })
  }

  async renew(): Promise<void> {
    for (const [id, { leaseMs, lost }] of this.#owners) {
      const renewed = await this.#room.transactions.write(tables =>
        tables.owners.renew(id, leaseFor(this.#room, leaseMs), this.#room.clock.monotonic()),
      )
      if (!renewed) lost.abort()
    }
  }

  /** The duration of a lease with a heartbeat; undefined for others. */
  renewable(owner: string): number | undefined {
    return this.#room.heartbeat === undefined ? undefined : this.#owners.get(owner)?.leaseMs
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#owners.values(), owner => owner.stop()))
  }

  #holder(held: { readonly owner: OwnerRecord; readonly since: number }): Holder {
    const { id, host, pid } = held.owner
    return { owner: id, host, pid, alive: isAlive(this.#room, held.owner), since: held.since }
  }
}

function headOf(tables: Tables, plan: PlanId) {
  const no = tables.journal.planNo(plan)
  return no === null ? null : tables.journal.head(no)
}
