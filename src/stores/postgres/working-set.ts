// What one turn writes, and what this process knows from its own earlier writes: the heads and reservations of the plans it worked on. The
// guards of an append refuse what is not true any more; then it is loaded again.

import type { StoredEntry } from '../journal/entry.ts'
import type { Head, OwnerRecord, ReservationRow } from '../tables.ts'
import type { Guard, Item, Write } from './append.ts'

export interface KnownPlan {
  readonly id: string
  /** When it was loaded. */
  readonly name: string
  readonly head: Head
  readonly reservations: readonly ReservationRow[]
}

const PLANS_MAX = 1_000

export class WorkingSet {
  readonly plans = new Map<number, KnownPlan>()
  readonly numbers = new Map<string, number>()
  /** Owners of this process. */
  readonly owners = new Map<string, OwnerRecord>()
  /** When their leases run out, written by the threads that renew them. */
  readonly beats = new Map<string, BigInt64Array>()

  owner(id: string): OwnerRecord | undefined {
    const owner = this.owners.get(id)
    const ends = this.beats.get(id)
    return owner === undefined || ends === undefined
      ? owner
      : { ...owner, expires: Math.max(owner.expires, Number(Atomics.load(ends, 0))) }
  }

  know(no: number, plan: KnownPlan): void {
    if (this.plans.size >= PLANS_MAX && !this.plans.has(no)) this.forgetAll()
    this.plans.set(no, plan)
    this.numbers.set(plan.id, no)
  }

  forget(no: number): void {
    const plan = this.plans.get(no)
    if (plan !== undefined) this.numbers.delete(plan.id)
    this.plans.delete(no)
  }

  forgetAll(): void {
    this.plans.clear()
    this.numbers.clear()
  }
}

/** The guards and writes of one request, and the plans it changed in the working set. */
export class Recording {
  readonly guards: Guard[] = []
  readonly writes: Write[] = []
  readonly touched = new Set<number>()
  /** Plans that were taken from the working set: another process may have changed them. */
  readonly remembered = new Set<number>()
  readonly entries: StoredEntry[] = []

  guard(guard: Guard): void {
    this.guards.push(guard)
  }

  write(write: Write): void {
    this.writes.push(write)
  }

  get isEmpty(): boolean {
    return this.writes.length === 0
  }

  /** A step has one guard, of the head that its entry moves: then both are one statement. */
  item(): Item {
    const [guard, another] = this.guards
    const [entry] = this.writes
    const isStep = guard?.g === 'head' && guard.fence !== null && another === undefined
    if (!isStep || entry?.w !== 'entry' || entry.no !== guard.no) return { guards: this.guards, writes: this.writes }
    return { guards: [], writes: [{ ...entry, held: guard }, ...this.writes.slice(1)] }
  }
}
