// The live events of an entry: one announcement for each event. These lists are the only contract between faces and the service: a face may
// subscribe to these names, and the service sends nothing else.

import type { Event } from '../event.ts'
import { EVENT_TYPES } from '../events/event-table.ts'
import type { Actor, PlanId } from '../id.ts'

export interface AnnouncedEntry {
  readonly position: number
  readonly version: number
  readonly plan: PlanId
  readonly actor: Actor
  readonly at: string
  readonly events: readonly Event[]
}

export interface PlanFacts {
  readonly name: string
  readonly session: string | null
}

export interface Announcement {
  readonly name: string
  readonly data: string
}

/** Live only, without an id: not replayed. */
export const TICKS = ['task.output', 'plan.progress', 'inbox.changed'] as const
/** Missed events are no longer available: the client must reload. */
export const RESYNC = 'resync'

export const ANNOUNCED: readonly string[] = [...EVENT_TYPES, ...TICKS, RESYNC]

/** A longer event omits its longest fields and names them; clients load the plan for these. */
export const EVENT_MAX_CHARS = 200_000

export function announcements(entry: AnnouncedEntry, { name, session }: PlanFacts): readonly Announcement[] {
  const { position, version, plan, at, actor } = entry
  const facts = { position, version, plan, plan_name: name, ...(session === null ? {} : { session }) }
  return entry.events.map(event => {
    const task = 'task' in event && event.task !== undefined ? { task: event.task } : {}
    const head = JSON.stringify({ ...facts, ...task, at, actor })
    return { name: event.type, data: `${head.slice(0, -1)},"event":${eventText(event)}}` }
  })
}

/** Without tokens, which would let a listener act for others. */
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
