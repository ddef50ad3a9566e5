// From an entry to what is announced of it, live, to whoever listens: one announcement for each event. The lists here are the one
// contract between faces and service: a face may listen to what is named in them, and the service sends nothing else.

import type { Event } from '../event.ts'
import { EVENT_TYPES } from '../events/event-table.ts'
import type { Actor, PlanId } from '../id.ts'

/** An entry as it is told. */
export interface ToldEntry {
  readonly position: number
  readonly version: number
  readonly plan: PlanId
  readonly actor: Actor
  /** ISO 8601. */
  readonly at: string
  readonly events: readonly Event[]
}

/** What never changes about a plan, and is told with everything. */
export interface PlanFacts {
  readonly name: string
  readonly session: string | null
}

export interface Announcement {
  readonly name: string
  readonly data: string
}

/** Live only, without an id: gone when nobody listened. */
export const TICKS = ['task.output', 'plan.progress', 'inbox.changed'] as const
/** What was missed cannot be told any more: read everything again. */
export const RESYNC = 'resync'

/** Every name a face may listen to. */
export const ANNOUNCED: readonly string[] = [...EVENT_TYPES, ...TICKS, RESYNC]

/** A longer event leaves out its longest fields and says which; whoever needs them asks for the plan. */
export const EVENT_MAX_CHARS = 200_000

export function announcements(entry: ToldEntry, { name, session }: PlanFacts): readonly Announcement[] {
  const { position, version, plan, at, actor } = entry
  const said = { position, version, plan, plan_name: name, ...(session === null ? {} : { session }) }
  return entry.events.map(event => {
    const task = 'task' in event && event.task !== undefined ? { task: event.task } : {}
    const head = JSON.stringify({ ...said, ...task, at, actor })
    return { name: event.type, data: `${head.slice(0, -1)},"event":${eventText(event)}}` }
  })
}

/** Without what would let whoever listens act in another's name. */
export function announcedEvent(event: Event): object {
  if (event.type !== 'attempt.started' || event.claim === undefined) return event
  const { token: _, ...claim } = event.claim
  return { ...event, claim }
}

function eventText(event: Event): string {
  const text = JSON.stringify(announcedEvent(event))
  if (text.length <= EVENT_MAX_CHARS) return text
  const fields = Object.entries(announcedEvent(event)).map(([key, value]) => ({ key, text: JSON.stringify(value) }))
  const leftOut = new Set<string>()
  let length = text.length
  for (const field of fields.toSorted((one, other) => other.text.length - one.text.length)) {
    if (length <= EVENT_MAX_CHARS || field.key === 'type') break
    leftOut.add(field.key)
    length -= field.text.length
  }
  const kept = fields.filter(({ key }) => !leftOut.has(key)).map(({ key, text }) => `${JSON.stringify(key)}:${text}`)
  return `{${[...kept, `"left_out":${JSON.stringify([...leftOut])}`].join(',')}}`
}
