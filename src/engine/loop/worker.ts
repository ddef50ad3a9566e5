// Drives plans in this process, each in a loop of its own, all under one lease.

import { setMaxListeners } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { plainHint } from '../../domain/hint.ts'
import type { Actor, PlanId } from '../../domain/id.ts'
import { PLANS_AT_ONCE } from '../../domain/limits.ts'
import { lacksLabels } from '../../domain/rules/scheduling.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { ENDED } from '../../domain/status.ts'
import { type Claimed, type Entry, type Lease, LeaseLost, type Owner } from '../../stores/store.ts'
import type { AttendOptions, Driven, DriveOptions, RescueOptions, Worker } from '../engine.ts'
import { ensurePlace, isGone, roomsOf } from '../git/plan-worktree.ts'
import { lazy } from '../lazy-imports.ts'
import type { Rooms } from '../rooms.ts'
import { pauseHalted } from './kill-switch.ts'
import { type LoopOptions, PlanLoop } from './plan-loop.ts'
import { rescue } from './rescuer.ts'
import { missingFolder, ShortageMet } from './shortage.ts'

const ENDED_MS = 2_000

export class WorkerLocal implements Worker {
  readonly #rooms: Rooms
  #owner: Promise<Owner> | null = null
  readonly #driving = new Map<PlanId, Promise<unknown>>()
  /** True if one tracer already receives all entries, so that loops need not trace their own. */
  #tellsAll = false
  /** The description of this worker in the list of workers, while it drives all plans that are due. */
  #about: string | undefined
  /** The fence under which each plan was driven here last. */
  readonly #fences = new Map<PlanId, number>()
  /** The dead owner whose processes were ended last. */
  #ended: {
    readonly owner: string
    readonly until: number
    readonly result: ReturnType<Rooms['processes']['endOwner']>
  } | null = null

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

  rescue(options: RescueOptions): Promise<void> {
    return rescue(this, this.#rooms, options)
  }

  async attend(options: AttendOptions): Promise<void> {
    const rooms = this.#rooms
    const { attend } = await lazy.attendant()
    this.#tellAbout(options)
    if (rooms.tracer === undefined) return await attend(this, rooms, options)
    const tell = (await lazy.tracerFeed()).entryTracer(rooms)
    this.#tellsAll = true
    // We trace our own loops and what people and agents do; other processes trace their own loops.
    const isOurs = ({ plan, fence }: Entry) => fence === null || this.#fences.get(plan) === fence
    let traced: Promise<void> = Promise.resolve()
    const onEntry = (entry: Entry): void => {
      options.onEntry?.(entry)
      if (isOurs(entry)) traced = tell(entry)
    }
    await attend(this, rooms, { ...options, onEntry })
    await traced
  }

  /** A plan that has ended may have unsent notices too. A living owner sends them itself. */
  async tell(plan: PlanId, options: { readonly stop?: AbortSignal } = {}): Promise<void> {
    if (this.#rooms.publisher === undefined || this.#driving.has(plan)) return
    const telling = this.#tell(plan, options.stop ?? new AbortController().signal)
    this.#driving.set(
      plan,
      telling.catch(() => {}),
    )
    try {
      await telling
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error
    } finally {
      this.#driving.delete(plan)
    }
  }

  async #tell(plan: PlanId, stop: AbortSignal): Promise<void> {
    const { store } = this.#rooms
    const state = await store.state(plan)
    const { isIdle, sendPendingNotices } = await lazy.notifier()
    if ((await store.halts.get()) !== null) return
    if (state === null || !isIdle(state) || (await store.leases.holder(plan))?.alive === true) return
    const owner = await this.#open()
    const taken = await this.#take(plan, owner)
    if ('status' in taken) return
    try {
      await sendPendingNotices(this.#rooms, plan, taken, stop)
    } finally {
      if (!owner.lost.aborted) await store.leases.release(plan, owner).catch(() => {})
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#driving.values())
    const owner = await this.#owner?.catch(() => null)
    await owner?.stop()
  }

  #open(): Promise<Owner> {
    if (this.#owner !== null) return this.#owner
    const forget = () => {
      if (this.#owner === opened) this.#owner = null
    }
    const about = this.#about === undefined ? {} : { about: this.#about }
    const opened: Promise<Owner> = this.#rooms.store.leases.open({ leaseMs: this.#rooms.leaseMs, ...about }).then(
      owner => {
        // Every loop listens to it, and there may be many.
        setMaxListeners(0, owner.lost)
        owner.lost.addEventListener('abort', forget)
        if (this.#about !== undefined) owner.lost.addEventListener('abort', () => void this.#open().catch(() => {}))
        return owner
      },
      error => {
        forget()
        throw error
      },
    )
    this.#owner = opened
    return opened
  }

  /** It is listed as a worker from now on, also before it drives its first plan. Who cannot be listed drives all the same. */
  #tellAbout({ max = PLANS_AT_ONCE, stop }: AttendOptions): void {
    const { labels = [], about: version, store } = this.#rooms
    const described = { labels: [...labels], concurrency: max, version, ...store.shared?.here }
    this.#about = JSON.stringify(described)
    const listed = this.#open().catch(() => null)
    stop.addEventListener('abort', () => {
      this.#about = JSON.stringify({ ...described, draining: true })
      void listed
        .then(() => this.#owner)
        .then(owner => owner?.describe(this.#about!))
        .catch(() => {})
    })
  }

  /** Null if our lease expired unnoticed. */
  async #claim(plan: PlanId, owner: Owner, over: string | null): Promise<Claimed | null> {
    try {
      return await this.#rooms.store.leases.claim(plan, owner, { over })
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error
      this.#owner = null
      return null
    }
  }

  async #heldHere(plan: PlanId): Promise<Driven> {
    const { store, clock } = this.#rooms
    const here = { owner: '', host: '', pid: 0, alive: true, since: clock.now() }
    return { status: 'held', holder: (await store.leases.holder(plan)) ?? here }
  }

  async #take(plan: PlanId, owner: Owner, found: Pick<LoopOptions, 'hasEndedProcesses'> = {}): Promise<Lease | Driven> {
    const { store } = this.#rooms
    // Processes of a dead owner are killed before the plan is ours: if we died in between, our successor would only know of our processes.
    const holder = await store.leases.holder(plan)
    const over = holder === null || holder.alive ? null : holder
    if (over !== null) {
      const { ended, left } = await this.#endOwner(over.owner)
      found.hasEndedProcesses = ended > 0
      if (left > 0) return { status: 'held', holder: over }
    }
    const claimed = await this.#claim(plan, owner, over?.owner ?? null)
    if (claimed === null) return { status: 'lost' }
    return claimed.ok ? claimed.lease : { status: 'held', holder: claimed.holder }
  }

  /** Once for all plans of the owner that are taken over now, because the processes of the whole machine are looked at. */
  #endOwner(owner: string): ReturnType<Rooms['processes']['endOwner']> {
    const { clock, processes } = this.#rooms
    const known = this.#ended
    if (known !== null && known.owner === owner && known.until > clock.monotonic()) return known.result
    const result = processes.endOwner(owner).then(async ended => {
      if (ended.ended > 0) await this.#livedUntilNow(owner)
      return ended
    })
    this.#ended = { owner, until: clock.monotonic() + ENDED_MS, result }
    return result
  }

  /** Processes of a dead owner were found alive, so recent changes of its files may be their work. */
  async #livedUntilNow(owner: string): Promise<void> {
    const { store, signs } = this.#rooms
    if (signs === undefined) return
    for (const plan of await store.leases.orphans())
      if ((await store.leases.holder(plan))?.owner === owner) signs.touch(plan)
  }

  async #drive(plan: PlanId, options: DriveOptions): Promise<Driven> {
    const { store } = this.#rooms
    // Asked together: from a database each answer takes a while, and a plan whose worker died waits for them.
    const [elsewhere, halt, owner] = await Promise.all([
      whyElsewhere(this.#rooms, plan),
      store.halts.get(),
      this.#open(),
    ])
    if (elsewhere !== null) return elsewhere
    if (halt !== null && (await pauseHalted(store, plan, halt)) === null) return { status: 'rested', rest: 'paused' }
    const found: LoopOptions = { ...options }
    const taken = await this.#take(plan, owner, found)
    if ('status' in taken) return taken
    try {
      const rooms = await this.#roomsFor(plan)
      if (rooms === null) return { status: 'rested', rest: 'paused' }
      // Records the devices of the folders while they exist.
      missingFolder(rooms)
      await removeLeftTries(this.#rooms, plan)
      const loop = new PlanLoop(rooms, plan, taken, found)
      const driven = await this.#traced(plan, taken, () => loop.run(owner.lost))
      if (!owner.lost.aborted) await removeLeftTries(this.#rooms, plan)
      const hasEnded = driven.status === 'rested' && driven.rest === 'ended'
      if (hasEnded && rooms !== this.#rooms) await (await lazy.forkChanges()).storeForkEnd(this.#rooms, plan)
      // Leftovers do no harm.
      if (hasEnded) await this.#forget(plan).catch(() => {})
      return driven
    } catch (error) {
      if (error instanceof LeaseLost) return { status: 'lost' }
      if (error instanceof ShortageMet) return { status: 'short', shortage: error.shortage }
      throw error
    } finally {
      if (!owner.lost.aborted) await store.leases.release(plan, owner).catch(() => {})
    }
  }

  async #forget(plan: PlanId): Promise<void> {
    const { store, signs } = this.#rooms
    signs?.forget(plan)
    const state = await store.state(plan)
    if (state !== null && state.restored.length > 0) (await lazy.restoreScope()).forgetRestores(this.#rooms, state)
  }

  async #traced<T>(plan: PlanId, { fence }: Lease, run: () => Promise<T>): Promise<T> {
    const { tracer, store } = this.#rooms
    if (tracer === undefined) return await run()
    this.#fences.set(plan, fence)
    if (this.#tellsAll) return await run()
    const { traceJournal } = await lazy.tracerFeed()
    const stop = new AbortController()
    const takes = (entry: Entry) => entry.fence === fence
    const tracing = traceJournal(this.#rooms, { plan, after: await store.position(), takes, stop: stop.signal })
    try {
      return await run()
    } finally {
      stop.abort()
      // Trouble with tracing must not affect the plan.
      await tracing.catch(() => {})
    }
  }

  /** Null if the plan's folder is missing: the plan is paused before a task fails for that. */
  async #roomsFor(plan: PlanId): Promise<Rooms | null> {
    const { store } = this.#rooms
    const state = await store.state(plan)
    if (state === null || state.place === null) return this.#rooms
    const rooms = roomsOf(this.#rooms, state)
    const placed = isMoving(state) ? await ensurePlace(this.#rooms, state) : { ok: true as const }
    if (placed.ok && (!isMoving(state) || !isGone(rooms))) return rooms
    const reason = placed.ok
      ? `its folder ${state.place} is missing; bring it back, then resume`
      : `its worktree could not be created: ${placed.failure.message} ${plainHint(placed.failure.hint ?? '')}`
    const paused = await store.update(plan, { type: 'pause', reason }, { actor: 'engine' as Actor })
    return paused.ok ? null : rooms
  }
}

/** Another worker has what the plan wants. */
async function whyElsewhere(rooms: Rooms, plan: PlanId): Promise<Driven | null> {
  const { store, labels } = rooms
  const [workspace, state] = await Promise.all([store.shared?.workspaceOf(plan), store.state(plan)])
  if (workspace?.here === false)
    return {
      status: 'elsewhere',
      reason: `its files are in ${workspace.root} on ${workspace.host}, not here`,
      labels: [],
    }
  const lacks = state === null || labels === undefined ? [] : lacksLabels(state.definition, labels)
  if (lacks.length === 0)
    return state === null || store.shared === undefined ? null : await whyWithoutSecret(rooms, state)
  return {
    status: 'elsewhere',
    reason: `it wants a worker with ${lacks.length === 1 ? 'the label' : 'the labels'} ${lacks.join(', ')}`,
    labels: lacks,
  }
}

/** Values never travel: among several workers, one that has the sources of all secrets drives the plan. */
async function whyWithoutSecret({ environment, root, stateDir }: Rooms, { order }: PlanState): Promise<Driven | null> {
  const wanted = order.flatMap(({ status, definition }) => (ENDED.has(status) ? [] : (definition.secrets ?? [])))
  if (wanted.length === 0) return null
  const read = await (await lazy.secretSources()).readSecretSources({ environment, root, stateDir })
  const secret = wanted.find(name => !read.ok || !Object.hasOwn(read.value.sources, name))
  if (secret === undefined) return null
  return {
    status: 'elsewhere',
    reason: `it wants the secret '${secret}', which is not configured here`,
    labels: [],
    secret,
  }
}

/** Folders of races that were killed or cancelled. Most workspaces have none. */
async function removeLeftTries(rooms: Rooms, plan: PlanId): Promise<void> {
  if (existsSync(join(rooms.stateDir, 'tries'))) await (await lazy.tryFolders()).removeLeftTries(rooms, plan)
}

/** A plan that is being compensated or rolled back continues without its folder; what then fails is recorded for each task. */
const isMoving = ({ status, compensating, rollback }: PlanState): boolean =>
  status === 'active' && compensating === null && rollback === null
