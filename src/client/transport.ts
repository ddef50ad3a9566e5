// Requests to the service with retries, refusals and errors, and byte streams as lines.

import type { Refusal, RefusalCode } from '../domain/refusal.ts'
import type { ProblemFault } from '../format/wire/answers/problem.ts'
import { BadCursor, CommitUnknown, StoreBusy, StoreDamaged, StoreFull, StoreGone } from '../stores/store.ts'

// Refusals arrive as problem documents and are converted back.

/** A refusal with all errors in the input; `message` describes the first. */
export interface RemoteRefusal extends Refusal {
  readonly hint?: string
  readonly faults?: readonly ProblemFault[]
}

/** Null for problems that are not refusals. */
export function refusalIn({ code, detail, hint, allowed, faults }: RemoteProblem): RemoteRefusal | null {
  const known = ALSO[code] ?? code
  if (!isCode(known)) return null
  return {
    code: known,
    message: detail,
    hint,
    allowed,
    faults,
  }
}

/** The service uses its own codes for errors in documents. */
const ALSO: { readonly [code: string]: RefusalCode } = { 'invalid-plan': 'invalid', sketch: 'invalid' }

const CODES: { readonly [code in RefusalCode]: true } = {
  'not-found': true,
  exists: true,
  conflict: true,
  'illegal-transition': true,
  invalid: true,
  cycle: true,
  'unknown-reference': true,
  duplicate: true,
  limit: true,
  'not-supported': true,
  'not-allowed': true,
  'not-ready': true,
}
const isCode = (code: string): code is RefusalCode => Object.hasOwn(CODES, code)

// Errors between client and service, each ending with what to do. Errors of the store are rethrown as the store's own types, so
// callers need not know whether it is remote.

export type TroubleKind =
  /** No response, or an incomplete one, even after retries. */
  | 'unreachable'
  /** The token is missing or unknown. */
  | 'not-signed-in'
  /** The token lacks the right. */
  | 'not-allowed'
  /** The server at this address is not Planfold. */
  | 'not-planfold'
  /** The service rejected a valid request; client and service may be of different releases. */
  | 'refused'

export class RemoteTrouble extends Error {
  override readonly name = 'RemoteTrouble'
  readonly kind: TroubleKind
  readonly hint: string
  /** HTTP status; null if there was no response. */
  readonly status: number | null
  /** All errors in the input, with their places. */
  readonly faults: readonly ProblemFault[]

  constructor(
    kind: TroubleKind,
    message: string,
    hint: string,
    status: number | null = null,
    { cause, faults = [] }: { readonly cause?: unknown; readonly faults?: readonly ProblemFault[] | undefined } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.kind = kind
    this.hint = hint
    this.status = status
    this.faults = faults
  }
}

interface RemoteProblem {
  readonly code: string
  readonly status: number
  readonly detail: string
  readonly hint?: string
  readonly allowed?: readonly string[]
  readonly faults?: readonly ProblemFault[]
}

const PREFIX = 'urn:planfold:problem:'

/** Null if the body is not a problem document of Planfold. */
export function problemIn(status: number, body: unknown): RemoteProblem | null {
  if (typeof body !== 'object' || body === null) return null
  const { type, detail, hint, allowed, faults } = body as { readonly [key: string]: unknown }
  if (typeof type !== 'string' || !type.startsWith(PREFIX)) return null
  return {
    code: type.slice(PREFIX.length),
    status,
    detail: typeof detail === 'string' ? detail : 'it said no',
    ...(typeof hint === 'string' ? { hint } : {}),
    ...(Array.isArray(allowed) ? { allowed: allowed.map(String) } : {}),
    ...(Array.isArray(faults) && faults.length > 0 ? { faults: faults.map(faultIn) } : {}),
  }
}

function faultIn(fault: unknown): ProblemFault {
  const { path, message, hint } = (fault ?? {}) as { readonly [key: string]: unknown }
  const text = (value: unknown): string => (typeof value === 'string' ? value : '')
  return { path: text(path), message: text(message), ...(typeof hint === 'string' ? { hint } : {}) }
}

export function errorFrom({ code, status, detail, hint, faults }: RemoteProblem): Error {
  switch (code) {
    case 'bad-cursor':
      return new BadCursor(detail)
    case 'busy':
      return new StoreBusy(detail)
    case 'full':
      return new StoreFull(detail)
    case 'commit-unknown':
      return new CommitUnknown(detail)
    case 'gone':
      return new StoreGone(detail)
    case 'damaged':
      return new StoreDamaged(detail)
    default: {
      const kind = status === 401 ? 'not-signed-in' : status === 403 ? 'not-allowed' : 'refused'
      return new RemoteTrouble(kind, detail, hint ?? HINTS[kind], status, { faults })
    }
  }
}

const HINTS = {
  'not-signed-in': 'hand `connect` the token of the service',
  'not-allowed': 'use a token of another role',
  refused: 'is the service of the same release as this client?',
} as const

// One request to the service, retried if there is no response. Reads are safe to repeat; writes carry an idempotency key that the
// service recognises.

export interface Connection {
  /** Without a trailing slash. */
  readonly url: string
  readonly token: string | null
  readonly fetch: typeof fetch
  /** Generates a unique idempotency key. */
  readonly newKey: () => string
  /** Settles after `ms`, or when the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>
  /** Timeout of one attempt. */
  readonly timeoutMs: number
  readonly triesMax: number
}

export type Reply =
  | { readonly ok: true; readonly body: unknown }
  | { readonly ok: false; readonly problem: RemoteProblem }

export interface Request {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: string
  /** Media type of the body; JSON by default. */
  readonly type?: string
  /** Sent as Idempotency-Key. */
  readonly key?: string
  /** Aborts when the caller cancels. */
  readonly signal: AbortSignal
}

const BACKOFF_MS = 100
const BACKOFF_MAX_MS = 5_000
/** A proxy could not reach the service, or the service is overloaded. */
const PASSING = new Set([429, 502, 503, 504])

export async function send(connection: Connection, request: Request): Promise<Reply> {
  for (let tries = 1; ; tries++) {
    const isLast = tries >= connection.triesMax
    const tried = await attempt(connection, request)
    if (tried.again === null || isLast) return settle(tried, connection.url)
    const backoff = Math.min(BACKOFF_MS * 2 ** (tries - 1), BACKOFF_MAX_MS)
    await connection.wait(Math.max(backoff, Math.min(tried.again, BACKOFF_MAX_MS)), request.signal)
    if (request.signal.aborted) throw closed()
  }
}

export const headersOf = ({ token }: Connection): { readonly [name: string]: string } =>
  token === null ? {} : { authorization: `Bearer ${token}` }

const closed = (): RemoteTrouble => new RemoteTrouble('unreachable', 'this client was closed', 'connect again')

/** `again`: may be retried after at least this many milliseconds; null if there is a final answer. */
type Tried =
  | { readonly status: number; readonly body: unknown; readonly again: number | null }
  | { readonly status: null; readonly cause: unknown; readonly again: number }

async function attempt(connection: Connection, { method, path, body, type, key, signal }: Request): Promise<Tried> {
  // Keeps a reference: a timeout signal used only in `AbortSignal.any` would be garbage-collected and never fire.
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(new DOMException('it took too long', 'TimeoutError')), connection.timeoutMs)
  try {
    const response = await connection.fetch(connection.url + path, {
      method,
      headers: {
        accept: 'application/json',
        ...headersOf(connection),
        ...(body === undefined ? {} : { 'content-type': type ?? 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      body,
      signal: AbortSignal.any([signal, over.signal]),
    })
    const { status } = response
    const text = await response.text()
    const after = Number(response.headers.get('retry-after') ?? 0) * 1_000
    const again = PASSING.has(status) ? (Number.isFinite(after) ? after : 0) : null
    return { status, body: status === 204 ? null : parsed(text), again }
  } catch (cause) {
    if (signal.aborted) throw closed()
    return { status: null, cause, again: 0 }
  } finally {
    clearTimeout(timer)
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function settle(tried: Tried, url: string): Reply {
  if (tried.status === null)
    throw new RemoteTrouble('unreachable', `${url} does not answer`, 'is a Planfold service running there?', null, {
      cause: tried.cause,
    })
  const { status, body } = tried
  const problem = status >= 400 ? problemIn(status, body) : null
  if (problem !== null) return { ok: false, problem }
  if (status >= 300 || body === undefined)
    throw new RemoteTrouble(
      'not-planfold',
      `${url} answered ${status}, and not in our words`,
      'check the address; it is that of a Planfold service',
      status,
    )
  return { ok: true, body }
}

// Splits a byte stream into lines. A last line without a line break is incomplete and dropped.

interface LinesOptions {
  /** Treats the connection as dead after this time without data. */
  readonly silentMs: number
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>
}

export async function* linesOf(
  stream: ReadableStream<Uint8Array>,
  { silentMs, wait }: LinesOptions,
): AsyncIterable<string> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  const parts: string[] = []
  try {
    for (;;) {
      const received = new AbortController()
      const read = reader.read().finally(() => received.abort())
      const silence = wait(silentMs, received.signal).then(() => null)
      const got = (await Promise.race([read, silence])) ?? (received.signal.aborted ? await read : null)
      if (got === null || got.done) return
      const pieces = decoder.decode(got.value, { stream: true }).split('\n')
      // Only the first piece continues the buffered text.
      for (const piece of pieces.slice(0, -1)) {
        yield parts.join('') + piece
        parts.length = 0
      }
      parts.push(pieces.at(-1)!)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
