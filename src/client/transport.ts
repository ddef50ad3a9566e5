// One request to the service, asked again when nobody answered. What may be asked twice without harm is: reads by their nature,
// writes by the key they carry, which the service knows again.

import { problemIn, type RemoteProblem, RemoteTrouble } from './trouble.ts'

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

export const closed = (): RemoteTrouble => new RemoteTrouble('unreachable', 'this client was closed', 'connect again')

/** `again`: it may be tried again, after so many milliseconds at least; null when it has been answered. */
type Tried =
  | { readonly status: number; readonly body: unknown; readonly again: number | null }
  | { readonly status: null; readonly cause: unknown; readonly again: number }

async function attempt(connection: Connection, { method, path, body, type, key, signal }: Request): Promise<Tried> {
  try {
    const response = await connection.fetch(connection.url + path, {
      method,
      headers: {
        accept: 'application/json',
        ...headersOf(connection),
        ...(body === undefined ? {} : { 'content-type': type ?? 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(connection.timeoutMs)]),
    })
    const { status } = response
    const text = await response.text()
    const after = Number(response.headers.get('retry-after') ?? 0) * 1_000
    const again = PASSING.has(status) ? (Number.isFinite(after) ? after : 0) : null
    return { status, body: status === 204 ? null : parsed(text), again }
  } catch (cause) {
    if (signal.aborted) throw closed()
    return { status: null, cause, again: 0 }
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
    throw new RemoteTrouble('unreachable', `${url} does not answer`, 'is `planfold serve` running there?', null, {
      cause: tried.cause,
    })
  const { status, body } = tried
  const problem = status >= 400 ? problemIn(status, body) : null
  if (problem !== null) return { ok: false, problem }
  if (status >= 300 || body === undefined)
    throw new RemoteTrouble(
      'not-planfold',
      `${url} answered ${status}, and not in our words`,
      'check the address; it is that of `planfold serve`',
      status,
    )
  return { ok: true, body }
}
