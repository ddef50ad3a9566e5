// Writes answers to the socket: JSON, bytes, problems, streams. Every answer says that nothing may be kept, framed or guessed at.

import { hash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Outlet } from './live/sse.ts'
import type { Problem } from './problem.ts'
import type { Reply } from './route.ts'
import { JSON_TYPE } from './wire-names.ts'

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
} as const
/** What is not a page can load nothing and be framed by nobody. */
const NO_CONTENT_POLICY = "default-src 'none'; frame-ancestors 'none'"

export function send(request: IncomingMessage, response: ServerResponse, reply: Reply): number {
  const { status, body, location, headers, raw } = reply
  const whole = raw?.data ?? (body === undefined ? undefined : JSON.stringify(body))
  const tag = tagOf(request, reply, whole)
  const isKnown = tag !== undefined && isShown(request, reply) && isAmong(tag, request.headers['if-none-match'])
  const data = isKnown ? undefined : whole
  write(response, isKnown ? 304 : status, data, {
    ...(data === undefined ? {} : { 'content-type': raw?.type ?? JSON_TYPE }),
    ...(tag === undefined ? {} : { etag: tag }),
    ...(location === undefined ? {} : { location }),
    ...headers,
  })
  return isKnown ? 304 : status
}

/**
 * The version, by which `If-Match` knows what was seen; and of what is shown to somebody who may ask again, also what is in it: a
 * body may tell of more than the version counts, for instance of the plans of a goal.
 */
function tagOf(request: IncomingMessage, reply: Reply, data: Uint8Array | string | undefined): string | undefined {
  const { version, isVersioned = false } = reply
  if (version === undefined) return undefined
  if (!isShown(request, reply) || isVersioned || data === undefined) return `"${version}"`
  return `"${version}-${hash('sha256', data, 'base64url').slice(0, 16)}"`
}

/** Only what is shown can be known already: whoever changed something is told how it is now. */
const isShown = ({ method }: IncomingMessage, { status }: Reply): boolean =>
  status === 200 && (method === 'GET' || method === 'HEAD')

/** `*`, or a list of tags; whether they are weak makes no difference here (RFC 9110, 13.1.2). */
function isAmong(tag: string, header: string | undefined): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  const tags: readonly string[] = header.match(/"[^"]*"/g) ?? []
  return tags.includes(tag)
}

export function sendProblem(
  request: IncomingMessage,
  response: ServerResponse,
  { problem, headers }: Problem,
  id: string,
): number {
  // What was not read of the body would be taken for the next request.
  const unread: Record<string, string> = request.complete || !hasBody(request) ? {} : { connection: 'close' }
  const text = JSON.stringify({ ...problem, instance: `urn:planfold:request:${id}` })
  write(response, problem.status, text, { 'content-type': 'application/problem+json', ...unread, ...headers })
  return problem.status
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

function write(
  response: ServerResponse,
  status: number,
  data: Uint8Array | string | undefined,
  headers: { readonly [name: string]: string },
): void {
  if (response.headersSent || response.destroyed) return
  const length = data === undefined ? {} : { 'content-length': Buffer.byteLength(data) }
  response.writeHead(status, { ...HEADERS, 'content-security-policy': NO_CONTENT_POLICY, ...length, ...headers })
  response.end(response.req.method === 'HEAD' ? undefined : data)
}

export function streamTo(response: ServerResponse, gone: AbortSignal): Outlet {
  return {
    begin: (status, headers) => {
      response.writeHead(status, { ...HEADERS, ...headers })
      response.flushHeaders()
    },
    write: text => response.write(text),
    drained: async () => {
      if (response.writableNeedDrain && !gone.aborted) await once(response, 'drain', { signal: gone }).catch(() => {})
    },
    buffered: () => response.writableLength,
    gone,
    end: () => response.end(),
    destroy: () => response.destroy(),
  }
}
