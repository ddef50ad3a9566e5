// What must be true after every commit, whatever went wrong. The watcher sees only what is durable (the journal on the disk)
// and what really happened (the recorder in world.ts); it keeps a small model of its own, written from the promises and not
// from the domain, and folds the journal a second time beside it.
//
//   I1 versions 1..n without gaps, hash chain whole          I6 effects: none twice, none missing, none by itself when unsafe
//   I2 one live fence, every append of the engine carries it  I7 what was acknowledged is in the journal
//   I3 fold = caches = projections                            I13 a visit that ended stays ended
//   I4 a task starts only when all it needs is there          I16 deciding again gives the same events
//   I5 attempts within bounds, one key for a visit            I18 nothing under way is given up without a reason
//   I19, I20 going back and forth: see travel.ts              L  it comes to rest once the faults are over

import { deflateSync } from 'node:zlib'
import { decide } from '../src/domain/decide.ts'
import type { Event, EventOf } from '../src/domain/event.ts'
import type { Millis, PlanId, TaskName } from '../src/domain/id.ts'
import type { JsonObject } from '../src/domain/json.ts'
import { nextActions } from '../src/domain/next-actions.ts'
import type { PlanDefinition, TaskDefinition } from '../src/domain/plan.ts'
import { effectOf, scopesOverlap } from '../src/domain/plan-rules/effect.ts'
import { expandTasks } from '../src/domain/plan-rules/expand.ts'
import { retryOf } from '../src/domain/recovery/retry.ts'
import { OPENED_AGAIN } from '../src/domain/rules/routing.ts'
import { evolve } from '../src/domain/state/evolve.ts'
import { isBefore } from '../src/domain/state/evolve-gate.ts'
import { newState, packFold, unpackFold } from '../src/domain/state/fold.ts'

import type { PlanState } from '../src/domain/state/state.ts'
import type { TaskStatus } from '../src/domain/status.ts'
import { checkAll } from '../src/stores/journal/check.ts'
import { GENESIS, type Link, openEntry } from '../src/stores/journal/entry.ts'
import { foldHash } from '../src/stores/journal/plan-states.ts'
import type { Entry, Updated, UpdateOptions } from '../src/stores/store.ts'
import type { SimDisk } from './machine.ts'
import { BlobsMemory } from './memory-store/blobs-memory.ts'
import { tablesOf } from './memory-store/store-memory.ts'
import type { Scheduler } from './scheduler.ts'
import type { Books } from './spending.ts'
import { Travel } from './travel.ts'
import type { Execution, Watcher, World } from './world.ts'

export type InvariantId =
  | 'I1'
  | 'I2'
  | 'I3'
  | 'I4'
  | 'I5'
  | 'I6'
  | 'I7'
  | 'I13'
  | 'I16'
  | 'I18'
  | 'I19'
  | 'I20'
  | 'P48'
  | 'L'
  | 'leak'
  | 'crashed'

export interface Violation {
  readonly invariant: InvariantId
  readonly what: string
  /** The event or step at which it was first seen. */
  readonly at: string
}

/** What the watcher knows of a task: told by events only. */
interface Shadow {
  definition: TaskDefinition
  status: TaskStatus
  visit: number
  attempt: number
  failures: number
  /** The visit that has ended; it must stay so. */
  endedVisit: number
  /** The visit whose mark stands in its file. */
  markVisit: number
  routedBy: TaskName | null
  claimed: boolean
  /** Its last attempt ended nobody knows how, and no person has said what to do. */
  unknown: boolean
  /** A person said that it was done. */
  vouched: boolean
  /** Since it started, somebody gave a reason to end it in the middle. */
  unwanted: boolean
}

/** Its mark may stand in its file or not. */
const UNMARKED = -1
/** Entries between two full checks. */
const CHECK_EVERY = 30
const ENDED: readonly TaskStatus[] = ['completed', 'failed', 'skipped', 'abandoned', 'cancelled']
/** Effects that are wrong when they happen twice or belong to nobody. */
const COUNTS: readonly string[] = ['workspace', 'unsafe', 'probed']
const PEOPLE = /^(ana|ben|agent)/

export class Invariants implements Watcher {
  violation: Violation | null = null
  completed = 0
  commits = 0
  readonly mirror: PlanState = newState()
  readonly entries: Entry[] = []
  /** Attempts that have ended, as late messages would name them. */
  readonly over: {
    readonly task: TaskName
    readonly visit: number
    readonly attempt: number
    readonly how: 'settled' | 'lost'
  }[] = []
  readonly #disk: SimDisk
  readonly #world: World
  readonly #scheduler: Scheduler
  readonly #trace: (line: string) => void
  readonly #blobs: BlobsMemory
  readonly #tasks = new Map<TaskName, Shadow>()
  readonly travel: Travel
  /** What the clock of the machine shows, which may be set back. */
  wallNow: () => Millis = () => Number.POSITIVE_INFINITY
  /** Of plans whose tasks spend money. */
  books: Books | null = null
  /** Which visits' marks stood, after every entry. */
  readonly #marks: ReadonlyMap<TaskName, number>[] = []
  #under: EventOf<'rollback.started'> | null = null
  readonly #keys = new Map<string, string>()
  /** In which visits each rule of recovery was used. */
  readonly #rules = new Map<string, Set<number>>()
  readonly #acknowledged: { readonly version: number; readonly events: string }[] = []
  readonly #fences = new Map<number, string>()
  #plan: 'draft' | 'active' | 'paused' | 'cancelling' | 'ended' = 'draft'
  #last: Link = GENESIS
  #definitionVersion = 1
  #seen = 0
  #checked = 0
  #now = ''

  constructor(disk: SimDisk, world: World, scheduler: Scheduler, trace: (line: string) => void) {
    this.#disk = disk
    this.#world = world
    this.#scheduler = scheduler
    this.#trace = trace
    this.#blobs = new BlobsMemory(disk.blobs, { now: () => 0, monotonic: () => 0 })
    world.watcher = this
    this.travel = new Travel(world, (invariant, what) => this.fail(invariant, what))
  }

  fail(invariant: InvariantId, what: string): void {
    if (this.violation !== null) return
    this.violation = { invariant, what, at: this.#now || `step ${this.#scheduler.steps}` }
    this.#trace(`!! ${invariant} ${what}`)
  }

  /** After every commit: what is new in the journal? */
  committed(): void {
    this.commits++
    const { journal } = this.#disk
    try {
      for (; this.#seen < journal.length; this.#seen++) this.#entry(journal[this.#seen]!.plan)
    } catch (error) {
      this.fail('I1', error instanceof Error ? error.message : String(error))
      this.#seen = journal.length
    }
    if (this.entries.length >= this.#checked + CHECK_EVERY) {
      this.#checked = this.entries.length
      this.checkAll()
    }
  }

  #entry(plan: PlanId): void {
    const stored = this.#disk.journal[this.#seen]!.entry
    this.#now = `entry ${stored.version}`
    const last = this.entries.at(-1)
    if (stored.version !== (last?.version ?? 0) + 1)
      this.fail('I1', `version ${stored.version} follows ${last?.version ?? 0}`)
    if (stored.position <= (last?.position ?? 0))
      this.fail('I1', `position ${stored.position} follows ${last?.position ?? 0}`)
    const entry = openEntry(this.#last, plan, stored, this.#blobs)
    this.#last = stored
    this.entries.push(entry)
    this.#trace(
      `entry ${entry.version} ${entry.actor} ${entry.command.type} [${entry.events.map(told).join(', ')}] ${entry.hash.slice(0, 12)}`,
    )
    this.#fence(entry)
    if (last !== undefined && entry.now < last.now)
      this.fail('I1', `time ran backwards from ${last.now} to ${entry.now}`)
    for (const event of entry.events) {
      this.#now = `entry ${entry.version}, ${told(event)}`
      this.#event(event, entry)
      this.books?.event(event, this.mirror)
      this.travel.event(event, this.mirror, entry)
      evolve(this.mirror, event, entry.now)
    }
    this.mirror.version = entry.version
    this.travel.after(entry, this.mirror)
    // What ended while the plan went back has its consequences afterwards: a retry may still come.
    if (this.#under === null)
      // While somebody helps, what failed has not ended: a person may be asked about it in the same visit.
      for (const task of this.#tasks.values())
        if (ENDED.includes(task.status) && !this.#isHelped(task)) task.endedVisit = task.visit
    this.#marks.push(
      new Map(Array.from(this.#tasks.values(), ({ definition, markVisit }) => [definition.id, markVisit])),
    )
    this.#now = ''
  }

  #fence(entry: Entry): void {
    const plan = this.#disk.plans.get(1)!
    const isEngines = entry.command.type === 'turn' || entry.command.type === 'recover'
    if (!isEngines) return
    if (entry.fence === null) return this.fail('I2', `the engine wrote '${entry.command.type}' without a fence`)
    if (entry.fence !== plan.fence)
      this.fail('I2', `an entry carries fence ${entry.fence}, the plan's is ${plan.fence}`)
    const owner = this.#fences.get(entry.fence)
    if (owner !== undefined && owner !== plan.owner)
      this.fail('I2', `fence ${entry.fence} belongs to ${owner} and to ${plan.owner}`)
    this.#fences.set(entry.fence, plan.owner ?? '')
  }

  /** The store let a command pass: then whoever asked must hold the plan, this very moment. */
  passed(process: string, { lease }: UpdateOptions): void {
    if (lease === undefined) return
    const plan = this.#disk.plans.get(1)!
    const owner = this.#disk.owners.get(lease.owner)
    if (plan.owner !== lease.owner || plan.fence !== lease.fence)
      this.fail(
        'I2',
        `${process} may write with fence ${lease.fence} of ${lease.owner}; the plan is held by ${plan.owner} with ${plan.fence}`,
      )
    else if (owner === undefined || owner.expires <= this.#scheduler.now)
      this.fail('I2', `${process} may write although its lease ran out`)
  }

  acknowledged(updated: Updated): void {
    if (!updated.ok || updated.events.length === 0) return
    const events = JSON.stringify(updated.events)
    this.#acknowledged.push({ version: updated.version, events })
    this.#isDurable(updated.version, events)
    const { state } = updated
    // The state of a process goes on changing with its later commits; it can be compared only when it stands where we do.
    if (state.version === this.mirror.version && updated.version % 7 === 0)
      this.#same('the state a process keeps', state)
  }

  #isDurable(version: number, events: string): void {
    const entry = this.entries[version - 1]
    if (entry === undefined || JSON.stringify(entry.events) !== events)
      this.fail('I7', `version ${version} was acknowledged and is not in the journal: ${events.slice(0, 120)}`)
  }

  #event(event: Event, entry: Entry): void {
    switch (event.type) {
      case 'plan.created':
        this.#define(event.definition)
        return
      case 'plan.revised':
        this.#definitionVersion = entry.version
        this.#define(event.definition)
        return
      case 'task.imported':
        for (const { task, status } of event.tasks) this.#shadow(task).status = status
        return
      case 'task.failed':
        this.#groupFailed(event)
        return
      case 'plan.started':
      case 'plan.resumed':
        this.#plan = 'active'
        return
      case 'plan.paused':
        this.#plan = 'paused'
        for (const task of this.#tasks.values()) task.unwanted = true
        return
      case 'plan.cancelled':
        this.#plan = 'cancelling'
        for (const task of this.#tasks.values()) task.unwanted = true
        for (const task of this.#tasks.values())
          if (!ENDED.includes(task.status) && task.status !== 'running') task.status = 'cancelled'
        return
      case 'plan.aborted':
        this.#plan = 'cancelling'
        for (const task of this.#tasks.values()) {
          task.unwanted = true
          if (!ENDED.includes(task.status) && task.status !== 'running') task.status = 'cancelled'
        }
        return
      case 'recovery.chosen':
        this.#chosen(event)
        return
      case 'task.substituted':
        this.#substituted(event)
        return
      case 'plan.reopened':
        if (this.#plan !== 'ended') this.fail('I13', 'a plan was reopened that had not ended')
        // Who takes it up again gives it as much room as it had at first.
        this.#rules.clear()
        this.#plan = 'active'
        return
      case 'plan.finished':
        this.#finished(event)
        return
      case 'task.readied':
        for (const name of event.tasks) this.#move(name, 'ready')
        return
      case 'task.skipped':
        this.#shadow(event.task).status = 'skipped'
        // Whoever passes over it has looked.
        if (entry.command.type === 'skip') this.#shadow(event.task).unknown = false
        return
      case 'task.abandoned':
        this.#shadow(event.task).status = 'abandoned'
        return
      case 'task.blocked':
        for (const name of event.tasks) this.#move(name, 'blocked')
        return
      case 'task.unblocked':
        for (const name of event.tasks) this.#move(name, 'pending')
        return
      case 'task.reopened':
        for (const name of event.tasks) this.#reopen(name, entry)
        for (const name of event.tasks)
          for (const task of this.#tasks.values())
            if (task.routedBy === name && task.definition.needs?.includes(name) === true) task.routedBy = null
        return
      case 'task.routed':
        for (const name of event.to) this.#shadow(name).routedBy = event.task
        return
      case 'attempt.started':
        this.#started(event, entry)
        return
      case 'attempt.succeeded':
      case 'attempt.failed':
        this.#settled(event, entry)
        return
      case 'attempt.lost': {
        const task = this.#open(event)
        const stopping = entry.command.type === 'turn' && entry.command.start === false
        const superseded = event.reason.startsWith(OPENED_AGAIN)
        const unpaid = this.books !== null && event.reason.includes('budget')
        if (event.byUs === true && !stopping && !superseded && !unpaid && !task.unwanted)
          this.fail('I18', `'${event.task}' was ended in the middle, and nobody wanted that`)
        task.status = 'ready'
        task.unknown = !task.claimed
        task.claimed = false
        this.over.push({ task: event.task, visit: event.visit, attempt: event.attempt, how: 'lost' })
        return
      }
      case 'attempt.parked':
        this.#shadow(event.task).status = 'waiting'
        return
      case 'retry.scheduled': {
        const task = this.#shadow(event.task)
        if (task.status !== 'failed') this.fail('I13', `a retry of '${event.task}', which is ${task.status}`)
        if (event.at < entry.now) this.fail('I5', `a retry of '${event.task}' is due before its failure`)
        task.status = 'ready'
        return
      }
      case 'gate.opened': {
        const asked = this.#shadow(event.task)
        const isAboutFailure = event.asks.type === 'recovery' || event.asks.type === 'replan'
        if (isAboutFailure && asked.status === 'failed' && asked.endedVisit !== asked.visit) asked.status = 'waiting'
        else this.#move(event.task, 'waiting')
        return
      }
      case 'gate.decided':
        this.#decided(event, entry)
        return
      case 'rollback.started':
        this.#under = event
        for (const task of this.#tasks.values()) task.unwanted = true
        return
      case 'rollback.finished':
        this.#wentBack()
        return
      case 'rollback.stopped':
        this.#under = null
        return
      default:
        return
    }
  }

  /** Each task in a visit of its own; whether it stands where it stood is looked at in travel.ts. */
  #wentBack(): void {
    const { resets = [], to = 0, filesOnly, tasks } = this.#under ?? {}
    // Some files went back and tasks stay: nobody says any more whose marks are there.
    if (filesOnly === true || tasks !== undefined) for (const task of this.#tasks.values()) task.markVisit = UNMARKED
    for (const { task: name, status } of resets) {
      const task = this.#shadow(name)
      for (const key of this.#rules.keys()) if (key.startsWith(`${name} `)) this.#rules.delete(key)
      task.visit++
      task.attempt = 0
      task.failures = 0
      // Compensated on the way, it is open, whatever was to become of it.
      task.status = status === 'completed' && this.mirror.compensated.includes(name) ? 'pending' : status
      task.unknown = false
      task.claimed = false
      task.routedBy = resets.find(one => one.task === name)?.routedBy?.[0] ?? null
      task.markVisit = tasks === undefined ? (this.#marks[to - 1]?.get(name) ?? 0) : UNMARKED
    }
    this.#under = null
  }

  /** Tasks that stay keep what happened to them. */
  #define(definition: PlanDefinition): void {
    const before = new Map(this.#tasks)
    this.#tasks.clear()
    for (const task of expandTasks(definition)) {
      const known = before.get(task.id)
      this.#tasks.set(task.id, known === undefined ? newShadow(task) : Object.assign(known, { definition: task }))
    }
    if ((definition.done?.length ?? 0) === 0) return
    const id = 'done' as TaskName
    this.#tasks.set(id, before.get(id) ?? newShadow({ id, action: { type: 'verify' } }))
  }

  #groupFailed({ task: name, by }: Extract<Event, { type: 'task.failed' }>): void {
    const group = this.#shadow(name)
    if (group.definition.action.type !== 'group' || this.#shadow(by).status !== 'failed')
      this.fail('I4', `'${name}' fails with '${by}', which is ${this.#shadow(by).status}`)
    group.status = 'failed'
  }

  #finished(event: Extract<Event, { type: 'plan.finished' }>): void {
    if (this.#plan === 'ended') this.fail('I13', 'the plan ended twice')
    this.#plan = 'ended'
    this.#under = null
    if (event.status === 'completed') {
      for (const task of this.#tasks.values()) {
        const { id } = task.definition
        const isBad = task.status !== 'completed' && task.status !== 'skipped'
        // A failure taken up by an outcome edge is handled; an optional task may fail.
        if (isBad && task.definition.optional !== true && !this.#isHandled(id))
          this.fail('I4', `the plan completed with '${id}' ${task.status}`)
      }
    }
    if (event.status === 'cancelled')
      for (const task of this.#tasks.values()) if (!ENDED.includes(task.status)) task.status = 'cancelled'
    if (event.status === 'failed')
      for (const task of this.#tasks.values()) if (task.status === 'ready') task.status = 'cancelled'
  }

  #isHelped({ definition, status }: Shadow): boolean {
    return status === 'failed' && this.mirror.tasks.get(definition.id)?.recovering != null
  }

  /** A rule is used in so many visits as it says, and only for what has failed. */
  #chosen({ task: name, rule, visit, choice }: EventOf<'recovery.chosen'>): void {
    const task = this.#shadow(name)
    if (task.status !== 'failed') this.fail('I5', `something is done about '${name}', which is ${task.status}`)
    if (rule === undefined) return
    const key = `${name} ${rule}`
    const visits = this.#rules.get(key) ?? new Set()
    if (choice !== 'retry' && visits.has(visit)) this.fail('I5', `rule ${rule} of '${name}' is used twice in one visit`)
    this.#rules.set(key, visits.add(visit))
    const { times = 1 } = task.definition.recover?.[rule] ?? {}
    if (visits.size > times)
      this.fail('I5', `rule ${rule} of '${name}' is used ${visits.size} times, ${times} are allowed`)
  }

  /** Another has done the work: then it has. */
  #substituted({ task: name, by }: EventOf<'task.substituted'>): void {
    const task = this.#shadow(name)
    if (task.status !== 'failed' || this.#shadow(by).status !== 'completed')
      this.fail(
        'I4',
        `'${by}', which is ${this.#shadow(by).status}, did the work of '${name}', which is ${task.status}`,
      )
    task.status = 'completed'
    task.markVisit = UNMARKED
    task.unknown = false
  }

  #isHandled(task: TaskName): boolean {
    if (this.mirror.tasks.get(task)?.handled === true || this.#isSpare(task)) return true
    const group = task.slice(0, Math.max(0, task.lastIndexOf('/'))) as TaskName
    const around = group === '' ? undefined : this.#tasks.get(group)
    if (around?.definition.action.type !== 'group') return false
    return around.status === 'completed' || this.#isHandled(group)
  }

  /** It was led to only to help others, and they have come through. */
  #isSpare(name: TaskName): boolean {
    const by = this.mirror.tasks.get(name)?.routedBy ?? []
    return (
      by.length > 0 &&
      by.every(other => {
        const helped = this.#tasks.get(other)
        const isHelp = helped?.definition.recover?.some(({ do: way }) => 'task' in way && way.task === name) === true
        const isWell = helped?.status === 'completed' || helped?.status === 'skipped'
        return (
          isHelp && (isWell || helped.definition.optional === true || this.mirror.tasks.get(other)?.handled === true)
        )
      })
    )
  }

  #started(event: Extract<Event, { type: 'attempt.started' }>, entry: Entry): void {
    const task = this.#shadow(event.task)
    if (this.#plan !== 'active') this.fail('I4', `'${event.task}' starts while the plan is ${this.#plan}`)
    if (task.endedVisit === event.visit)
      this.fail('I13', `'${event.task}' starts again in visit ${event.visit}, which had ended`)
    if (task.status !== 'ready') this.fail('I4', `'${event.task}' starts although it is ${task.status}`)
    if (event.visit !== task.visit || event.attempt !== task.attempt + 1)
      this.fail('I5', `attempt ${event.visit}/${event.attempt} follows ${task.visit}/${task.attempt}`)
    for (const name of task.definition.needs ?? []) {
      const need = this.#shadow(name)
      const met = need.status === 'completed' || need.status === 'skipped' || task.routedBy === name
      if (!met) this.fail('I4', `'${event.task}' starts although it needs '${name}', which is ${need.status}`)
    }
    // For a clock that was set back nobody can tell how long a breaker is still open: agents may claim.
    const isClockBack = event.claim !== undefined && this.wallNow() < this.mirror.updatedAt
    for (const { capability, until } of this.mirror.breakers)
      if (
        !isClockBack &&
        until !== null &&
        until > entry.now &&
        task.definition.capabilities?.includes(capability) === true
      )
        this.fail('I4', `'${event.task}' starts although the breaker of '${capability}' is open`)
    const effect = effectOf(this.mirror.definition, task.definition)
    if (task.unknown && effect === 'unsafe')
      this.fail('I6', `'${event.task}' is unsafe, its last outcome is unknown, and nobody said to run it again`)
    const { type } = task.definition.action
    // A gate takes nobody's place: that its question cannot be made is told as an attempt that failed at once.
    if (event.claim === undefined && type === 'gate') return this.#begun(task, event)
    if (event.claim === undefined && type !== 'external') this.#fits(task)
    // One that fails before anybody could claim it was begun by nobody.
    else if (PEOPLE.test(entry.actor) === false && event.begun !== false)
      this.fail('I4', `${entry.actor} claimed '${event.task}'`)
    this.#begun(task, event)
  }

  #begun(task: Shadow, event: EventOf<'attempt.started'>): void {
    task.unknown = false
    task.unwanted = false
    task.claimed = event.claim !== undefined
    task.status = 'running'
    task.attempt = event.attempt
  }

  /** Within the plan's concurrency, and apart from whoever writes the same files. */
  #fits(task: Shadow): void {
    const running = [...this.#tasks.values()].filter(other => other.status === 'running' && !other.claimed)
    const { concurrency } = this.mirror.definition
    if (concurrency !== undefined && running.length >= concurrency)
      this.fail('I4', `more than ${concurrency} tasks run at once`)
    const scope = scopeOfTask(task.definition)
    const other = running.find(other => scopesOverlap(scope, scopeOfTask(other.definition)))
    if (other !== undefined)
      this.fail('I4', `'${task.definition.id}' and '${other.definition.id}' write the same files at once`)
  }

  #settled(event: Extract<Event, { type: 'attempt.succeeded' | 'attempt.failed' }>, entry: Entry): void {
    const task = this.#open(event)
    const { id } = task.definition
    const wasClaimed = task.claimed
    task.claimed = false
    this.over.push({ task: id, visit: event.visit, attempt: event.attempt, how: 'settled' })
    if (event.type === 'attempt.failed') {
      task.failures++
      task.status = 'failed'
      const more = (task.definition.recover ?? []).map(({ do: way }) => (way.type === 'retry' ? way.retry.attempts : 0))
      const attempts = Math.max(retryOf(this.mirror.definition, task.definition).attempts, ...more)
      if (task.failures > Math.max(1, attempts))
        this.fail('I5', `'${id}' has failed ${task.failures} times, ${attempts} attempts are allowed`)
      return
    }
    const open = event.result.verdicts?.some(({ holds }) => holds === null) === true
    task.status = open ? 'waiting' : 'completed'
    if (!open) this.completed++
    if (!wasClaimed && entry.command.type === 'turn') this.#happened(task)
  }

  /** A task is said to be done: then its own child said so, and its effect is there, once. */
  #happened(task: Shadow): void {
    const { id, action } = task.definition
    if (action.type !== 'run' && action.type !== 'edit') return
    const key = `${this.mirror.id}/${id}/${task.visit}`
    const mine = this.#world.executions.filter(
      other => other.task === id && other.visit === task.visit && other.kind !== 'undo',
    )
    const probed = mine.some(
      other => other.kind === 'probe' && other.attempt === task.attempt && other.ended === 'well',
    )
    const worked = mine.some(other => other.kind === 'work' && other.attempt === task.attempt && other.ended === 'well')
    if (!probed && !worked)
      this.fail(
        'I6',
        `'${id}' ${task.visit}/${task.attempt} is said to have succeeded, but no child of that attempt did`,
      )
    if (!mine.some(other => other.kind === 'work' && other.happened))
      this.fail('I6', `'${id}' succeeded without its effect`)
    if (effectOf(this.mirror.definition, task.definition) === 'idempotent' && !this.#world.byKey.has(key))
      this.fail('I6', `'${id}' succeeded and nothing arrived under its key ${key}`)
    task.markVisit = task.visit
    this.#marked(task)
  }

  #marked(task: Shadow): void {
    const { id } = task.definition
    const file = this.#world.executions.find(other => other.task === id && other.kind === 'work')?.file
    if (file == null || task.vouched || task.markVisit === UNMARKED) return
    const marks = this.#world.marks(file, id, task.markVisit)
    if (marks !== 1)
      this.fail('I6', `'${id}' visit ${task.markVisit} is completed and has left its mark ${marks} times in ${file}`)
  }

  #decided(event: Extract<Event, { type: 'gate.decided' }>, entry: Entry): void {
    const task = this.#shadow(event.task)
    if (task.status !== 'waiting') this.fail('I13', `a decision about '${event.task}', which is ${task.status}`)
    if (!PEOPLE.test(entry.actor))
      this.fail('I6', `'${event.task}' was decided '${event.verdict}' by ${entry.actor}, who is no person`)
    // A person has looked, whatever the answer.
    task.unknown = false
    if (event.verdict === 'done') task.vouched = true
    // A yes to what must hold before it begins; it waits until it is readied again.
    if (event.verdict === 'approved' && isBefore(this.mirror.tasks.get(event.task)?.gate ?? null)) return
    if (event.verdict === 'approved' || event.verdict === 'done') {
      task.status = 'completed'
      this.completed++
    }
    if (event.verdict === 'rejected') task.status = 'failed'
    if (event.verdict === 'skipped') task.status = 'skipped'
  }

  #reopen(name: TaskName, entry: Entry): void {
    const task = this.#shadow(name)
    const isUnsafe = effectOf(this.mirror.definition, task.definition) === 'unsafe'
    if (task.unknown && isUnsafe && entry.command.type === 'turn')
      this.fail('I6', `'${name}' is unsafe, its outcome is unknown, and its next visit was opened by nobody`)
    task.visit++
    task.attempt = 0
    task.failures = 0
    task.status = 'pending'
    task.unknown = false
    task.vouched = false
  }

  #move(name: TaskName, status: TaskStatus): void {
    const task = this.#shadow(name)
    if (ENDED.includes(task.status) || task.endedVisit === task.visit)
      this.fail('I13', `'${name}' was ${task.status} and is ${status} again in visit ${task.visit}`)
    task.status = status
  }

  #shadow(name: TaskName): Shadow {
    return this.#tasks.get(name)!
  }

  /** The attempt an event ends must be the one under way. */
  #open(event: {
    readonly type: string
    readonly task: TaskName
    readonly visit: number
    readonly attempt: number
  }): Shadow {
    const task = this.#shadow(event.task)
    if (task.status !== 'running' || task.visit !== event.visit || task.attempt !== event.attempt) {
      this.fail(
        'I13',
        `${event.type} for '${event.task}' ${event.visit}/${event.attempt}, which is ${task.status} at ${task.visit}/${task.attempt}`,
      )
    }
    return task
  }

  // ── what the recorder sees ───────────────────────────────────────────────────────────────────────────────────────

  began(execution: Execution): void {
    const { task, visit, attempt, key, kind, effect } = execution
    const known = this.#keys.get(`${task}/${visit}`)
    if (known !== undefined && known !== key)
      this.fail('I5', `'${task}' visit ${visit} was begun under the keys ${known} and ${key}`)
    this.#keys.set(`${task}/${visit}`, key)
    const shadow = this.#tasks.get(task)
    if (kind === 'undo') {
      const begun = this.#world.executions.filter(other => other.kind === 'undo' && other.task === task).length
      const said = this.travel.begun(task)
      if (begun > said)
        this.fail('I6', `the compensation of '${task}' was begun ${begun} times, and the journal says ${said}`)
      return
    }
    if (kind !== 'work' || !COUNTS.includes(effect)) return
    const open = shadow?.status === 'running' && shadow.visit === visit && shadow.attempt === attempt
    if (!open)
      this.fail(
        'I6',
        `child ${execution.number} began '${task}' ${visit}/${attempt}, which the journal does not say is under way`,
      )
    const left = this.#world.executions.find(other => other !== execution && other.running && other.task === task)
    if (left !== undefined)
      this.fail(
        'I6',
        `'${task}' ${visit}/${attempt} begins while child ${left.number} of an earlier attempt still lives`,
      )
    const twin = this.#world.executions.find(
      other =>
        other !== execution &&
        other.kind === 'work' &&
        other.task === task &&
        other.visit === visit &&
        other.attempt === attempt,
    )
    if (twin !== undefined)
      this.fail(
        'I6',
        `'${task}' ${visit}/${attempt} was begun twice, by children ${twin.number} and ${execution.number}`,
      )
  }

  happens(execution: Execution): void {
    const { task, visit, effect, kind } = execution
    if (kind !== 'work' || (effect !== 'unsafe' && effect !== 'probed')) return
    for (const other of this.#world.executions) {
      if (other === execution || other.key !== execution.key || other.kind !== 'work' || !other.happened) continue
      // A known failure may be tried again, whatever it left behind: the retry policy said so.
      const failed = this.entries.some(entry =>
        entry.events.some(
          event =>
            event.type === 'attempt.failed' &&
            event.task === task &&
            event.visit === visit &&
            event.attempt === other.attempt,
        ),
      )
      if (!failed)
        this.fail(
          'I6',
          `the effect of '${task}' visit ${visit} (${effect}) happens a second time, in child ${execution.number} after child ${other.number}`,
        )
    }
  }

  /** A fold to be stored, as the store would make it: whoever resumes starts from it. */
  storeFold(): void {
    const plan = this.#disk.plans.get(1)!
    if (plan.lastHash === null) return
    const body = deflateSync(JSON.stringify(packFold(this.mirror)))
    this.#disk.set(plan, 'fold', {
      version: this.mirror.version,
      definitionVersion: this.#definitionVersion,
      body,
      hash: foldHash(plan.lastHash, body),
    })
    this.#disk.commit()
    this.#trace(`a fold is stored at version ${this.mirror.version}`)
  }

  // ── the dear ones, now and then and at the end ───────────────────────────────────────────────────────────────────

  /** Folds the journal again and compares chain, query rows and states (I1, I3). */
  checkAll(): void {
    const steps = checkAll(tablesOf(this.#disk), this.#blobs, true)
    for (;;) {
      const step = steps.next()
      if (step.done !== true) continue
      for (const { what } of step.value.faults) this.fail('I3', what)
      break
    }
    if (this.entries.length > 0) this.#same('the fold of the journal', this.mirror)
  }

  /** At the end of a seed: everything acknowledged is there, every effect is there, every entry decides again (I7, I6, I16). */
  last(): void {
    this.checkAll()
    for (const { version, events } of this.#acknowledged) this.#isDurable(version, events)
    this.books?.compare(this.mirror)
    for (const task of this.#tasks.values()) if (task.status === 'completed') this.#marked(task)
    const state = newState()
    for (const entry of this.entries) {
      const decided = decide(state, entry.command, entry.now)
      const events = decided.ok ? JSON.stringify(decided.events) : `refused: ${decided.refusal.message}`
      if (events !== JSON.stringify(entry.events))
        return this.fail(
          'I16',
          `entry ${entry.version} (${entry.command.type}) decides otherwise: ${events.slice(0, 300)}`,
        )
      state.version = entry.version
    }
    this.#same('the state after deciding everything again', state)
  }

  /** Two states are the same when their stored folds are, and when opening the fold gives the same answers. */
  #same(what: string, state: PlanState): void {
    const mine = JSON.stringify(packFold(this.mirror))
    const theirs = JSON.stringify(packFold(state))
    if (mine !== theirs)
      return this.fail(
        'I3',
        `${what} is not the fold of the journal at version ${this.mirror.version}: ${firstDifference(mine, theirs)}`,
      )
    const opened = unpackFold(JSON.parse(theirs) as JsonObject, state.definition)
    for (const now of [state.updatedAt, state.updatedAt + 86_400_000]) {
      const [kept, again] = [answers(state, now), answers(opened, now)]
      if (kept !== again)
        return this.fail('I3', `${what} answers otherwise than its stored fold: ${firstDifference(kept, again)}`)
    }
  }
}

const newShadow = (definition: TaskDefinition): Shadow => ({
  definition,
  status: 'pending',
  visit: 1,
  attempt: 0,
  failures: 0,
  endedVisit: 0,
  markVisit: 0,
  routedBy: null,
  claimed: false,
  unknown: false,
  vouched: false,
  unwanted: false,
})

function scopeOfTask({ action, write }: TaskDefinition): readonly string[] {
  return write ?? (action.type === 'edit' ? action.edits.map(({ file }) => file) : [])
}

function answers(state: PlanState, now: number): string {
  const next = nextActions(state, now)
  const tasks = state.order.map(({ unmet, blockers, dependants }) => [unmet, blockers, dependants.length])
  const names = (list: Iterable<{ readonly definition: TaskDefinition }>) =>
    Array.from(list, ({ definition }) => definition.id)
  return JSON.stringify([
    names(next.perform).sort(),
    names(next.prepare),
    next.compensate?.task.definition.id,
    next.turn,
    next.wakeAt,
    next.rest,
    state.counts,
    tasks,
  ])
}

function firstDifference(a: string, b: string): string {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return `…${a.slice(Math.max(0, at - 60), at + 60)}… is not …${b.slice(Math.max(0, at - 60), at + 60)}…`
}

/** An event in a few words. */
function told(event: Event): string {
  if (event.type === 'task.imported') return event.type
  if ('tasks' in event && event.tasks !== undefined) return `${event.type} ${event.tasks.join('+')}`
  if ('attempt' in event) return `${event.type} ${event.task} ${event.visit}/${event.attempt}`
  if ('verdict' in event) return `${event.type} ${event.task} ${event.verdict}`
  return 'task' in event && event.task !== undefined ? `${event.type} ${event.task}` : event.type
}
