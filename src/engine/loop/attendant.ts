// Drives plans inside a long-lived process: every plan that has work and no owner, at first and then as the journal grows. A plan that only
// waits for people or agents costs nothing until its journal changes. The queue says where to look.
//
//   queue ──► has it work now? ──► in line ──► driven (at most `max`) ──► checked again
//              └─ later: back to the queue       └─ held by others, or no progress: put off

import type { PlanId } from '../../domain/id.ts'
import { PLANS_AT_ONCE } from '../../domain/limits.ts'
import { hasWork, mayTell, nextActions } from '../../domain/next-actions.ts'
import { lacksLabels } from '../../domain/rules/scheduling.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { Queue } from '../../queues/queue.ts'
import type { Entry, Position, Store } from '../../stores/store.ts'
import { sweepClaims } from '../attempts/lapsed-claims.ts'
import type { AttendOptions, Driven, Worker } from '../engine.ts'
import type { ScopeWait } from '../queries.ts'
import type { Rooms } from '../rooms.ts'
import { Bell } from './bell.ts'
import { ShortageWatch } from './shortage-watch.ts'

type Listener = (plan: PlanId) => void

const listeners = new WeakMap<Store, Listener>()

/**
 * Listeners for orders given in this process. The attendant drives such plans at once. Plans started by another process are left to that
 * process for a moment, because it will most likely drive them itself. Called before the order is written, so that the attendant knows of
 * it when it sees the entry.
 */
export function noteOrder(store: Store, plan: PlanId): void {
  listeners.get(store)?.(plan)
}

function listenForOrders(store: Store, listener: Listener): void {
  listeners.set(store, listener)
}

const REST_MS = 25
const ROUND_MS = 5_000
/** A plan with nothing running whose next step is due later than this gives its slot to others; a timer brings it back in time. */
const PATIENCE_MS = 2_000
const BACK_OFF_MAX_MS = 60_000
/** A plan held by another process is checked this often, because it may be released without an entry. */
const HELD_MS = 1_000
const GRACE_MS = 1_000
/** An entry this soon after an order given here counts as its consequence. */
const ORDERED_MS = 10_000
const TIDY_MS = 60_000
const PAGE = 200

interface PutOff {
  readonly at: number
  readonly waitMs: number
  /** Null: put off regardless of the plan's version. */
  readonly version: number | null
}

type PlanDriver = Pick<Worker, 'drive' | 'tell'>

const NO_LABELS: ReadonlySet<string> = new Set()

export async function attend(driver: PlanDriver, rooms: Rooms, options: AttendOptions): Promise<void> {
  await new Attendant(driver, rooms, options).run()
}

class Attendant {
  readonly #driver: PlanDriver
  readonly #rooms: Rooms
  readonly #options: AttendOptions
  readonly #queue: Queue
  readonly #bell = new Bell()
  readonly #everyMs: number
  readonly #max: number
  readonly #graceMs: number
  /** The last order given in this process, on the monotonic clock. */
  readonly #ordered = new Map<PlanId, number>()
  readonly #moved = new Set<PlanId>()
  readonly #line = new Set<PlanId>()
  readonly #driving = new Map<PlanId, Promise<void>>()
  /** Held by others, or driving them at this version had no effect: not to be driven before this time on the monotonic clock. */
  readonly #later = new Map<PlanId, PutOff>()
  /** Waiting for files that other plans have reserved. They occupy no slot, and are checked again when one of those plans changes. */
  readonly #scopes = new Map<PlanId, readonly ScopeWait[]>()
  readonly #notified = new Map<PlanId, number>()
  readonly #shortages: ShortageWatch

  constructor(driver: PlanDriver, rooms: Rooms, options: AttendOptions) {
    this.#driver = driver
    this.#rooms = rooms
    this.#options = options
    this.#everyMs = options.everyMs ?? ROUND_MS
    this.#max = Math.max(1, options.max ?? PLANS_AT_ONCE)
    if (rooms.queue === undefined) throw new Error('bug: plans are attended without a queue')
    this.#queue = rooms.queue(this.#everyMs)
    this.#graceMs = options.graceMs ?? GRACE_MS
    this.#shortages = new ShortageWatch(rooms, this.#everyMs)
    listenForOrders(rooms.store, plan => void this.#ordered.set(plan, rooms.clock.monotonic()))
  }

  async run(): Promise<void> {
    const { stop } = this.#options
    const { clock, store } = this.#rooms
    const ring = () => this.#bell.ring()
    stop.addEventListener('abort', ring)
    const after = await this.#tried(() => store.position())
    const following = this.#follow(after ?? 0)
    let roundAt = clock.monotonic()
    let tidyAt = roundAt + TIDY_MS
    // Only the next round and the stop wait for it.
    let tidying: Promise<void> = Promise.resolve()
    while (!stop.aborted) {
      if (clock.monotonic() >= roundAt) {
        await this.#tried(() => this.#round())
        roundAt = clock.monotonic() + this.#everyMs
      }
      if (clock.monotonic() >= tidyAt) {
        tidying = tidying.then(async () => void (await this.#tried(() => store.tidy())))
        tidyAt = clock.monotonic() + TIDY_MS
      }
      this.#findPutOff()
      if (clock.monotonic() >= this.#shortages.nextAt) await this.#tried(() => this.#shortages.resumeDue())
      await this.#tried(() => this.#takeDue())
      await this.#lookAtMoved()
      this.#fill()
      if (this.#moved.size === 0 && !stop.aborted) await this.#bell.wait(clock, this.#untilNext(roundAt))
    }
    stop.removeEventListener('abort', ring)
    await Promise.all([following, tidying, ...this.#driving.values()])
  }

  async #follow(from: Position): Promise<void> {
    const { stop } = this.#options
    const { clock, store } = this.#rooms
    const gone = new Bell()
    const ring = () => gone.ring()
    stop.addEventListener('abort', ring)
    let after = from
    let restedAt = 0
    while (!stop.aborted) {
      await this.#tried(async () => {
        for await (const entry of store.watch({ after, signal: stop, verify: false })) {
          after = entry.position
          this.#options.onEntry?.(entry)
          this.#hear(entry)
          // Entries come in bursts: after a short rest many are read at once.
          if (clock.monotonic() - restedAt < REST_MS) continue
          await gone.wait(clock, REST_MS)
          restedAt = clock.monotonic()
        }
      })
      if (!stop.aborted) await gone.wait(clock, this.#everyMs)
    }
    stop.removeEventListener('abort', ring)
  }

  #hear(entry: Entry): void {
    for (const [plan, waits] of this.#scopes) {
      if (!waits.some(({ by }) => by.some(holder => holder.plan === entry.plan))) continue
      this.#moved.add(plan)
      this.#bell.ring()
    }
    // The loop reads it itself; the plan is checked again afterwards.
    if (this.#driving.has(entry.plan)) return
    const isHeld = this.#later.get(entry.plan)?.version === null
    if (isHeld && entry.fence !== null) return
    if (this.#isOrdered(entry.plan)) this.#later.delete(entry.plan)
    else if (entry.fence === null) this.#putOff(entry.plan, null, this.#graceMs)
    this.#queue.heard(entry)
    this.#bell.ring()
  }

  async #round(): Promise<void> {
    await sweepClaims(this.#rooms)
    for (const plan of [...this.#ordered.keys()]) if (!this.#isOrdered(plan)) this.#ordered.delete(plan)
  }

  /** An order may cause several entries, one of them by another process: then the plan is driven a little too early, which is harmless. */
  #isOrdered(plan: PlanId): boolean {
    return this.#rooms.clock.monotonic() - (this.#ordered.get(plan) ?? Number.NEGATIVE_INFINITY) < ORDERED_MS
  }

  async #takeDue(): Promise<void> {
    for (const plan of await this.#queue.take(this.#max - this.#driving.size - this.#line.size)) this.#moved.add(plan)
  }

  #findPutOff(): void {
    const ticks = this.#rooms.clock.monotonic()
    for (const [plan, { at }] of this.#later) if (at <= ticks && !this.#isAtWork(plan)) this.#moved.add(plan)
  }

  #isAtWork = (plan: PlanId): boolean => this.#driving.has(plan) || this.#line.has(plan)

  async #lookAtMoved(): Promise<void> {
    // In pages, so that a busy writer does not delay expired claims and orphaned plans.
    for (const plan of [...this.#moved].slice(0, PAGE)) {
      if (this.#options.stop.aborted) return
      this.#moved.delete(plan)
      if (!this.#isAtWork(plan)) await this.#tried(() => this.#look(plan), plan)
      // Start what is ready before all have been checked.
      this.#fill()
    }
  }

  async #look(plan: PlanId): Promise<void> {
    const { store, clock } = this.#rooms
    const state = await store.state(plan)
    if (state === null) return
    const { version } = state
    this.#shortages.look(state)
    const next = nextActions(state, clock.now())
    const later = this.#later.get(plan)
    // A shared queue gives out no plan that is held: its owner has died since it was put off for that.
    const isOrphan = store.shared !== undefined && later?.version === null && state.running.size > 0
    const isPutOff =
      later !== undefined && !isOrphan && later.at > clock.monotonic() && (later.version ?? version) === version
    const isWanted = this.#mayDrive(state) && (hasWork(next) || this.#hasNews(state))
    if (isWanted && isPutOff && this.#scopes.has(plan)) return await this.#lookAtScopes(state)
    if (isWanted && !isPutOff) this.#line.add(plan)
    if (!isWanted) this.#later.delete(plan)
    if (!isWanted && this.#mayDrive(state))
      await this.#queue.rest(plan, version, next.rest === 'ended' ? null : next.wakeAt)
  }

  async #lookAtScopes({ id }: PlanState): Promise<void> {
    for (const { root, paths } of this.#scopes.get(id) ?? []) {
      const { holders } = await this.#rooms.store.reservations.holders(id, { root, paths })
      if (holders.length > 0) continue
      this.#scopes.delete(id)
      this.#later.delete(id)
      this.#line.add(id)
      return
    }
  }

  /** Another worker may have the labels that it wants. */
  #mayDrive({ definition }: PlanState): boolean {
    return lacksLabels(definition, this.#rooms.labels ?? NO_LABELS).length === 0
  }

  #hasNews(state: PlanState): boolean {
    return mayTell(state) && this.#notified.get(state.id) !== state.version
  }

  #fill(): void {
    for (const plan of this.#line) {
      if (this.#driving.size >= this.#max || this.#options.stop.aborted) return
      this.#line.delete(plan)
      const driven = this.#tried(() => this.#drive(plan), plan).finally(() => {
        this.#driving.delete(plan)
        this.#moved.add(plan)
        this.#bell.ring()
      })
      this.#driving.set(plan, driven)
    }
  }

  async #drive(plan: PlanId): Promise<void> {
    const { stop, force, onDriving, onDriven } = this.#options
    const { store, clock } = this.#rooms
    const state = await store.state(plan)
    if (state === null) return
    const { version } = state
    const works = hasWork(nextActions(state, clock.now()))
    // Put off first, so that a plan whose drive throws is not retried at once.
    this.#putOff(plan, version)
    if ((await store.leases.holder(plan))?.alive === true) return this.#putOff(plan, null)
    if (works) {
      onDriving?.(1)
      const driven = await this.#driver
        .drive(plan, {
          stop,
          patienceMs: PATIENCE_MS,
          holdMs: Number.POSITIVE_INFINITY,
          force,
        })
        .finally(() => onDriving?.(-1))
      onDriven?.(plan, driven)
      const held = driven.status === 'rested' ? (driven.held ?? []) : []
      if (held.length > 0) this.#scopes.set(plan, held)
      else this.#scopes.delete(plan)
      if (isElsewhere(driven)) return this.#putOff(plan, null)
    } else await this.#driver.tell(plan, { stop })
    const after = (await store.state(plan))?.version ?? 0
    this.#notified.set(plan, after)
    if (this.#scopes.has(plan)) this.#putOff(plan, after)
    else if (!works || after !== version) this.#later.delete(plan)
  }

  #putOff(plan: PlanId, version: number | null, firstWaitMs = Math.min(HELD_MS, this.#everyMs)): void {
    const before = this.#later.get(plan)
    const isAgain = version !== null && before?.version === version
    const firstMs = version === null ? firstWaitMs : this.#everyMs
    const waitMs = isAgain ? Math.min(BACK_OFF_MAX_MS, before.waitMs * 2) : firstMs
    this.#later.set(plan, { at: this.#rooms.clock.monotonic() + waitMs, waitMs, version })
  }

  #untilNext(roundAt: number): number {
    const { clock } = this.#rooms
    let wait = Math.min(roundAt, this.#shortages.nextAt) - clock.monotonic()
    wait = Math.min(wait, this.#queue.quietMs())
    for (const [plan, { at }] of this.#later) if (!this.#isAtWork(plan)) wait = Math.min(wait, at - clock.monotonic())
    return Math.max(0, wait)
  }

  /** An error of the store or of one plan is reported, and the other plans continue. */
  async #tried<T>(work: () => Promise<T>, plan: PlanId | null = null): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      this.#options.onTrouble?.(error, plan)
      return undefined
    }
  }
}

const isElsewhere = ({ status }: Driven): boolean => status === 'held' || status === 'lost' || status === 'elsewhere'
