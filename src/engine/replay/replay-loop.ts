// Re-enacts a journal with the real loop. The loop receives the recorded results in their recorded order, and must ask for every turn of
// the journal: the same attempts, the same preparations, in the same turn.
//
//   entry of an owner ──► wait until the loop is idle ──► deliver the results in this entry ──► does it ask for exactly this entry?
//   any other entry   ──► wait until the loop is idle ──► append it ──► ring the loop
//
// The loop is idle when it asks to write, waits for its bell, or has returned; nothing else takes time. The last results of an owner that
// died may be missing, so a loop may ask for more than the journal holds; it may never ask for something else.

import type { Command, Interrupted, RollbackOutcome, Settlement, Turn } from '../../domain/command.ts'
import type { PlanId, Sha256, TaskName } from '../../domain/id.ts'
import type { Result } from '../../domain/result.ts'
import { awaitsProposal } from '../../domain/revisions/proposals.ts'
import { isReadyForRollback } from '../../domain/rollback/rollback-rules.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { type Asked, type Entry, type Lease, LeaseLost, type Store, type Updated } from '../../stores/store.ts'
import type { Preparation } from '../attempts/prepare.ts'
import type { Clock } from '../clock.ts'
import type { LoopEffects } from '../loop/loop-effects.ts'
import type { PendingResults } from '../loop/pending-results.ts'
import { PlanLoop } from '../loop/plan-loop.ts'
import type { Difference } from '../queries.ts'
import type { Rooms } from '../rooms.ts'
import { firstDifference } from './first-difference.ts'

// The relevant part of a turn. A loop may report results that no longer change anything: an aborted attempt, a preparation for an ended
// visit, a repetition after an unknown commit. Turns are equal if their relevant parts are.

type Restored = NonNullable<Turn['restored']>

/** The turn without ends of attempts that are not open, preparations of tasks that are not ready, and restores that `before` reported. */
function effective(state: PlanState, command: Command, before: Restored): Partial<Turn> {
  if (command.type !== 'turn') return {}
  const { settled, prepared, restored, expanded, compensated, committed, rolledBack, gates, proposed, ...others } =
    command
  const { shortage, ...rest } = others
  const waits = (name: TaskName, visit: number): boolean => {
    const task = state.tasks.get(name)
    return maySomethingStart(state) && task?.status === 'ready' && task.visit === visit
  }
  const isRepeated = (one: Restored[number]): boolean => before.some(earlier => firstDifference(earlier, one) === null)
  return {
    ...rest,
    ...some(
      'settled',
      settled?.filter(one => isOpen(state, one)),
    ),
    ...some(
      'prepared',
      prepared?.filter(({ task, visit }) => waits(task, visit)),
    ),
    // Each of these leaves an event, so only a repetition may be skipped.
    ...some(
      'restored',
      restored?.filter(one => !isRepeated(one)),
    ),
    ...some(
      'expanded',
      expanded?.filter(({ task, visit, from }) => waits(task, visit) && from === state.hash),
    ),
    ...some(
      'gates',
      gates?.filter(({ task, visit, from }) => waits(task, visit) && from === state.hash),
    ),
    ...some(
      'proposed',
      proposed?.filter(({ task: name, base }) => {
        const task = name === undefined ? undefined : state.tasks.get(name)
        return task !== undefined && base === state.hash && awaitsProposal(state, task)
      }),
    ),
    ...some(
      'compensated',
      compensated?.filter(({ task }) => state.compensation === task),
    ),
    ...some(
      'committed',
      committed?.filter(one => state.uncommitted.some(({ task, visit }) => task === one.task && visit === one.visit)),
    ),
    // It pauses an active plan and changes no other.
    ...(shortage !== undefined && maySomethingStart(state) && state.rollback === null ? { shortage } : {}),
    ...(rolledBack !== undefined && state.rollback?.id === rolledBack.id && isReadyForRollback(state)
      ? { rolledBack }
      : {}),
  }
}

/** If nothing may start, preparations do not matter. */
const maySomethingStart = ({ status, compensating }: PlanState): boolean => status === 'active' && compensating === null

function isIdle({ type: _, start: __, held: ___, ...results }: Partial<Turn>): boolean {
  return Object.keys(results).length === 0
}

function isOpen(state: PlanState, { task: name, visit, attempt }: Omit<Settlement, 'result'>): boolean {
  const task = state.tasks.get(name)
  return task?.status === 'running' && task.claim === null && task.visit === visit && task.attempt === attempt
}

const some = <K extends string, V>(key: K, list: readonly V[] | undefined) =>
  list === undefined || list.length === 0 ? {} : ({ [key]: list } as { readonly [key in K]: readonly V[] })

// A call of the replayed loop that the record has not answered yet.

interface Pending<T> {
  readonly stop: { readonly aborted: boolean } | undefined
  readonly matters: () => boolean
  readonly answer: (value: T) => void
}

/** All pending promise callbacks have run when the next round of the event loop begins. */
const standsStill = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

const attemptKey = (of: { readonly task: string; readonly visit: number; readonly attempt: number }): string =>
  `${of.task}/${of.visit}/${of.attempt}`

function give<T>(to: Map<string, Pending<T>>, key: string, value: T): boolean {
  const pending = to.get(key)
  to.delete(key)
  pending?.answer(value)
  return pending !== undefined
}

const without = ({ task: _, ...rest }: NonNullable<Turn['restored']>[number]) => rest

const gateOf = ({ task: _, visit: __, ...gate }: NonNullable<Turn['gates']>[number]) => gate

// Dependencies of a replayed loop: it can read the state and append, nothing else. Runners, workspace and processes throw, so a replay has
// no side effects by construction.

interface LoopStore {
  readonly update: Store['update']
  readonly state: Store['state']
  readonly onChange: Store['onChange']
}

function emptyRooms(store: LoopStore, clock: Clock, { owner }: Lease): Rooms {
  const holder = { owner, host: '', pid: 0, alive: true, since: 0 }
  return {
    store: only<Store>('store', { ...store, leases: only<Store['leases']>('leases', { holder: async () => holder }) }),
    workspace: only('workspace', {}),
    // Throws when a runner is requested; an empty map would only say that there is none.
    runners: only<Rooms['runners']>('runners', {}),
    processes: only('processes', {}),
    clock,
    random: forbidden('chance'),
    root: '',
    stateDir: '',
    environment: {},
    leaseMs: Number.MAX_SAFE_INTEGER,
    about: 'a replay',
  }
}

function only<T extends object>(name: string, allowed: Partial<T>): T {
  return new Proxy(allowed as T, {
    get: (target, key) =>
      Object.hasOwn(target, key) ? Reflect.get(target, key) : forbidden(`${name}.${String(key)}`)(),
  })
}

function forbidden(what: string): () => never {
  return () => {
    throw new Error(`bug: a replay reached for ${what}; it must touch nothing`)
  }
}

/** How often the loop is checked before its entry counts as missing. */
const LOOKS_MAX = 12

type Committed = NonNullable<Turn['committed']>[number]
type Proposed = NonNullable<Turn['proposed']>[number]

interface Mismatch extends Difference {
  readonly message: string
}

/** `repeated`: a turn with unknown commit that was sent again, and changed nothing. */
type Met = 'asked' | 'repeated' | Mismatch

export class ReplayLoop {
  readonly #plan: PlanId
  readonly #state: PlanState
  readonly fence: number
  readonly #stop = new AbortController()
  readonly #attempts = new Map<string, Pending<Result | Interrupted>>()
  readonly #preparations = new Map<
    string,
    Pending<Preparation> & { readonly of: Pick<Preparation, 'task' | 'visit'> }
  >()
  readonly #commits = new Map<string, Pending<Committed>>()
  readonly #rollbacks = new Map<string, Pending<RollbackOutcome>>()
  readonly #proposals = new Map<string, Pending<Proposed>>()
  /** Tasks that the current turn skipped because their files were reserved. */
  readonly #scopes = { ...NO_WAITS, names: new Set<TaskName>() }
  /** Where the loop receives sent notices, and the turn whose notices it has received. */
  #results: PendingResults | null = null
  #delivered: Turn | null = null
  #tells = false
  #asked: { readonly command: Asked; answer(updated: Updated): void; refuse(error: Error): void } | null = null
  #listener: (() => void) | null = null
  #returned = false
  #failed: unknown = null
  #lost = new AbortController()
  #running: Promise<void>
  #now = 0
  /** Restores that the last turn recorded; only these may be repeated. */
  #restored: NonNullable<Turn['restored']> = []
  readonly answered = { attempts: 0, preparations: 0, compensations: 0, commits: 0, rollbacks: 0, proposals: 0 }

  constructor(plan: PlanId, state: PlanState, fence: number, now: number) {
    this.#plan = plan
    this.#state = state
    this.fence = fence
    this.#now = now
    this.#running = this.#begin()
  }

  async meet(entry: Entry): Promise<Met> {
    try {
      return await this.#meet(entry)
    } catch (error) {
      return { path: '$.command', message: `the loop cannot be given this entry: ${messageOf(error)}` }
    }
  }

  async #meet({ command, now }: Entry): Promise<Met> {
    this.#now = Math.max(this.#now, now)
    let said: Mismatch | null = null
    for (let look = 0; look < LOOKS_MAX; look++) {
      await standsStill()
      if (this.#failed !== null) return { path: '$', message: `the loop failed: ${messageOf(this.#failed)}` }
      if (this.#returned || (command.type === 'recover' && !this.#asksTo('recover'))) await this.#again()
      else if (this.#asksTo('recover')) {
        if (command.type === 'recover') return 'asked'
        if (this.#state.running.size > 0 || this.#state.compensation !== null) return recoversFirst(command)
        this.#answer([])
      } else {
        const met = await this.#turn(command as Turn)
        if (met === 'asked') return met
        if (met !== null) {
          const { final, ...mismatch } = met
          if (final) return mismatch
          said = mismatch
        }
      }
    }
    if (command.type === 'turn' && isIdle(this.#effective(command)) && !isIdle(command)) return 'repeated'
    return said ?? { path: '$.command', actual: command.type, message: 'the loop would have waited here' }
  }

  /** One check of a running loop: null if its turn may still come. */
  async #turn(turn: Turn): Promise<'asked' | (Mismatch & { readonly final: boolean }) | null> {
    if (turn.start === false) this.#stop.abort()
    this.#scopes.names = new Set(turn.held)
    // Results in the record may be queued behind an aborted attempt whose end left no entry.
    if (this.#misses(turn) && this.#releaseAborted(turn) > 0 && this.#asked === null) return null
    const delivered = this.#deliver(turn)
    if (this.#asked === null) {
      if (delivered === 0) this.#listener?.()
      return null
    }
    await standsStill()
    const { command: asked } = this.#asked
    const said = this.#effective(typeof asked === 'function' ? asked() : asked)
    const difference = firstDifference(said, this.#effective(turn), '$.command')
    if (difference === null) return 'asked'
    // An irrelevant turn leaves no entry, or comes again with more results.
    if (isIdle(said)) this.#answer([])
    return { ...difference, message: 'the loop would have recorded something else in this turn', final: !isIdle(said) }
  }

  happened({ command, events }: Entry, met: 'asked' | 'repeated' | 'elsewhere'): void {
    if (met !== 'elsewhere') this.#restored = (command.type === 'turn' ? command.restored : undefined) ?? []
    if (met === 'asked') this.#answer(events)
    else this.#listener?.()
  }

  async still(now: number): Promise<void> {
    await standsStill()
    this.#now = Math.max(this.#now, now)
  }

  async close(): Promise<void> {
    this.#lost.abort()
    this.#asked?.refuse(new LeaseLost(ENDS))
    this.#asked = null
    for (const { answer } of this.#attempts.values()) answer({ status: 'interrupted', reason: ENDS })
    for (const { answer } of this.#commits.values()) answer(NO_COMMIT)
    for (const { answer } of this.#rollbacks.values()) answer(NOTHING)
    for (const { answer } of this.#proposals.values()) answer(NO_PROPOSAL)
    await this.#running
  }

  async #again(): Promise<void> {
    await this.close()
    this.#running = this.#begin()
  }

  async #begin(): Promise<void> {
    this.#returned = false
    this.#attempts.clear()
    this.#preparations.clear()
    this.#commits.clear()
    this.#rollbacks.clear()
    this.#proposals.clear()
    this.#results = null
    this.#lost = new AbortController()
    const lost = this.#lost.signal
    const lease = { owner: 'replay', fence: this.fence }
    const rooms = emptyRooms(
      {
        update: (_plan, command) => this.#update(command, lost),
        state: async () => this.#state,
        onChange: listener => {
          this.#listener = () => listener('here')
          return () => {}
        },
      },
      { now: () => this.#now, monotonic: () => this.#now, after: () => () => {} },
      lease,
    )
    const loop = new PlanLoop(rooms, this.#plan, lease, { stop: this.#stop.signal, stay: true }, this.#effects(lost))
    try {
      await loop.run(lost)
    } catch (error) {
      if (!(error instanceof LeaseLost)) this.#failed = error
    }
    this.#returned = true
  }

  /** Without side effects: each call waits here until the record says how it ended. */
  #effects(lost: AbortSignal): LoopEffects {
    return {
      perform: (_rooms, _state, task, { action, stop }) => {
        const of = { task: task.definition.id, visit: task.visit, attempt: task.attempt }
        const own = action === undefined
        const { compensation } = this.#state
        const matters = () => (own ? isOpen(this.#state, of) : this.#state.compensation === compensation)
        return new Promise(answer => this.#attempts.set(own ? attemptKey(of) : COMPENSATION, { stop, matters, answer }))
      },
      prepare: (_rooms, _state, task, _isHeld, signal) => {
        const of = { task: task.definition.id, visit: task.visit }
        const matters = () => maySomethingStart(this.#state)
        return new Promise(answer =>
          this.#preparations.set(`${of.task}/${of.visit}`, { stop: signal, matters, answer, of }),
        )
      },
      commit: (_rooms, _state, { task, visit }) =>
        new Promise(answer => this.#commits.set(`${task}/${visit}`, { ...STAYS, answer })),
      rollBack: (_rooms, { rollback }) =>
        // The loop checks its lease before this call, and may have lost it by then.
        lost.aborted
          ? Promise.resolve(NOTHING)
          : new Promise(answer => this.#rollbacks.set(rollback?.id ?? '', { ...STAYS, answer })),
      // Reserved files are known from the record, too. Lost outputs are in the entry.
      lostOutputs: async () => [],
      scopeWaits: () => this.#scopes,
      // Sent notices come from the record. Until then the loop stays, since its end may cause another.
      notices: () => ({
        look: ({ definition }, results) => {
          this.#results = results
          // A notice may have been in flight when a revision removed its channel.
          this.#tells ||= definition.notify !== undefined
          return this.#tells
        },
      }),
      propose: (_rooms, { hash }, { definition: { id } }) =>
        new Promise(answer => this.#proposals.set(`${id}/${hash}`, { ...STAYS, answer })),
    }
  }

  #update(command: Asked, lost: AbortSignal): Promise<Updated> {
    if (lost.aborted) return Promise.reject(new LeaseLost(ENDS))
    return new Promise((resolve, reject) => {
      this.#asked = { command, answer: resolve, refuse: reject }
    })
  }

  #answer(events: Entry['events']): void {
    const asked = this.#asked
    this.#asked = null
    asked?.answer({ ok: true, version: this.#state.version, position: 0, events, state: this.#state })
  }

  #asksTo(type: Command['type']): boolean {
    const command = this.#asked?.command
    return command !== undefined && (typeof command === 'function' ? 'turn' : command.type) === type
  }

  #deliver(turn: Turn): number {
    const before = this.#answers()
    for (const { result, ...settled } of turn.settled ?? [])
      if (give(this.#attempts, attemptKey(settled), result)) this.answered.attempts++
    for (const { result } of turn.compensated ?? [])
      if (give(this.#attempts, COMPENSATION, result)) this.answered.compensations++
    for (const committed of turn.committed ?? [])
      if (give(this.#commits, `${committed.task}/${committed.visit}`, committed)) this.answered.commits++
    if (turn.rolledBack !== undefined && give(this.#rollbacks, turn.rolledBack.id, turn.rolledBack.outcome))
      this.answered.rollbacks++
    // Not counted: the loop does not await it, so it must be rung.
    if (turn.notices !== undefined && this.#results !== null && this.#delivered !== turn) {
      this.#results.notices.push(...turn.notices)
      this.#delivered = turn
    }
    if (turn.shortage !== undefined && this.#results !== null) this.#results.shortage = turn.shortage
    for (const made of turn.proposed ?? [])
      if (give(this.#proposals, `${made.task}/${made.base}`, made)) this.answered.proposals++
    for (const { task, visit, prepared } of turn.prepared ?? []) {
      const all = (turn.restored ?? []).filter(one => one.task === task).map(without)
      const expanded = turn.expanded?.find(one => one.task === task && one.visit === visit)
      const asked = turn.gates?.find(one => one.task === task && one.visit === visit)
      const preparation = {
        task,
        visit,
        prepared,
        expanded,
        gate: asked === undefined ? undefined : gateOf(asked),
        restored: all.at(-1) ?? null,
        ...(all.length < 2 ? {} : { earlier: all.slice(0, -1) }),
      } as Preparation
      if (give(this.#preparations, `${task}/${visit}`, preparation)) this.answered.preparations++
    }
    return this.#answers() - before
  }

  #answers(): number {
    return Object.values(this.answered).reduce((sum, count) => sum + count, 0)
  }

  /** Does the turn contain a relevant result of something that the loop has not started? */
  #misses(turn: Turn): boolean {
    const { settled, prepared, committed, rolledBack, proposed } = this.#effective(turn)
    return (
      settled?.some(one => !this.#attempts.has(attemptKey(one))) === true ||
      prepared?.some(({ task, visit }) => !this.#preparations.has(`${task}/${visit}`)) === true ||
      committed?.some(({ task, visit }) => !this.#commits.has(`${task}/${visit}`)) === true ||
      proposed?.some(({ task, base }) => !this.#proposals.has(`${task}/${base}`)) === true ||
      (rolledBack !== undefined && !this.#rollbacks.has(rolledBack.id))
    )
  }

  /** Ends aborted calls that left no entry because they changed nothing. */
  #releaseAborted(turn: Turn): number {
    const settled = new Set((turn.settled ?? []).map(attemptKey))
    const before = this.#attempts.size + this.#preparations.size
    for (const [key, { matters, answer, of }] of this.#preparations) {
      if (matters()) continue
      this.#preparations.delete(key)
      answer({ ...of, prepared: {}, restored: null })
    }
    for (const [key, { stop, matters, answer }] of this.#attempts) {
      if (stop?.aborted !== true || matters() || settled.has(key)) continue
      this.#attempts.delete(key)
      answer({ status: 'interrupted', reason: 'stopped' })
    }
    return before - this.#attempts.size - this.#preparations.size
  }

  #effective(command: Command): Partial<Turn> {
    return effective(this.#state, command, this.#restored)
  }
}

const NO_WAITS = { lookMs: null, isMoving: false, list: [], add() {}, changed() {}, async look() {} }
const COMPENSATION = '~compensation'
const ENDS = 'the record of this owner ends here'
/** For calls that are never aborted. */
const STAYS = { stop: undefined, matters: () => true }
/** Answers a loop that writes no more. */
const NOTHING: RollbackOutcome = { changes: null, paths: 0 }
const NO_PROPOSAL: Proposed = { task: '' as TaskName, base: '' as Sha256, none: ENDS }
const NO_COMMIT: Committed = { task: '' as TaskName, visit: 0, operations: [] }

const recoversFirst = ({ type }: Command): Mismatch => ({
  path: '$.command.type',
  expected: 'recover',
  actual: type,
  message: 'a new owner says first what was lost',
})

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
