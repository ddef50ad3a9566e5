// How an announcement is written on an event stream, and the id that tells where it stands: `<position>` for the last of an entry,
// `<position>.<index>` for those before it, so that a stream that was cut anywhere goes on exactly there.

import type { PlanState } from '../domain/state.ts'
import type { PlanFacts, ToldEntry } from '../domain/views/announcement.ts'
import { type Announcement, announcements } from '../domain/views/announcement.ts'
import { underscoreAnnouncements } from '../domain/views/announcement-underscore.ts'
import type { Entry, Position } from '../stores/store.ts'

/** Behind which event a stream stands: all of entry `position`, or with `index` those up to it. */
export interface Cursor {
  readonly position: Position
  readonly index: number | null
}

/** Under which names entries are announced; `key` tells one way from another. */
export interface Naming {
  readonly key: string
  /** `before`: the state it was written upon, which it may move along; null where nobody has it. */
  announce(entry: ToldEntry, facts: PlanFacts, before: PlanState | null): readonly Announcement[]
}

export const DOTTED: Naming = { key: 'dotted', announce: announcements }
export const UNDERSCORE: Naming = { key: 'underscore', announce: underscoreAnnouncements }

/** One text for each announcement of an entry, with its id. */
export function entryFrames(
  naming: Naming,
  entry: Entry,
  facts: PlanFacts,
  before: PlanState | null,
): readonly string[] {
  const { position, now } = entry
  const told = naming.announce({ ...entry, at: new Date(now).toISOString() }, facts, before)
  return told.map(({ name, data }, index) =>
    frame(name, data, printCursor({ position, index: index === told.length - 1 ? null : index })),
  )
}

/** `data` is JSON, and so stands on one line. */
export function frame(name: string, data: string, id?: string): string {
  return `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`
}

/** Moves the client's id on without telling it anything. */
export const idFrame = (cursor: Cursor): string => `id: ${printCursor(cursor)}\n\n`

export const printCursor = ({ position, index }: Cursor): string =>
  index === null ? String(position) : `${position}.${index}`

/** Null for what is no cursor. */
export function parseCursor(text: string): Cursor | null {
  const match = /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(text)
  if (match === null) return null
  const [position, index] = [Number(match[1]), match[2] === undefined ? null : Number(match[2])]
  return position === 0 && index !== null ? null : { position, index }
}
