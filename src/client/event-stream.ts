// Entries and events over HTTP as resumable streams.

import { createParser } from 'eventsource-parser'
import type { Entry, Position } from '../stores/store.ts'
import { type Connection, errorFrom, headersOf, linesOf, problemIn } from './transport.ts'

export interface StreamEvent {
  /** `message` if the event has no name. */
  readonly name: string
  readonly data: string
  /** The id to resume behind this event; null for live progress, which is not replayed. */
  readonly id: string | null
}

/** Larger than any event of the service; bounds the memory a single event may take. */
const EVENT_MAX_CHARS = 16_000_000

/** The service also sends its position in a comment, because the parser does not report ids without an event. */
const AT = /^at (\S+)$/

/** Parses the text of an event stream in arbitrary pieces. */
export class EventText {
  #events: StreamEvent[] = []
  #id = ''
  #retryMs: number | null = null
  readonly #parser = createParser({
    maxBufferSize: EVENT_MAX_CHARS,
    onEvent: ({ event = 'message', data, id = null }) => {
      this.#events.push({ name: event, data, id })
      this.#id = id ?? this.#id
    },
    onComment: comment => {
      this.#id = AT.exec(comment)?.[1] ?? this.#id
    },
    onRetry: ms => {
      this.#retryMs = ms
    },
    onError: error => {
      if (error.type === 'max-buffer-size-exceeded') throw error
    },
  })

  /** The last id received; empty before the first. Incomplete events do not count. */
  get id(): string {
    return this.#id
  }

  /** The reconnection delay the service asked for, or null. */
  get retryMs(): number | null {
    return this.#retryMs
  }

  /** Returns the events completed by `text`. Throws if an event exceeds the size limit. */
  read(text: string): readonly StreamEvent[] {
    this.#events = []
    this.#parser.feed(text)
    return this.#events
  }
}

// A resilient subscription: reads an event stream over fetch, and whenever it is interrupted, resumes behind the last event, so
// that each event is delivered once and in order.

export interface Subscription {
  readonly url: string
  /** Ends the subscription, as does leaving the loop. */
  readonly signal?: AbortSignal
  readonly headers?: { readonly [name: string]: string }
  /** Resume behind this id; without it, the stream starts with new events. */
  readonly after?: string
  readonly fetch?: typeof globalThis.fetch
  /** Upper limit of the backoff between failed attempts; never below the delay the service asks for with `retry:`. */
  readonly retryMaxMs?: number
  /** Reconnect after this much silence; the service sends something at least every 15 s. */
  readonly silentMs?: number
  /** Jitter from 0 to 1, so that clients do not all reconnect at once. */
  readonly random?: () => number
  /** Called with the current id whenever the stream is opened or reopened. */
  readonly onOpen?: (id: string) => void
  /** Called when the stream breaks, with the reason and the delay before the next attempt. */
  readonly onCut?: (why: unknown, retryMs: number) => void
}

/** `refused`: the service declines and retrying would not help. It is always the last item. */
export type Heard =
  | ({ readonly type: 'event' } & StreamEvent)
  | { readonly type: 'refused'; readonly status: number; readonly problem: unknown }

const RETRY_MS = 1_000
const RETRY_MAX_MS = 30_000
const RETRY_LEAST_MS = 1
/** Upper limit for delays from the service: timers overflow after about three weeks and then fire at once. */
const WAIT_MAX_MS = 24 * 60 * 60_000
const SILENT_MS = 45_000
/** Statuses below 500 that are worth a retry. */
const PASSING = new Set([408, 425, 429])

/** Runs until `signal` aborts, the service refuses, or the caller leaves the loop. */
export async function* subscribe(options: Subscription): AsyncGenerator<Heard, void, undefined> {
  const { signal = new AbortController().signal, random = () => 0.5, retryMaxMs = RETRY_MAX_MS } = options
  let id = options.after ?? ''
  let hintMs: number | null = null
  for (let failures = 0; !signal.aborted; ) {
    let why: unknown = null
    let waitMs = 0
    const connection = connect({ ...options, signal }, id)
    try {
      const opened = await connection.open()
      if (opened.status !== 200) {
        if (!isPassing(opened.status)) {
          yield { type: 'refused', status: opened.status, problem: await opened.problem() }
          return
        }
        why = new Error(`the service answered ${opened.status}`)
        waitMs = opened.retryAfterMs
        failures++
      } else {
        const text = new EventText()
        for await (const piece of opened.pieces()) {
          const events = text.read(piece)
          if (events.length > 0 || text.id !== '') failures = 0
          hintMs = text.retryMs ?? hintMs
          if (events.length === 0 && text.id !== '') id = text.id
          for (const event of events) {
            // Stored before it is yielded: a caller that leaves the loop here has seen the event.
            id = event.id ?? id
            yield { type: 'event', ...event }
          }
          if (text.id !== '') id = text.id
        }
      }
    } catch (error) {
      why = error
      failures++
    } finally {
      connection.close()
    }
    if (signal.aborted) return
    const ownMs = waitBefore({ hintMs, failures, retryMaxMs, chance: random() })
    waitMs = Math.min(WAIT_MAX_MS, Math.max(waitMs, ownMs))
    options.onCut?.(why, waitMs)
    await pause(waitMs, signal)
  }
}

/** Exponential backoff, never shorter than the service asked for with `retry:`. */
function waitBefore(given: {
  readonly hintMs: number | null
  readonly failures: number
  readonly retryMaxMs: number
  readonly chance: number
}): number {
  const { hintMs, failures, retryMaxMs, chance } = given
  // `retry: 0` allows an immediate reconnection, but not after a failure.
  const firstMs = hintMs ?? RETRY_MS
  const grown = failures === 0 ? firstMs : Math.max(firstMs, RETRY_LEAST_MS) * 2 ** Math.min(failures, 10)
  return Math.max(hintMs ?? 0, Math.min(retryMaxMs, grown) * (0.5 + chance))
}

interface Opened {
  readonly status: number
  readonly retryAfterMs: number
  problem(): Promise<unknown>
  pieces(): AsyncIterable<string>
}

/** One connection, aborted at the end of the subscription or after too much silence. */
function connect(
  options: Subscription & { readonly signal: AbortSignal },
  id: string,
): { open(): Promise<Opened>; close(): void } {
  const { url, headers, signal, silentMs = SILENT_MS, fetch = globalThis.fetch, onOpen } = options
  const cut = new AbortController()
  const stop = () => cut.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  let timer: ReturnType<typeof setTimeout> | undefined
  const watch = () => {
    clearTimeout(timer)
    timer = setTimeout(() => cut.abort(new Error('nothing was heard for too long')), silentMs)
  }
  return {
    open: async () => {
      watch()
      const response = await fetch(url, {
        headers: { ...headers, accept: 'text/event-stream', ...(id === '' ? {} : { 'last-event-id': id }) },
        signal: cut.signal,
      })
      if (response.status === 200) onOpen?.(id)
      return {
        status: response.status,
        retryAfterMs: 1_000 * (Number(response.headers.get('retry-after') ?? 0) || 0),
        problem: async () => await response.json().catch(() => null),
        pieces: async function* () {
          const decoder = new TextDecoder()
          const reader = response.body?.getReader()
          for (;;) {
            const read = await reader?.read()
            if (read === undefined || read.done) return
            watch()
            yield decoder.decode(read.value as Uint8Array, { stream: true })
          }
        },
      }
    },
    close: () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      cut.abort()
    },
  }
}

const isPassing = (status: number): boolean => status >= 500 || PASSING.has(status)

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>(resolve => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}

// `watch` over HTTP: entries, line by line. An interrupted stream is resumed behind the last complete entry, until the caller
// stops.

interface EntriesWish {
  readonly plan?: string
  readonly after: Position
  readonly signal: AbortSignal
}

const BACKOFF_MS = 100
const BACKOFF_MAX_MS = 5_000
/** Statuses for which a retry would not help. */
const FOR_GOOD = new Set([400, 401, 403, 404, 405, 421, 422])

export async function* remoteEntries(
  connection: Connection,
  { plan, after, signal }: EntriesWish,
): AsyncIterable<Entry> {
  let position = after
  for (let failures = 0; !signal.aborted; ) {
    const cut = new AbortController()
    const until = AbortSignal.any([signal, cut.signal])
    try {
      const lines = await open(connection, { plan, after: position, signal: until })
      for await (const line of linesOf(lines, { silentMs: SILENT_MS, wait: connection.wait })) {
        failures = 0
        if (line === '') continue
        const entry = JSON.parse(line) as Entry
        position = entry.position
        yield entry
        if (signal.aborted) return
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ForGood) throw error.trouble
    } finally {
      cut.abort()
    }
    await connection.wait(Math.min(BACKOFF_MS * 2 ** failures++, BACKOFF_MAX_MS), signal)
  }
}

class ForGood extends Error {
  readonly trouble: Error
  constructor(trouble: Error) {
    super(trouble.message)
    this.trouble = trouble
  }
}

async function open(connection: Connection, { plan, after, signal }: EntriesWish): Promise<ReadableStream<Uint8Array>> {
  const about = plan === undefined ? '' : `&plan=${encodeURIComponent(plan)}`
  const response = await connection.fetch(`${connection.url}/engine/entries?after=${after}${about}`, {
    headers: { accept: 'application/x-ndjson', ...headersOf(connection) },
    signal,
  })
  if (response.ok && response.body !== null) return response.body
  const problem = problemIn(response.status, await response.json().catch(() => null))
  const trouble = problem === null ? new Error(`answered ${response.status}`) : errorFrom(problem)
  throw FOR_GOOD.has(response.status) ? new ForGood(trouble) : trouble
}
