// Turns a reply into a response: JSON, bytes, problem or stream, always with headers against caching, framing and content
// sniffing.

import { hash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { compress } from './compression.ts'
import type { Outlet } from './live/sse.ts'
import { isProblem, type Problem } from './problem.ts'
import type { Raw, Reply } from './route.ts'
import { JSON_TYPE } from './wire-names.ts'

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  /** A response that is not a page may load nothing and may not be framed. */
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const

export interface ReplyOptions {
  readonly id: () => string
  readonly mayCompress: boolean
}

/** A raw route keeps its own headers; ours fill the gaps. */
export async function responseTo(
  request: IncomingMessage,
  answer: Reply | Problem | Raw,
  { id, mayCompress }: ReplyOptions,
): Promise<Response> {
  if ('response' in answer) {
    const { body, status } = answer.response
    const headers = new Headers(answer.response.headers)
    for (const [name, value] of Object.entries(HEADERS)) if (!headers.has(name)) headers.set(name, value)
    return new Response(body, { status, headers })
  }
  if (isProblem(answer)) return problemResponse(answer, `urn:planfold:request:${id()}`)
  const { status, body, location, headers, raw } = answer
  const whole = raw?.data ?? (body === undefined ? undefined : JSON.stringify(body))
  const tag = tagOf(request, answer, whole)
  const isKnown = tag !== undefined && isShown(request, answer) && isAmong(tag, request.headers['if-none-match'])
  const data = isKnown ? undefined : whole
  const more = {
    ...(data === undefined ? {} : { 'content-type': raw?.type ?? JSON_TYPE }),
    ...(tag === undefined ? {} : { etag: tag }),
    ...(location === undefined ? {} : { location: location.replaceAll(NOT_IN_A_HEADER, encodeURIComponent) }),
    ...headers,
  }
  if (data === undefined || !mayCompress) return made(isKnown ? 304 : status, data, more)
  const coded = await compress(request.headers['accept-encoding'], data, more)
  return made(status, coded.data, coded.headers)
}

/** Names may be in any script; a header takes printable ASCII only. What is escaped already stays. */
const NOT_IN_A_HEADER = /[^\x21-\x7e]+/g

export function problemResponse({ problem, headers }: Problem, instance?: string): Response {
  const text = JSON.stringify({ ...problem, instance })
  return made(problem.status, text, { 'content-type': 'application/problem+json', ...headers })
}

function made(status: number, data: Uint8Array | string | undefined, more: Record<string, string>): Response {
  const headers: Record<string, string> = { ...HEADERS, ...more }
  // Set here because Hono removes the body of a HEAD.
  if (data !== undefined) headers['content-length'] = String(Buffer.byteLength(data))
  return new Response(data ?? null, { status, headers })
}

/** The version, for `If-Match`; for reads also a hash of the body, which may change without the version. */
function tagOf(request: IncomingMessage, reply: Reply, data: Uint8Array | string | undefined): string | undefined {
  const { version, isVersioned = false } = reply
  if (version === undefined) return undefined
  if (!isShown(request, reply) || isVersioned || data === undefined) return `"${version}"`
  return `"${version}-${hash('sha256', data, 'base64url').slice(0, 16)}"`
}

/** Only reads can be answered with 304. */
const isShown = ({ method }: IncomingMessage, { status }: Reply): boolean =>
  status === 200 && (method === 'GET' || method === 'HEAD')

/** `*` or a list of tags; weak and strong compare equal here (RFC 9110, 13.1.2). */
function isAmong(tag: string, header: string | undefined): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  const tags: readonly string[] = header.match(/"[^"]*"/g) ?? []
  return tags.includes(tag)
}

export function streamTo(response: ServerResponse, disconnected: AbortSignal): Outlet {
  return {
    begin: (status, headers) => {
      response.writeHead(status, { ...HEADERS, ...headers })
      response.flushHeaders()
    },
    write: text => response.write(text),
    drained: async () => {
      if (response.writableNeedDrain && !disconnected.aborted)
        await once(response, 'drain', { signal: disconnected }).catch(() => {})
    },
    buffered: () => response.writableLength,
    disconnected,
    end: () => response.end(),
    destroy: () => response.destroy(),
  }
}
