// What must be true of going back and forth, told from the journal and from what really stands in the files:
//
//   I19 after a rollback every task stands as it stood at the entry, apart from what was compensated or parked, and so does every
//       file; the plan is paused, or has ended as it had
//   I20 what is compensated had been done and not been undone, and nothing starts while the plan goes back

import type { Event, EventOf } from '../src/domain/event.ts'
import type { TaskName } from '../src/domain/id.ts'
import type { PlanState } from '../src/domain/state/state.ts'
import { ENDED, PLAN_ENDED, type TaskStatus } from '../src/domain/status.ts'
import type { Entry } from '../src/stores/store.ts'
import type { World } from './world.ts'

/** How the plan stood after an entry. */
interface Standing {
  readonly plan: PlanState['status']
  /** `gone`: it counted as done, and what it did had been undone. */
  readonly tasks: ReadonlyMap<
    TaskName,
    { readonly status: TaskStatus; readonly parked: boolean; readonly gone: boolean }
  >
  /** Absent when somebody was writing just then. */
  readonly files: string | null
}

type Fail = (invariant: 'I19' | 'I20', what: string) => void

export class Travel {
  readonly #world: World
  readonly #fail: Fail
  readonly #then: Standing[] = []
  /** Completed, and not compensated since. */
  readonly #stands = new Set<TaskName>()
  /** Every compensation that was begun, by the entry. */
  readonly #undone: { readonly task: TaskName; readonly version: number }[] = []
  readonly #ended: { readonly task: TaskName; readonly version: number }[] = []
  #under: EventOf<'rollback.started'> | null = null
  #over: EventOf<'rollback.started'> | null = null
  /** How many went to their end. */
  finished = 0

  constructor(world: World, fail: Fail) {
    this.#world = world
    this.#fail = fail
  }

  /** The task that is undone; how often it may be is told by the journal. */
  begun(task: TaskName): number {
    return this.#undone.filter(one => one.task === task).length
  }

  event(event: Event, before: PlanState, { version }: Entry): void {
    switch (event.type) {
      case 'rollback.started':
        this.#under = event
        return
      case 'rollback.stopped':
      case 'plan.finished':
        this.#under = null
        return
      case 'attempt.started':
        if (this.#under !== null) this.#fail('I20', `'${event.task}' starts while the plan goes back`)
        return
      case 'rollback.finished':
        this.#over = this.#under
        this.#under = null
        return
      case 'compensation.started':
        if (!this.#stands.has(event.task))
          this.#fail('I20', `'${event.task}' is compensated, and what it did is not there`)
        this.#undone.push({ task: event.task, version })
        return
      case 'compensation.finished':
        if (event.result.status === 'succeeded') this.#stands.delete(event.task)
        this.#ended.push({ task: event.task, version })
        return
      default:
        for (const name of completedBy(event, before)) this.#stands.add(name)
    }
  }

  /** After an entry, with the fold of it. */
  after(entry: Entry, now: PlanState): void {
    if (entry.events.some(({ type }) => type === 'rollback.finished')) this.#compare(now)
    const isQuiet =
      // Whoever has begun and not ended may have left something that goes back with it.
      now.order.every(({ attempt, status }) => attempt === 0 || ENDED.has(status)) &&
      !this.#world.executions.some(({ running }) => running) &&
      this.#world.unsettled === null
    this.#then.push({
      plan: now.status,
      tasks: new Map(
        now.order.map(({ definition: { id, compensate }, status, gate }) => [
          id,
          {
            status,
            parked: gate?.asks.type === 'unknown-outcome',
            gone: status === 'completed' && compensate !== undefined && !this.#stands.has(id),
          },
        ]),
      ),
      files: isQuiet ? this.#files() : null,
    })
  }

  #compare(now: PlanState): void {
    const under = this.#over
    this.#over = null
    this.finished++
    if (under === null) return this.#fail('I19', 'a rollback ended that had not begun')
    if (now.rollback !== null || now.compensating !== null)
      this.#fail('I19', 'the rollback has ended and something of it is still under way')
    if (now.status !== 'paused' && !PLAN_ENDED.has(now.status))
      this.#fail('I19', `after a rollback it is ${now.status}`)
    if (under.filesOnly === true || under.tasks !== undefined) return
    const then = this.#then[under.to - 1]!
    const isUndone = (name: TaskName) =>
      this.#ended.some(({ task, version }) => version > under.to && (task === name || task.startsWith(`${name}/`)))
    const wasUndone = [...then.tasks.values()].some(({ gone }) => gone)
    // What was undone is to be done anew, and with it the group it is a part of.
    const wasGone = (name: TaskName) =>
      [...then.tasks].some(([task, { gone }]) => gone && (task === name || task.startsWith(`${name}/`)))
    let same = true
    for (const { definition, status, gate } of now.order) {
      const { id } = definition
      const was = then.tasks.get(id)
      if (was?.parked === true || wasGone(id) || gate?.asks.type === 'unknown-outcome' || isUndone(id)) {
        same = false
        continue
      }
      // Where work is taken up again, it is judged again.
      if (id === 'done' && (wasUndone || this.#ended.some(({ version }) => version > under.to))) continue
      const [is, should] = [standingOf(status), was === undefined ? 'open' : standingOf(was.status)]
      if (is !== should)
        this.#fail('I19', `'${id}' was ${was?.status ?? 'not there'} at entry ${under.to} and is ${status}`)
      if (was === undefined) same = false
    }
    if (same && PLAN_ENDED.has(then.plan) && now.status !== then.plan)
      this.#fail('I19', `the plan was ${then.plan} at entry ${under.to} and is ${now.status}`)
    // What an attempt that nobody knows the end of has left is asked about, and left where somebody says so.
    if (then.files !== null && under.paths === undefined && this.#files() !== then.files)
      this.#fail('I19', `the files are not as they were at entry ${under.to}: ${then.files} and now ${this.#files()}`)
  }

  #files(): string {
    return JSON.stringify([...this.#world.files].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

const standingOf = (status: TaskStatus): TaskStatus | 'open' => (ENDED.has(status) ? status : 'open')

/** The task an event says is done; written from the journal's own words. */
function completedBy(event: Event, before: PlanState): readonly TaskName[] {
  if (event.type === 'attempt.succeeded')
    return event.result.verdicts?.some(({ holds }) => holds === null) === true ? [] : [event.task]
  if (event.type !== 'gate.decided' || event.verdict === 'rejected' || event.verdict === 'again') return []
  const asks = before.tasks.get(event.task)?.gate?.asks
  return asks?.type === 'verdict' && asks.before === true ? [] : [event.task]
}
