// The fate of an inbox item, found by folding the journal and checking after each entry whether it is present. Also: does a stopped
// rollback still wait, according to the last entries?

import type { Event, EventOf, PlanEntry } from '../event.ts'
import { tasksOf } from '../events/event-row.ts'
import type { Millis, TaskName } from '../id.ts'
import { evolve } from '../state/evolve.ts'
import { newState } from '../state/fold.ts'
import type { PlanState } from '../state/state.ts'
import { askedOf, type InboxItem, itemOf, rollbackItem, type StoppedRollback } from './inbox.ts'
import { sentence } from './timeline.ts'

type Entry = Pick<PlanEntry, 'version' | 'now' | 'actor' | 'events'>

export interface Became {
  readonly item: InboxItem
  readonly by: {
    readonly version: number
    readonly at: Millis
    readonly actor: string
    readonly text: string
    /** Absent if no person decided: the plan went on without an answer. */
    readonly verdict?: EventOf<'gate.decided'>['verdict']
  } | null
}

export class InboxPast {
  readonly #isWanted: (key: string) => boolean
  readonly #state: PlanState = newState()
  #started: EventOf<'rollback.started'> | null = null
  #found: Became | null = null

  constructor(isWanted: (key: string) => boolean) {
    this.#isWanted = isWanted
  }

  get found(): Became | null {
    return this.#found
  }

  read(entry: Entry): void {
    const { version, now, events } = entry
    const touched = new Set<TaskName>()
    for (const event of events) {
      evolve(this.#state, event, now)
      for (const task of tasksOf(event)) touched.add(task)
      if (event.type === 'rollback.started') this.#started = event
      if (event.type === 'rollback.stopped') {
        const item = rollbackItem(this.#state, { version, at: now, started: this.#started, stopped: event })
        if (this.#isWanted(item.key)) this.#found = { item, by: null }
      }
    }
    this.#state.version = version
    if (this.#found === null) this.#look(touched)
    else if (this.#found.by === null && !this.#stillWaits(this.#found.item, entry))
      this.#found = { ...this.#found, by: answeredBy(this.#found.item, entry) }
  }

  #look(touched: ReadonlySet<TaskName>): void {
    for (const item of askedOf(this.#state)) if (this.#isWanted(item.key)) this.#found = { item, by: null }
    for (const name of touched) {
      const task = this.#state.tasks.get(name)
      const item = task === undefined ? null : itemOf(this.#state, task)
      if (item !== null && this.#isWanted(item.key)) this.#found = { item, by: null }
    }
  }

  #stillWaits({ key, task, asks }: InboxItem, { events }: Entry): boolean {
    if (this.#state.archived) return false
    if (asks.type === 'agent-question' || asks.type === 'proposal')
      return askedOf(this.#state).some(item => item.key === key)
    if (task === null) return !events.some(settlesRollback)
    const state = this.#state.tasks.get(task)
    return state !== undefined && itemOf(this.#state, state)?.key === key
  }
}

function answeredBy(item: InboxItem, { version, now, actor, events }: Entry): NonNullable<Became['by']> {
  const about = events.filter(event => isAbout(item, event))
  const cause = about.find(({ type }) => type === 'gate.decided') ?? about[0] ?? events[0]
  const verdict = cause?.type === 'gate.decided' ? { verdict: cause.verdict } : {}
  return { version, at: now, actor, text: cause === undefined ? 'it is gone' : sentence(cause), ...verdict }
}

function isAbout({ task, asks }: InboxItem, event: Event): boolean {
  switch (asks.type) {
    case 'rollback':
      return settlesRollback(event)
    case 'agent-question':
      return event.type === 'question.answered' && event.id === asks.id
    case 'proposal':
      return (
        (event.type === 'revision.declined' && event.id === asks.id) ||
        (event.type === 'plan.revised' && (event.proposal === asks.id || event.proposal === undefined))
      )
    default:
      return task !== null && tasksOf(event).includes(task)
  }
}

/** The last rollback, if it stopped and no person has settled that since. Entries in order. */
export function stoppedIn(tail: readonly Entry[]): StoppedRollback | null {
  let found: StoppedRollback | null = null
  let started: EventOf<'rollback.started'> | null = null
  for (const { version, now, events } of tail) {
    for (const event of events) {
      if (event.type === 'rollback.started') started = event
      if (event.type === 'rollback.stopped') found = { version, at: now, started, stopped: event }
      else if (found !== null && version > found.version && settlesRollback(event)) found = null
    }
  }
  return found
}

/** A person continued or restarted the rollback, ended or reopened the plan, or commented on the plan. */
function settlesRollback(event: Event): boolean {
  switch (event.type) {
    case 'rollback.started':
    case 'plan.resumed':
    case 'plan.reopened':
    case 'plan.cancelled':
    case 'plan.archived':
      return true
    case 'note.added':
      return event.task === undefined
    default:
      return false
  }
}
