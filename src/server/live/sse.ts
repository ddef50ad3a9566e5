// Writes a stream of events to one client: only while its socket takes it, a heartbeat when nothing happens, a goodbye when the
// service stops. A client that does not read is cut off; it goes on from its last id when it comes back.

import type { PlanId } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { PlanState } from '../../domain/state/state.ts'
import {
  type Announcement,
  announcements,
  type PlanFacts,
  RESYNC,
  type ToldEntry,
} from '../../domain/views/announcement.ts'
import { lastSpend } from '../../domain/views/pages/agent-lines.ts'
import type { PlanProgress } from '../../engine/engine.ts'
import type { Entry, Position, StoredLog } from '../../stores/store.ts'
import { wordedEvent } from '../hint-text.ts'
import type { Subscriber } from './subscriber.ts'

// How an announcement is written on an event stream, and the id that tells where it stands: `<position>` for the last of an entry,
// `<position>.<index>` for those before it, so that a stream that was cut anywhere goes on exactly there.

/** Behind which event a stream stands: all of entry `position`, or with `index` those up to it. */
export interface Cursor {
  readonly position: Position
  readonly index: number | null
}

/** The names and shapes that the events of a stream have. */
export interface Naming {
  readonly key: string
  /** `before`: the state it was written upon, which it may move along; null where nobody has it. */
  announce(entry: ToldEntry, facts: PlanFacts, before: PlanState | null): readonly Announcement[]
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
  const told = naming.announce({ ...entry, events, at: new Date(now).toISOString() }, facts, before)
  return told.map(({ name, data }, index) =>
    frame(name, data, printCursor({ position, index: index === told.length - 1 ? null : index })),
  )
}

/** `data` is JSON, and so stands on one line. */
export function frame(name: string, data: string, id?: string): string {
  return `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`
}

/** Moves the client's id on without telling it anything. The comment is for parsers that keep an id without an event to themselves. */
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

/** How long clients wait before they come back, unless they know better. */
const RETRY_MS = 1_000
const SLICE_CHARS = 64_000
/** A character takes at most three bytes for each of its units. */
const BYTES_PER_CHAR = 3

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // Proxies that gather answers must not.
  'x-accel-buffering': 'no',
}

/** Ends when the client has gone, was cut off (`cut`), or the service stops. */
export async function sendEvents(
  out: Outlet,
  subscriber: Subscriber,
  { bytesMax, silentMs, stopping }: SseOptions,
): Promise<'gone' | 'cut' | 'stopped'> {
  const slice = Math.max(1, Math.min(SLICE_CHARS, Math.floor(bytesMax / (2 * BYTES_PER_CHAR))))
  const { naming } = subscriber.wish
  const ring = () => subscriber.ring()
  out.gone.addEventListener('abort', ring, { once: true })
  out.begin(200, HEADERS)
  // The id comes first: who is cut off before the first event goes on from here all the same.
  let told = printCursor(subscriber.cursor)
  let text = `retry: ${RETRY_MS}\n${idFrame(subscriber.cursor)}`
  let written = 0
  for (;;) {
    for (written = 0; written < text.length && !out.gone.aborted; ) {
      const end = sliceEnd(text, written + slice)
      const isTaken = out.write(text.slice(written, end))
      written = end
      if (!isTaken && !(await drainedWithin(out, silentMs))) {
        out.destroy()
        return 'cut'
      }
    }
    if (out.gone.aborted) break
    if (subscriber.takeBeat()) {
      const now = printCursor(subscriber.cursor)
      text = now === told ? ': beat\n\n' : idFrame(subscriber.cursor)
      told = now
      continue
    }
    text = subscriber.ticks?.takeOutput(naming) ?? ''
    if (text !== '') continue
    const frames = await subscriber.next()
    text = frames?.join('') ?? subscriber.ticks?.takeProgress(naming, subscriber.cursor.position) ?? ''
    if (text === '' && frames === null) await subscriber.wait()
    else if (frames !== null && text !== '') told = printCursor(subscriber.cursor)
  }
  if (!stopping.aborted) return 'gone'
  // Behind half an event, it would make a whole one of it.
  if (written >= text.length) out.write(': bye\n\n')
  out.end()
  return 'stopped'
}

/** Never between the two halves of a character. */
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
  /** False when the client does not read as fast; then wait for `drained`. */
  write(text: string): boolean
  drained(): Promise<void>
  buffered(): number
  readonly gone: AbortSignal
  end(): void
  destroy(): void
}
