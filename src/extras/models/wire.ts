// What goes over the wire: the `fetch` that the library is given. It replaces secrets in both directions, keeps every request with its
// response, and in a replay answers from what was kept without sending anything.

import type { Json, JsonObject } from '../../domain/json.ts'
import { stableText } from '../../domain/json.ts'
import { printDuration } from '../../format/text/units.ts'
import type { ModelExchange, ModelRecording } from '../../runners/models.ts'
import { redactor, streamRedactor } from '../../safety/secrets/redaction.ts'
import { ModelError, modelFailure } from './model-failure.ts'
import type { RateClock } from './rate-limit.ts'

export interface Wire {
  readonly fetch: typeof globalThis.fetch
  exchanges(): readonly ModelExchange[]
  note(call: string, read: Pick<ModelExchange, 'wireUsage' | 'providerMetadata'>): void
  /** What was asked and answered in a call; null when nothing was sent, or the answer is not whole. */
  of(call: string): ModelExchange | null
  /** Told before a call is sent; one that is answered from what was kept is not. */
  onSend(call: string, tell: () => void): void
  /** Keeps nothing of a call: a secret came in pieces, where it cannot be replaced. */
  drop(call: string): void
  readonly secrets: readonly string[]
}

/** Says which call a request belongs to. Taken out before anything is sent. */
export const CALL_HEADER = 'x-planfold-call'

export const KEPT_HEADERS = ['content-type', 'retry-after', 'retry-after-ms', 'request-id', 'x-request-id']
const RESPONSE_MAX_BYTES = 32 * 1024 * 1024

type Slot = { -readonly [K in keyof ModelExchange]: ModelExchange[K] } & { readonly call: string; whole: boolean }

export interface TimeLimit {
  readonly ms: number
  readonly clock: Pick<RateClock, 'after'>
}

/** Sends and records. `earlier`: answers that were paid for, each used once. `limit`: time until an answer is whole. */
export function recordingWire(
  secrets: readonly string[],
  earlier: readonly ModelExchange[] = [],
  limit?: TimeLimit,
): Wire {
  const redact = redactor(secrets)
  const slots: Slot[] = []
  const left = earlier.filter(({ response }) => response.status < 400)
  const sending = new Map<string, () => void>()
  const send: typeof globalThis.fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : String(input))
    const sent = redact(String(init?.body ?? ''))
    const [call, sentHeaders] = withoutCall(init?.headers)
    const slot: Slot = {
      call,
      request: { path: pathOf(url), body: jsonOf(sent) },
      response: { status: 0, headers: {}, body: '' },
      whole: false,
    }
    slots.push(slot)
    const tell = sending.get(call)
    sending.delete(call)
    const known = takeFrom(left, slot.request)
    if (known !== undefined) {
      Object.assign(slot, known, { whole: true })
      const { status, headers, body } = known.response
      return new Response(body, { status, headers: { ...headers } })
    }
    tell?.()
    // A provider has no reason to lead elsewhere, and the key would go along.
    const { signal, stopped, over } = endingOf(init?.signal ?? null, limit)
    const answer = fetch(url, { ...init, headers: sentHeaders, body: sent, redirect: 'error', signal })
    const response = await Promise.race([answer, stopped]).catch(error => {
      over()
      throw error
    })
    const headers = Object.fromEntries(
      KEPT_HEADERS.flatMap(name => {
        const value = response.headers.get(name)
        return value === null ? [] : [[name, redact(value)]]
      }),
    )
    const { readable, writable } = cleaner(secrets, text => {
      slot.response = { status: response.status, headers, body: text }
      slot.whole = true
    })
    if (response.body === null) over()
    response.body
      ?.pipeTo(writable, { signal })
      .catch(() => {})
      .finally(over)
    return new Response(response.body === null ? null : readable, {
      status: response.status,
      statusText: response.statusText,
      headers,
    })
  }
  return {
    fetch: send,
    exchanges: () => slots.filter(({ whole }) => whole).map(({ whole: _, call: __, ...exchange }) => exchange),
    note: (call, read) => {
      const slot = slots.findLast(one => one.call === call)
      if (slot !== undefined) Object.assign(slot, read)
    },
    of: call => slots.findLast(one => one.call === call && one.whole) ?? null,
    onSend: (call, tell) => void sending.set(call, tell),
    drop: call => {
      for (const slot of slots) if (slot.call === call) slot.whole = false
    },
    secrets,
  }
}

/** Ends a request by signal or time. Node's `fetch` with `redirect: 'error'` may lose its signal to the collector. */
function endingOf(asked: AbortSignal | null, limit: TimeLimit | undefined) {
  const ending = new AbortController()
  const { signal } = ending
  const stop = () => ending.abort(asked?.reason)
  asked?.addEventListener('abort', stop)
  if (asked?.aborted === true) stop()
  const message = `the model did not send its whole answer within ${printDuration(limit?.ms ?? 0)}`
  const hint = 'raise `timeout` of the model in your settings, or use a faster one'
  const cancel = limit?.clock.after(limit.ms, () =>
    ending.abort(new ModelError(modelFailure('model:unreachable', message, hint))),
  )
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  stopped.catch(() => {})
  const over = () => {
    cancel?.()
    asked?.removeEventListener('abort', stop)
  }
  return { signal, stopped, over }
}

/** Answers what was asked before as it was answered before. Each exchange serves once. */
export function replayWire(recording: ModelRecording): Wire {
  const left = [...recording.exchanges]
  const used: ModelExchange[] = []
  const byCall = new Map<string, ModelExchange>()
  return {
    fetch: async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : String(input))
      const found = takeFrom(left, { path: pathOf(url), body: jsonOf(String(init?.body ?? '')) })
      if (found === undefined)
        throw new ModelError(
          modelFailure(
            'model:not-recorded',
            `the recording of ${recording.model} does not contain this request (it has ${recording.exchanges.length}, ${used.length} were used)`,
            'ask the same as when it was recorded, or call the model',
          ),
        )
      used.push(found)
      byCall.set(withoutCall(init?.headers)[0], found)
      const { status, headers, body } = found.response
      return new Response(body, { status, headers: { ...headers } })
    },
    exchanges: () => used,
    note: () => {},
    of: call => byCall.get(call) ?? null,
    onSend: () => {},
    drop: () => {},
    secrets: [],
  }
}

function takeFrom(left: ModelExchange[], request: ModelExchange['request']): ModelExchange | undefined {
  if (left.length === 0) return undefined
  const asked = exchangeKey(request)
  const at = left.findIndex(one => exchangeKey(one.request) === asked)
  return at < 0 ? undefined : left.splice(at, 1)[0]
}

function withoutCall(given: RequestInit['headers']): [call: string, headers: Headers] {
  const headers = new Headers(given)
  const call = headers.get(CALL_HEADER) ?? ''
  headers.delete(CALL_HEADER)
  return [call, headers]
}

/** The address without what may identify or authorise somebody. */
const pathOf = (url: URL): string => {
  const search = new URLSearchParams([...url.searchParams].filter(([name]) => name !== 'key'))
  return `${url.pathname}${search.size === 0 ? '' : `?${search}`}`
}

function jsonOf(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** Which request is it? The length of the answer is no part of it: caps may have left more or less when it was recorded. */
export function exchangeKey({ path, body }: ModelExchange['request']): string {
  const { max_tokens, max_output_tokens, max_completion_tokens, ...rest } = (
    typeof body === 'object' && body !== null && !Array.isArray(body) ? body : { body }
  ) as JsonObject
  const { maxOutputTokens, ...config } = (rest.generationConfig ?? {}) as JsonObject
  // The same below another address is the same: only the last part of the path says what is asked.
  const name = path.slice(path.lastIndexOf('/'))
  return `${name} ${stableText({ ...rest, generationConfig: config })}`
}

/** Passes a response on with its secrets replaced, tells all of it at the end, and breaks off one that does not end. */
function cleaner(secrets: readonly string[], whole: (text: string) => void): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  const clean = streamRedactor(secrets)
  const parts: string[] = []
  let bytes = 0
  const pass = (part: string, to: TransformStreamDefaultController<Uint8Array>) => {
    if (part === '') return
    parts.push(part)
    to.enqueue(encoder.encode(part))
  }
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength
      if (bytes > RESPONSE_MAX_BYTES)
        return controller.error(
          new ModelError(
            modelFailure('model:malformed', `the answer is larger than ${RESPONSE_MAX_BYTES / 1024 / 1024} MB`),
          ),
        )
      pass(clean.next(decoder.decode(chunk, { stream: true })), controller)
    },
    flush(controller) {
      pass(clean.next(decoder.decode()), controller)
      pass(clean.end(), controller)
      whole(parts.join(''))
    },
  })
}
