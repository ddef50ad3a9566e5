// The loop that drives one plan. It performs only attempts whose start is in the journal (L1), waits in one place while it runs (L3),
// and ends at once when its lease is lost (L5; for these laws see ARCHITECTURE.md). Fresh start, resume and crash recovery are the same path:
//
//        ┌──────────── recover: unfinished attempts of an old owner become lost ────────┐
//        ▼                                                                              │ (commit unknown: read again)
//   nextActions ──► perform started attempts, prepare the next tasks, stop what is no longer wanted
//        │
//        ├─ results, or a turn would change something ──► update(turn) ──► durable ──► back to the top
//        ├─ nothing left to do for this process ──► rest
//        └─ otherwise ──► wait for the bell: a result, a change by others, a timer, a stop
//
// A finished attempt stays in flight until the turn with its result is durable, so it can be neither lost nor started twice.

import type { CommandOf, Turn } from '../../domain/command.ts'
import type { Actor, Millis, PlanId } from '../../domain/id.ts'
import { type NextActions, nextActions } from '../../domain/next-actions.ts'
import { effectOf, mayRunAgain, scopeOf, scopesOverlap } from '../../domain/plan-rules/effect.ts'
import type { Failure } from '../../domain/result.ts'
import { compensationEffect } from '../../domain/rollback/compensation.ts'
import { type Shortage, shortageIn, shortageReason } from '../../domain/shortage.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { CommitUnknown, type Lease, LeaseLost } from '../../stores/store.ts'
import { Stopper } from '../attempts/stop.ts'
import type { Clock } from '../clock.ts'
import type { Driven, DriveOptions } from '../engine.ts'
import type { Rooms } from '../rooms.ts'
import { Bell, onSignals } from './bell.ts'
import { LOOP_EFFECTS, type LoopEffects } from './loop-effects.ts'
import { PendingResults } from './pending-results.ts'
import { failureFor, HOLD_MS, isFailStop, ShortageMet, ShortagePause, shortageOf } from './shortage.ts'

// The time of a plan: dated by its journal, continued by the monotonic clock. A wall clock that jumps back neither reverses nor stops it,
// so a retry due in a second starts in a second.

class PlanTime {
  readonly #clock: Clock
  #at: Millis
  #since: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#at = clock.now()
    this.#since = clock.monotonic()
  }

  now(): Millis {
    return Math.floor(this.#at + (this.#clock.monotonic() - this.#since))
  }

  follow(updatedAt: Millis): void {
    const monotonic = this.#clock.monotonic()
    this.#at = Math.max(Math.floor(this.#at + (monotonic - this.#since)), updatedAt)
    this.#since = monotonic
  }
}

const ENGINE = 'engine' as Actor

interface Flight {
  readonly key: string
  readonly task: TaskState
  readonly visit: number
  readonly attempt: number
  readonly interruptible: boolean
  readonly stop: Stopper
  ended: boolean
}

type Chore = 'commit' | 'rollback' | 'propose'

export interface LoopOptions extends DriveOptions {
  /** Processes of the dead owner were still running, and were killed before the takeover. */
  hasEndedProcesses?: boolean
}

export class PlanLoop {
  readonly #rooms: Rooms
  readonly #plan: PlanId
  readonly #lease: Lease
  readonly #options: LoopOptions
  readonly #bell = new Bell()
  readonly #flights = new Map<string, Flight>()
  /** By task and visit. Kept until the turn that contains the result is durable, like a flight. */
  readonly #preparing = new Set<string>()
  #results = new PendingResults()
  /** Started, and the result is not durable yet. */
  readonly #chores = new Set<Chore>()
  #working = 0
  /** Fires when nothing new may start; a running check of a precondition is then abandoned. */
  readonly #leaving = new AbortController()
  #stale = false
  #unknowns = 0
  #writing = false
  /** On the monotonic clock: until then nobody else can have taken the plan, because of our last write. */
  #heldUntil = 0
  /** A shortage of our own work: nothing new starts before the next try. */
  readonly #shortagePause: ShortagePause
  /** A shortage that keeps us from writing the journal. */
  readonly #unwritten: ShortagePause
  /** After this error the process must not write; the loop ends with it. */
  #failStop: { readonly error: unknown } | null = null
  readonly #time: PlanTime
  readonly #effects: LoopEffects
  readonly #notices: ReturnType<LoopEffects['notices']>
  readonly #scopes: ReturnType<LoopEffects['scopeWaits']>

  constructor(rooms: Rooms, plan: PlanId, lease: Lease, options: LoopOptions, effects: LoopEffects = LOOP_EFFECTS) {
    this.#effects = effects
    this.#rooms = rooms
    this.#plan = plan
    this.#lease = lease
    this.#options = options
    this.#time = new PlanTime(rooms.clock)
    this.#shortagePause = new ShortagePause(rooms.clock, HOLD_MS)
    this.#unwritten = new ShortagePause(rooms.clock, options.holdMs ?? HOLD_MS)
    const { signal: leaving } = this.#leaving
    this.#scopes = effects.scopeWaits(rooms, options.onWaiting)
    this.#notices = effects.notices(rooms, { owner: lease.owner, bell: this.#bell, isHeld: this.#isHeld, leaving })
  }

  async run(lost: AbortSignal): Promise<Driven> {
    const ring = () => this.#bell.ring()
    const unlisten = this.#rooms.store.onChange(origin => {
      if (origin === 'elsewhere') this.#stale = true
      this.#scopes.changed()
      // Our own turn needs no ring: the loop looks again as soon as it is written.
      if (origin === 'elsewhere' || !this.#writing) ring()
    })
    const unheed = onSignals([this.#options.stop, this.#options.force, lost], ring)
    try {
      return await this.#drive(lost)
    } finally {
      unlisten()
      unheed()
      await this.#land()
    }
  }

  async #drive(lost: AbortSignal): Promise<Driven> {
    const { patienceMs = Number.POSITIVE_INFINITY } = this.#options
    let state = await this.#recover()
    for (;;) {
      if (lost.aborted) return { status: 'lost' }
      if (this.#failStop !== null) throw this.#failStop.error
      if (this.#stale) state = await this.#read()
      const stopping = this.#options.stop.aborted
      if (stopping) this.#leaving.abort()
      if (this.#scopes.lookMs !== null) await this.#scopes.look(state)
      const next = nextActions(state, this.#time.now(), this.#scopes.names)
      const waitMs = this.#unwritten.waitMs ?? this.#shortagePause.waitMs
      if (waitMs === null) this.#begin(state, next, stopping)
      this.#interrupt(state, stopping)
      const resting = next.rest === 'waiting' && this.#stays(patienceMs) ? null : next.rest
      const sending = this.#notices.look(state, this.#results, resting !== null)
      if (this.#unwritten.waitMs === null && (!this.#results.isNone || (next.turn && !stopping && waitMs === null))) {
        state = await this.#turn(stopping)
        continue
      }
      const given = this.#givenUp(state, stopping)
      if (given !== null) return given
      if (this.#flights.size === 0 && this.#preparing.size === 0 && this.#chores.size === 0 && !sending) {
        if (stopping) return { status: 'stopped' }
        if (resting !== null) return this.#rested(resting)
        if ((next.wakeAt ?? 0) - this.#time.now() > patienceMs) return this.#rested('waiting')
      }
      const wakeMs = next.wakeAt === null ? null : Math.max(0, next.wakeAt - this.#time.now())
      const soon = [this.#scopes.lookMs, wakeMs].filter(ms => ms !== null)
      await this.#bell.wait(this.#rooms.clock, waitMs ?? (soon.length === 0 ? null : Math.min(...soon)))
      // Results that came while we waited are written before the state is evaluated again; the plan itself has not changed.
      const isQuiet = !lost.aborted && !this.#options.stop.aborted && !this.#stale && waitMs === null
      if (isQuiet && !this.#results.isNone) state = await this.#turn(false)
    }
  }

  /** The shortage lasts too long, or we are stopping, and nothing is in flight: the loop ends, and `resume` continues later. */
  #givenUp(state: PlanState, stopping: boolean): Driven | null {
    for (const flight of this.#flights.values()) if (!flight.ended) return null
    if (this.#working > 0) return null
    const still = this.#unwritten.shortage === null ? this.#shortagePause : this.#unwritten
    const { shortage } = still
    if (shortage === null || (!still.isHopeless && !stopping)) return null
    const isRecorded = this.#results.isNone && state.status === 'paused'
    return isRecorded ? { status: 'rested', rest: 'paused' } : { status: 'short', shortage }
  }

  readonly #onShortage = (shortage: Shortage): void => {
    this.#results.shortage = shortage
    this.#shortagePause.meet(shortage)
    this.#bell.ring()
  }

  readonly #onFailStop = (error: unknown): void => {
    this.#failStop ??= { error }
    this.#bell.ring()
  }

  /** Stay with nothing to do? If asked to; or if a driven plan will release the files we wait for, and nobody wants our slot. */
  #stays(patienceMs: number): boolean {
    return this.#options.stay === true || (this.#scopes.isMoving && patienceMs === Number.POSITIVE_INFINITY)
  }

  #rested(rest: NonNullable<NextActions['rest']>): Driven {
    const held = this.#scopes.list
    return { status: 'rested', rest, ...(held.length === 0 ? {} : { held }) }
  }

  /**
   * Marks unfinished attempts of a dead owner as lost. Also looks for completed tasks whose declared output files are gone or changed; of a
   * plan without such outputs nothing is read.
   */
  async #recover(): Promise<PlanState> {
    const { signs } = this.#rooms
    // No heartbeat file: 0, as if the old attempts had ended long ago. Then every later change to the files may be a person's, and a person
    // is asked about it.
    const lastSign = signs === undefined ? null : (signs.last(this.#plan) ?? 0)
    const state = await this.#sayRecover(lastSign === null ? {} : { lastSign })
    if (state.status !== 'active' || !leavesFiles(state)) return state
    const lost = await this.#effects.lostOutputs(this.#rooms, state)
    return lost.length + state.lostOutputs.length === 0 ? state : await this.#sayRecover({ lost })
  }

  /** Repeated until it is known to be written: before that, open attempts may belong to a dead owner. */
  async #sayRecover(found: Pick<CommandOf<'recover'>, 'lastSign' | 'lost'>): Promise<PlanState> {
    for (;;) {
      let known = true
      const reason = this.#options.hasEndedProcesses === true ? `${LEFT_OPEN}; ${WERE_ENDED}` : LEFT_OPEN
      const state = await this.#submit({ type: 'recover', reason, ...found }, () => {
        known = false
      })
      if (known) return state
      if (this.#unwritten.shortage !== null) throw new ShortageMet(this.#unwritten.shortage)
    }
  }

  #begin(state: PlanState, next: NextActions, stopping: boolean): void {
    for (const task of next.perform) {
      const key = `${task.definition.id}/${task.visit}/${task.attempt}`
      if (this.#flights.has(key) || this.#isInTheWay(state, task)) continue
      const interruptible = mayRunAgain(effectOf(state.definition, task.definition))
      const flight = this.#takeOff(key, task, interruptible)
      const { visit, attempt } = task
      const isLookedAt = task.prepared?.preimage !== undefined || task.prepared?.before !== undefined
      // A time budget counts until the last heartbeat.
      const unwatch = isLookedAt || state.budget !== null ? this.#rooms.signs?.watch(this.#plan) : undefined
      void this.#perform(state, task, flight).then(result => {
        unwatch?.()
        this.#results.settled.push({ task: task.definition.id, visit, attempt, result })
        if (result.status !== 'interrupted') this.#shortagePause.pass()
        this.#end(flight)
      }, this.#failing(flight))
    }
    if (stopping) return
    if (next.compensate !== null && !this.#flights.has(COMPENSATION)) {
      const { task, action, by = task } = next.compensate
      const interruptible = mayRunAgain(compensationEffect(state, task.definition.id))
      const flight = this.#takeOff(COMPENSATION, task, interruptible)
      void this.#perform(state, by, flight, action).then(result => {
        // An interrupted compensation stays open: whoever drives next repeats it or records that its outcome is unknown.
        const { shortage } = this.#shortagePause
        if (result.status === 'interrupted' && result.begun === false && shortage !== null) {
          const failed = { status: 'failed', failure: failureFor(shortage) } as const
          this.#results.compensated.push({ task: task.definition.id, result: failed })
        } else if (result.status === 'interrupted') this.#flights.delete(COMPENSATION)
        else this.#results.compensated.push({ task: task.definition.id, result })
        if (result.status !== 'interrupted') this.#shortagePause.pass()
        this.#end(flight)
      }, this.#failing(flight))
    }
    const { commit, propose, rollback } = next
    if (commit !== null)
      this.#doChore('commit', async () => {
        // Awaited before `#results` is read: a turn in between starts a new list.
        const done = await this.#effects.commit(this.#rooms, state, commit)
        if (!this.#isShort('commit', done.failure)) this.#results.committed.push(done)
      })
    if (propose !== null)
      this.#doChore('propose', async () => {
        const made = await this.#effects.propose(this.#rooms, state, propose)
        this.#results.proposed.push(made)
      })
    // Only when no task reads or writes files.
    if (rollback !== null && this.#flights.size === 0 && this.#preparing.size === 0)
      this.#doChore('rollback', async () => {
        if (!(await this.#isHeld())) return
        const outcome = await this.#effects.rollBack(this.#rooms, state)
        if (!this.#isShort('rollback', outcome.failure)) this.#results.rolledBack = { id: rollback.id, outcome }
      })
    for (const task of next.prepare) {
      const key = `${task.definition.id}/${task.visit}`
      if (this.#preparing.has(key) || this.#isInTheWay(state, task)) continue
      this.#preparing.add(key)
      void this.#effects.prepare(this.#rooms, state, task, this.#isHeld, this.#leaving.signal).then(preparation => {
        if (preparation.waits === undefined) this.#results.prepared.push(preparation)
        else {
          this.#scopes.add(preparation.waits)
          this.#preparing.delete(key)
        }
        if (preparation.shortage === undefined) this.#shortagePause.pass()
        else this.#onShortage(preparation.shortage)
        this.#bell.ring()
      }, this.#onFailStop)
    }
  }

  /** A chore that met a shortage is not recorded: it is started again. */
  #isShort(chore: Chore, failure: Failure | undefined): boolean {
    const shortage = failure === undefined ? null : shortageIn(failure)
    if (shortage === null) {
      this.#shortagePause.pass()
      return false
    }
    this.#chores.delete(chore)
    this.#onShortage(shortage)
    return true
  }

  readonly #failing =
    (flight: Flight) =>
    (error: unknown): void => {
      this.#end(flight)
      this.#onFailStop(error)
    }

  #doChore(chore: Chore, work: () => Promise<void>): void {
    if (this.#chores.has(chore)) return
    this.#chores.add(chore)
    this.#working++
    void work()
      .catch(this.#onFailStop)
      .finally(() => {
        this.#working--
        this.#bell.ring()
      })
  }

  /** An aborted attempt that has not ended yet would interfere with this task or write the same files. Its end rings the bell. */
  #isInTheWay(state: PlanState, task: TaskState): boolean {
    for (const flight of this.#flights.values()) {
      if (flight.ended) continue
      const other = flight.task.definition
      if (other.id === task.definition.id) return true
      const [a, b] = [scopeOf(state.definition, other), scopeOf(state.definition, task.definition)]
      if (flight.stop.aborted && a !== null && b !== null && scopesOverlap(a, b)) return true
    }
    return false
  }

  /** Checked immediately before any side effect: a process that slept longer than its lease must not act (L5). */
  readonly #isHeld = (): true | Promise<boolean> =>
    this.#rooms.clock.monotonic() < this.#heldUntil ? true : this.#askHolder()

  async #askHolder(): Promise<boolean> {
    const holder = await this.#rooms.store.leases.holder(this.#plan)
    const isHeld = holder?.owner === this.#lease.owner && holder.alive
    // Nothing may begin any more: going round would ask again and again, without a turn of the event loop in between.
    if (!isHeld)
      this.#failStop ??= { error: new LeaseLost(`the lease on plan ${this.#plan} ran out while the process slept`) }
    return isHeld
  }

  #takeOff(key: string, task: TaskState, interruptible: boolean): Flight {
    const { visit, attempt } = task
    const flight = { key, task, visit, attempt, interruptible, stop: new Stopper(), ended: false }
    this.#flights.set(key, flight)
    return flight
  }

  #end(flight: Flight): void {
    flight.ended = true
    this.#bell.ring()
  }

  #perform(
    state: PlanState,
    task: TaskState,
    { stop }: Flight,
    action?: Parameters<LoopEffects['perform']>[3]['action'],
  ) {
    const { onOutput, onNote, holdMs } = this.#options
    const name = task.definition.id
    return this.#effects.perform(this.#rooms, state, task, {
      owner: this.#lease.owner,
      isHeld: this.#isHeld,
      stop,
      onShortage: this.#onShortage,
      leaving: this.#leaving.signal,
      holdMs,
      onOutput:
        onOutput === undefined && onNote === undefined
          ? undefined
          : (text, stream) => (stream === 'engine' ? onNote : onOutput)?.(name, text),
      action,
    })
  }

  /** Stops attempts that are no longer wanted: cancelled, superseded, or paused and safe to repeat; by force or in a halt, all. */
  #interrupt(state: PlanState, stopping: boolean): void {
    // In a pause for a shortage or a used-up budget, running attempts may finish, so that they need not be repeated.
    const pausing = stopping || (state.status === 'paused' && state.shortage === null && !state.overBudget)
    const forced = this.#options.force?.aborted === true || state.halted
    for (const [key, flight] of this.#flights) {
      if (flight.ended || flight.stop.aborted) continue
      // By name, because a state that was read again consists of other objects.
      const name = flight.task.definition.id
      const task = state.tasks.get(name)
      const wanted =
        key === COMPENSATION
          ? state.compensation === name
          : task?.status === 'running' &&
            task.visit === flight.visit &&
            task.attempt === flight.attempt &&
            state.compensating === null
      // A pause stops tasks. A running compensation continues, since something waits for its end.
      const mayEnd = flight.interruptible && (key === COMPENSATION ? stopping : pausing)
      if (!wanted || forced || mayEnd) flight.stop.abort()
    }
  }

  async #turn(stopping: boolean): Promise<PlanState> {
    let taken = NO_RESULTS
    let ended: Flight[] = []
    const gather = (): Turn => {
      for (const flight of this.#flights.values()) if (flight.ended) ended.push(flight)
      taken = this.#results
      this.#results = new PendingResults()
      return taken.turn(stopping, this.#scopes.names)
    }
    const state = await this.#submit(gather, () => {
      this.#results.prepend(taken)
      taken = NO_RESULTS
      ended = []
    })
    if (taken.committed.length > 0) this.#chores.delete('commit')
    if (taken.proposed.length > 0) this.#chores.delete('propose')
    if (taken.rolledBack !== null) {
      this.#chores.delete('rollback')
      // The outcome is in the journal now, so the workspace need not remember it.
      await this.#rooms.snapshots?.settled()
    }
    for (const { task, visit } of taken.prepared) this.#preparing.delete(`${task}/${visit}`)
    for (const { key } of ended) this.#flights.delete(key)
    return state
  }

  async #submit(command: Parameters<Rooms['store']['update']>[1], onUnknown?: () => void): Promise<PlanState> {
    this.#writing = true
    try {
      const updated = await this.#rooms.store.update(this.#plan, command, {
        actor: ENGINE,
        lease: this.#lease,
        notBefore: this.#time.now(),
      })
      if (!updated.ok) throw new Error(`bug: the engine's own command was refused: ${updated.refusal.message}`)
      this.#unknowns = 0
      this.#unwritten.pass()
      this.#heldUntil = updated.heldUntil ?? 0
      this.#time.follow(updated.state.updatedAt)
      return updated.state
    } catch (error) {
      const shortage = this.#shortageOf(error)
      if (shortage !== null) {
        onUnknown?.()
        await this.#pauseUnwritten(shortage)
        return await this.#read()
      }
      // A store that fails this way repeatedly is broken: stop, and let a new process read the true state.
      if (!(error instanceof CommitUnknown) || ++this.#unknowns > UNKNOWNS_MAX) throw error
      onUnknown?.()
      return await this.#read()
    } finally {
      this.#writing = false
    }
  }

  #shortageOf(error: unknown): Shortage | null {
    return error instanceof CommitUnknown || isFailStop(error)
      ? null
      : shortageOf(this.#rooms, error, 'Writing the event log')
  }

  /** Nothing was written. A pause is small and may still fit; results in flight are written later. */
  async #pauseUnwritten(cause: Shortage): Promise<void> {
    const isFirst = this.#unwritten.shortage === null
    this.#unwritten.meet(cause)
    if (!isFirst) return
    const pause = { type: 'pause', reason: shortageReason(cause), cause } as const
    await this.#rooms.store.update(this.#plan, pause, { actor: ENGINE }).catch(error => {
      if (this.#shortageOf(error) === null) throw error
    })
  }

  async #read(): Promise<PlanState> {
    this.#stale = false
    const state = await this.#rooms.store.state(this.#plan)
    if (state === null) throw new Error('bug: the plan being driven is gone')
    this.#time.follow(state.updatedAt)
    return state
  }

  /** On the way out: aborts what is still running and waits for its end, ten seconds at most. */
  async #land(): Promise<void> {
    this.#leaving.abort()
    for (const flight of this.#flights.values()) flight.stop.abort()
    const { clock } = this.#rooms
    const deadline = clock.monotonic() + 10_000
    const isBusy = () => [...this.#flights.values()].some(flight => !flight.ended) || this.#working > 0
    while (isBusy() && clock.monotonic() < deadline) await this.#bell.wait(clock, 1_000)
  }
}

const NO_RESULTS: Readonly<PendingResults> = new PendingResults()
const COMPENSATION = '~compensation'
const UNKNOWNS_MAX = 5

const LEFT_OPEN = 'the process running it died'
const WERE_ENDED = 'what was still running of it has been ended'

const leavesFiles = ({ order }: PlanState): boolean =>
  order.some(
    ({ status, definition: { outputs } }) =>
      status === 'completed' && outputs !== undefined && Object.values(outputs).some(({ from }) => from === 'file'),
  )
