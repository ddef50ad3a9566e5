// One request to the service: sent, answered, refused or failed; and a stream of bytes as lines.

import type { Refusal, RefusalCode } from '../domain/refusal.ts'
import type { ProblemFault } from '../format/wire/answers/problem.ts'
import { BadCursor, CommitUnknown, StoreBusy, StoreDamaged, StoreFull, StoreGone } from '../stores/store.ts'

// Refusals travel as problem documents and are refusals again here.

/** A refusal, and everything that was wrong with what was sent: the message tells of the first. */
export interface RemoteRefusal extends Refusal {
  /** In the words of the service. */
  readonly hint?: string
  readonly faults?: readonly ProblemFault[]
}

/** Null for a problem that is none of the domain's. */
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

/** What is wrong with a document has names of its own over there. */
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

// What goes wrong between here and the service, as typed errors that end with what to do. What the store says no to comes back as
// the same errors the store itself throws, so that a caller need not know how far away it is.

export type TroubleKind =
  /** Nobody answered, or the answer was cut off, also when asked again. */
  | 'unreachable'
  /** The token is unknown, or there is none. */
  | 'not-signed-in'
  /** The token does not reach so far. */
  | 'not-allowed'
  /** Whoever answers there is no Planfold. */
  | 'not-planfold'
  /** It said no to something it should have taken; are both sides of one release? */
  | 'refused'

export class RemoteTrouble extends Error {
  override readonly name = 'RemoteTrouble'
  readonly kind: TroubleKind
  readonly hint: string
  /** Of the answer; null when there was none. */
  readonly status: number | null
  /** Everything that is wrong with what was sent, place by place. */
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

/** A problem document, as far as it matters here. */
interface RemoteProblem {
  readonly code: string
  readonly status: number
  readonly detail: string
  readonly hint?: string
  readonly allowed?: readonly string[]
  /** Everything that is wrong with what was sent, place by place. */
  readonly faults?: readonly ProblemFault[]
}

const PREFIX = 'urn:planfold:problem:'

/** Null for what is no problem document of ours. */
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

// One request to the service, asked again when nobody answered. What may be asked twice without harm is: reads by their nature,
// writes by the key they carry, which the service knows again.

export interface Connection {
  /** Without a slash at the end. */
  readonly url: string
  readonly token: string | null
  readonly fetch: typeof fetch
  /** A key nobody else makes. */
  readonly newKey: () => string
  /** Settles after so long, or when the signal fires. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>
  /** How long one try may take. */
  readonly timeoutMs: number
  /** How often it is tried in all. */
  readonly triesMax: number
}

export type Reply =
  | { readonly ok: true; readonly body: unknown }
  | { readonly ok: false; readonly problem: RemoteProblem }

export interface Request {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: string
  /** The media type of the body; JSON when not said. */
  readonly type?: string
  /** The Idempotency-Key of a write. */
  readonly key?: string
  /** Fires when the caller has gone. */
  readonly signal: AbortSignal
}

const BACKOFF_MS = 100
const BACKOFF_MAX_MS = 5_000
/** Whoever stands between says that it could not reach the service, or the service says: not now. */
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

/** `again`: it may be tried again, after so many milliseconds at least; null when it has been answered. */
type Tried =
  | { readonly status: number; readonly body: unknown; readonly again: number | null }
  | { readonly status: null; readonly cause: unknown; readonly again: number }

async function attempt(connection: Connection, { method, path, body, type, key, signal }: Request): Promise<Tried> {
  // Held here: a timeout that only `AbortSignal.any` knows would be collected as garbage, and never fire.
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

// A stream of bytes as lines. What stands behind the last line break is no line: it was cut off.

interface LinesOptions {
  /** Without a byte for so long, the line is taken for dead. */
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
      const heard = new AbortController()
      const read = reader.read().finally(() => heard.abort())
      const silence = wait(silentMs, heard.signal).then(() => null)
      const got = (await Promise.race([read, silence])) ?? (heard.signal.aborted ? await read : null)
      if (got === null || got.done) return
      const pieces = decoder.decode(got.value, { stream: true }).split('\n')
      // Only the first piece goes on with what came before.
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
