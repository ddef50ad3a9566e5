// Writes an event stream (SSE) to one client: backpressure, heartbeats, and a goodbye when the service stops. A client that does
// not read is disconnected, and resumes from its last id when it reconnects.

import type { PlanId } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { PlanState } from '../../domain/state/state.ts'
import {
  type AnnouncedEntry,
  type Announcement,
  announcements,
  type PlanFacts,
  RESYNC,
} from '../../domain/views/announcement.ts'
import { lastSpend } from '../../domain/views/pages/agent-lines.ts'
import type { PlanProgress } from '../../engine/engine.ts'
import type { Entry, Position, StoredLog } from '../../stores/store.ts'
import { wordedEvent } from '../hint-text.ts'
import type { Subscriber } from './subscriber.ts'

// The ids of events: `<position>` for the last event of an entry, `<position>.<index>` for those before it, so that a stream can
// be resumed exactly wherever it broke.

/** The last event received: all of entry `position`, or with `index` only its events up to that one. */
export interface Cursor {
  readonly position: Position
  readonly index: number | null
}

/** The names and shapes that the events of a stream have. */
export interface Naming {
  readonly key: string
  /** `before` is the state before the entry, which the call may advance; null if unavailable. */
  announce(entry: AnnouncedEntry, facts: PlanFacts, before: PlanState | null): readonly Announcement[]
  output(log: ShownLog, facts: PlanFacts): Announcement
  /** How far a plan has come, or that its inbox changed. */
  progress(name: ProgressName, plan: PlanId, facts: PlanFacts, now: PlanProgress, at: string): Announcement
  resync(data: JsonObject, at: string): Announcement
}

export type ProgressName = 'plan.progress' | 'inbox.changed'

/** What a task printed, cut to a length that a stream can carry. */
export interface ShownLog extends Pick<StoredLog, 'plan' | 'task' | 'visit' | 'attempt' | 'stream' | 'text'> {
  readonly at: string
  /** `cut`: only the end of it; `gap`: what came before it was left out. */
  readonly more: { readonly cut?: true; readonly gap?: true }
}

export const DOTTED: Naming = {
  key: 'dotted',
  announce: announcements,
  output: ({ plan, task, visit, attempt, stream, at, text, more }, facts) => {
    const data = {
      plan,
      plan_name: facts.name,
      task,
      visit,
      attempt,
      stream,
      at,
      text,
      ...spentIn(stream, text),
      ...more,
    }
    return { name: 'task.output', data: JSON.stringify(data) }
  },
  progress: (name, plan, facts, { version, revision, status, running, progress, waiting }, at) => {
    if (name === 'inbox.changed')
      return { name, data: JSON.stringify({ plan, plan_name: facts.name, version, waiting: waiting.length, at }) }
    const { total, done, ended, ratio, counts } = progress
    const where = { plan, plan_name: facts.name, version, revision, status }
    const failed = counts.failed + counts.abandoned
    const data = { ...where, done, ended, total, ratio, waiting: waiting.length, failed, running, at }
    return { name, data: JSON.stringify(data) }
  },
  resync: (data, at) => ({ name: RESYNC, data: JSON.stringify({ ...data, at }) }),
}

/** What the agent of the task has spent so far, where the text says so. */
function spentIn(stream: StoredLog['stream'], text: string): object {
  const spent = stream === 'engine' ? lastSpend(text) : null
  if (spent === null) return {}
  const { calls, inputTokens: input_tokens, outputTokens: output_tokens, cost } = spent
  return { spent: { calls, input_tokens, output_tokens, cost_usd: cost.known ? cost.usd : null } }
}

export function entryFrames(
  naming: Naming,
  entry: Entry,
  facts: PlanFacts,
  before: PlanState | null,
): readonly string[] {
  const { position, now, plan } = entry
  const events = entry.events.map(event => wordedEvent(event, { plan }))
  const worded = naming.announce({ ...entry, events, at: new Date(now).toISOString() }, facts, before)
  return worded.map(({ name, data }, index) =>
    frame(name, data, printCursor({ position, index: index === worded.length - 1 ? null : index })),
  )
}

/** `data` must be one line, as JSON is. */
export function frame(name: string, data: string, id?: string): string {
  return `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`
}

/** Advances the client's id without an event. The comment is for parsers that do not expose an id without an event. */
const idFrame = (cursor: Cursor): string => `: at ${printCursor(cursor)}\nid: ${printCursor(cursor)}\n\n`

export const printCursor = ({ position, index }: Cursor): string =>
  index === null ? String(position) : `${position}.${index}`

export function parseCursor(text: string): Cursor | null {
  const match = /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(text)
  if (match === null) return null
  const [position, index] = [Number(match[1]), match[2] === undefined ? null : Number(match[2])]
  return position === 0 && index !== null ? null : { position, index }
}

interface SseOptions {
  readonly bytesMax: number
  readonly silentMs: number
  readonly stopping: AbortSignal
}

/** Reconnection delay that clients use by default. */
const RETRY_MS = 1_000
const SLICE_CHARS = 64_000
/** UTF-8 needs at most three bytes per UTF-16 unit. */
const BYTES_PER_CHAR = 3

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // Disables buffering in reverse proxies.
  'x-accel-buffering': 'no',
}

/** Ends when the client disconnects, was too slow (`cut`), or the service stops. */
export async function sendEvents(
  out: Outlet,
  subscriber: Subscriber,
  { bytesMax, silentMs, stopping }: SseOptions,
): Promise<'gone' | 'cut' | 'stopped'> {
  const slice = Math.max(1, Math.min(SLICE_CHARS, Math.floor(bytesMax / (2 * BYTES_PER_CHAR))))
  const { naming } = subscriber.wish
  const ring = () => subscriber.ring()
  out.disconnected.addEventListener('abort', ring, { once: true })
  out.begin(200, HEADERS)
  // The id comes first, so that a client disconnected before the first event resumes from here.
  let sentCursor = printCursor(subscriber.cursor)
  let text = `retry: ${RETRY_MS}\n${idFrame(subscriber.cursor)}`
  let written = 0
  for (;;) {
    for (written = 0; written < text.length && !out.disconnected.aborted; ) {
      const end = sliceEnd(text, written + slice)
      const isTaken = out.write(text.slice(written, end))
      written = end
      if (!isTaken && !(await drainedWithin(out, silentMs))) {
        out.destroy()
        return 'cut'
      }
    }
    if (out.disconnected.aborted) break
    if (subscriber.takeBeat()) {
      const now = printCursor(subscriber.cursor)
      text = now === sentCursor ? ': beat\n\n' : idFrame(subscriber.cursor)
      sentCursor = now
      continue
    }
    text = subscriber.ticks?.takeOutput(naming) ?? ''
    if (text !== '') continue
    const frames = await subscriber.next()
    text = frames?.join('') ?? subscriber.ticks?.takeProgress(naming, subscriber.cursor.position) ?? ''
    if (text === '' && frames === null) await subscriber.wait()
    else if (frames !== null && text !== '') sentCursor = printCursor(subscriber.cursor)
  }
  if (!stopping.aborted) return 'gone'
  // After a partial event, it would complete that event.
  if (written >= text.length) out.write(': bye\n\n')
  out.end()
  return 'stopped'
}

/** Never splits a surrogate pair. */
function sliceEnd(text: string, end: number): number {
  if (end >= text.length) return text.length
  const unit = text.charCodeAt(end - 1)
  return unit >= 0xd800 && unit <= 0xdbff ? end + 1 : end
}

async function drainedWithin(out: Outlet, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>(resolve => {
    timer = setTimeout(resolve, ms, false)
  })
  const isDrained = await Promise.race([out.drained().then(() => true), late])
  clearTimeout(timer)
  return isDrained
}

export interface Outlet {
  begin(status: number, headers: { readonly [name: string]: string }): void
  /** False if the client reads too slowly: then wait for `drained`. */
  write(text: string): boolean
  drained(): Promise<void>
  buffered(): number
  /** Aborts when the client disconnects, and when the service stops. */
  readonly disconnected: AbortSignal
  end(): void
  destroy(): void
}
