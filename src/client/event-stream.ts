// Entries and events over HTTP, line by line; a stream that breaks is taken up again where it ended.

import { createParser } from 'eventsource-parser'
import type { Entry, Position } from '../stores/store.ts'
import { type Connection, errorFrom, headersOf, linesOf, problemIn } from './transport.ts'

export interface StreamEvent {
  /** `message` when it has none. */
  readonly name: string
  /** As it was sent; the service sends JSON. */
  readonly data: string
  /** Where the stream stands behind it, to come back with; null for what is live only, and is never told again. */
  readonly id: string | null
}

/** More than any event of the service; a line without end must not fill the memory. */
const EVENT_MAX_CHARS = 16_000_000

/** The service says in a comment, too, where a stream stands: an id that comes without an event is not told by the parser. */
const AT = /^at (\S+)$/

/** Reads the text of an event stream piece by piece, wherever it is cut. */
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

  /** What to come back with; empty as long as nobody said. Half an event does not count. */
  get id(): string {
    return this.#id
  }

  /** How long to wait before coming back; null when nobody said. */
  get retryMs(): number | null {
    return this.#retryMs
  }

  /** The events that are whole now. Throws when one has no end. */
  read(text: string): readonly StreamEvent[] {
    this.#events = []
    this.#parser.feed(text)
    return this.#events
  }
}

// A subscription that survives: it reads an event stream over fetch, and whenever that is cut, by the network, by the service or by
// silence, comes back with the id of the last event, so that each is seen once and in order.

export interface Subscription {
  readonly url: string
  /** Ends it; whoever stops iterating does so as well. */
  readonly signal?: AbortSignal
  readonly headers?: { readonly [name: string]: string }
  /** Begin behind this id; without one, with what happens from now on. */
  readonly after?: string
  readonly fetch?: typeof globalThis.fetch
  /** Waits grow up to this between tries that fail, but are never shorter than the service asks for with `retry:`. */
  readonly retryMaxMs?: number
  /** Longer silence than this means that nobody is there; the service is never silent for more than 15 s. */
  readonly silentMs?: number
  /** From 0 to 1: so that not everybody comes back at the same moment. */
  readonly random?: () => number
  /** The stream stands, behind this id; called again each time it was taken up. */
  readonly onOpen?: (id: string) => void
  /** Why it was cut, and how long until it is taken up. */
  readonly onCut?: (why: unknown, retryMs: number) => void
}

/** `refused`: the service does not want to answer, and asking again would not help. It is the last that comes. */
export type Heard =
  | ({ readonly type: 'event' } & StreamEvent)
  | { readonly type: 'refused'; readonly status: number; readonly problem: unknown }

const RETRY_MS = 1_000
const RETRY_MAX_MS = 30_000
const RETRY_LEAST_MS = 1
/** Whatever it is told: a timer cannot wait much longer than three weeks, and would fire at once. */
const WAIT_MAX_MS = 24 * 60 * 60_000
const SILENT_MS = 45_000
/** Worth another try, though the service answered. */
const PASSING = new Set([408, 425, 429])

/** Goes on until `signal` fires or it is refused. Whoever stops iterating ends it. */
export async function* subscribe(options: Subscription): AsyncGenerator<Heard, void, undefined> {
  const { signal = new AbortController().signal, random = () => 0.5, retryMaxMs = RETRY_MAX_MS } = options
  let id = options.after ?? ''
  /** What the service said last. */
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
            // Before it is handed over: whoever stops here has seen it.
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

/** Never sooner than the service said in `retry:`, however short the waits of this side are to be; longer with every failure. */
function waitBefore(given: {
  readonly hintMs: number | null
  readonly failures: number
  readonly retryMaxMs: number
  readonly chance: number
}): number {
  const { hintMs, failures, retryMaxMs, chance } = given
  // One that says 0 may be asked again at once, but not when it does not answer.
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

/** One connection, cut when the subscription ends or nothing comes for too long. */
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

// `watch` over a wire: entries as the service sends them, line by line. A line that is cut is taken up again behind the last whole
// entry, as often as it takes, until the caller has had enough.

interface EntriesWish {
  readonly plan?: string
  readonly after: Position
  readonly signal: AbortSignal
}

const BACKOFF_MS = 100
const BACKOFF_MAX_MS = 5_000
/** These will not go away by asking again. */
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
