// One sentence for each event, for `log`, live views and the audit trail.

import type { Event, PlanContext, PlanEntry } from '../event.ts'
import type { PlanWording } from '../events/event-row.ts'
import { rowOf } from '../events/event-table.ts'
import type { Millis, TaskName } from '../id.ts'
import { isPlainBlock } from '../recovery/choose-recovery.ts'

export interface Moment {
  readonly at: Millis
  readonly version: number
  readonly actor: string
  readonly type: Event['type']
  readonly task: TaskName | null
  readonly text: string
}

export function timeline(
  entry: Pick<PlanEntry, 'now' | 'version' | 'actor' | 'events'>,
  words?: PlanWording,
): readonly Moment[] {
  return entry.events.map(event => ({
    at: entry.now,
    version: entry.version,
    actor: entry.actor,
    type: event.type,
    task: 'task' in event ? (event.task ?? null) : null,
    text: sentence(event, words),
  }))
}

/**
 * The events of an entry to show live, without those that another one makes needless: a gate that was decided at once, the second event
 * of a retry, and the decision to block when a task has no `retry`.
 */
export function visibleEvents(events: readonly Event[]): readonly Event[] {
  const isDecided = (task: TaskName, from: number): boolean =>
    events.slice(from).some(event => event.type === 'gate.decided' && event.task === task)
  const isChosen = (task: TaskName): boolean =>
    events.some(event => event.type === 'recovery.chosen' && event.task === task && event.choice === 'retry')
  const isToConfirm = (task: TaskName, from: number): boolean =>
    events
      .slice(from)
      .some(event => event.type === 'gate.opened' && event.task === task && event.asks.type === 'verdict') &&
    !isDecided(task, from)
  return events.filter((event, at) => {
    if (event.type === 'gate.opened') return !isDecided(event.task, at)
    if (event.type === 'retry.scheduled') return !isChosen(event.task)
    // A task whose criteria a person must confirm is not completed yet.
    if (event.type === 'attempt.succeeded') return !isToConfirm(event.task, at)
    // Adding to the budget answers its question.
    if (event.type === 'question.answered') return !events.slice(0, at).some(isRaise)
    return event.type !== 'recovery.chosen' || !isPlainBlock(event)
  })
}

const isRaise = ({ type }: Event): boolean => type === 'budget.raised'

export const sentence = (event: Event, words?: PlanWording): string => rowOf(event).sentence(event, words)

export function isSetback(event: Event): boolean {
  const { setback, failure } = rowOf(event)
  return setback === true && (failure === undefined || failure(event) !== null)
}

/** The context of a plan: names and values. */
export function contextRows({ commit, files, constraints = [], conversation }: PlanContext) {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ...([
      ['commit', commit],
      ['files', files?.join(', ')],
    ] as const),
    ...constraints.map(one => ['constraint', one] as const),
    ['conversation', conversation],
  ]
  return rows.flatMap(([name, text]) => (text === undefined ? [] : [{ name, text }]))
}
