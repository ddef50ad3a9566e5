// The body of a response: decoded, and bounded, so that a small file cannot decode to a huge one.

import type { IncomingMessage } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Json, JsonObject } from '../../domain/json.ts'
import { type Answer, failure } from '../../safety/safety-refusal.ts'
import { REDACTED, type Redact, redactJson } from '../../safety/secrets/redaction.ts'
import { connectionFailure, IdleTimeout } from './http-exchange.ts'

/** The bytes received, and why no more: too large, or aborted. */
export async function readBody(
  response: IncomingMessage,
  host: string,
  { bytesMax, idleMs }: { readonly bytesMax: number; readonly idleMs: number },
): Promise<Answer<Buffer>> {
  const decoded = decoding(response)
  if (decoded === null) {
    response.destroy()
    const encoding = String(response.headers['content-encoding']).slice(0, 60)
    return { ok: false, failure: failure('logic', `${host} sent the body as '${encoding}', which nobody asked for`) }
  }
  response.setTimeout(idleMs, () => response.destroy(new IdleTimeout()))
  const parts: Buffer[] = []
  let bytes = 0
  try {
    for await (const part of decoded) {
      bytes += (part as Buffer).length
      if (bytes > bytesMax) {
        response.destroy()
        const hint = 'let it go into a file (`outputs: { body: { file: … } }`), or ask for less'
        return { ok: false, failure: failure('logic', `the answer of ${host} is larger than ${bytesMax} bytes`, hint) }
      }
      parts.push(part as Buffer)
    }
  } catch (error) {
    return { ok: false, failure: connectionFailure(error, host, true) }
  }
  if (!response.complete) return { ok: false, failure: connectionFailure(new Error('it ended early'), host, true) }
  return { ok: true, value: Buffer.concat(parts) }
}

/** We do not request an encoding; some servers use one anyway. */
function decoding(response: IncomingMessage): Readable | null {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  // Errors appear on the last stream, which is read.
  const through = (decoder: NodeJS.ReadWriteStream & Readable): Readable =>
    pipeline(response, decoder, () => {}) as Readable
  switch (encoding) {
    case '':
    case 'identity':
      return response
    case 'gzip':
    case 'x-gzip':
      return through(createGunzip())
    case 'deflate':
      return through(createInflate())
    case 'br':
      return through(createBrotliDecompress())
    default:
      return null
  }
}

const HEADERS_MAX = 100
const HEADER_MAX = 4_000
/** Their values grant access to this client. */
const CONFIDENTIAL: ReadonlySet<string> = new Set([
  'set-cookie',
  'set-cookie2',
  'authentication-info',
  'www-authenticate',
])

/** For the journal: without cookies and the like, and without the task's own secrets. */
export function headerOutputs(response: IncomingMessage, redact: Redact): JsonObject {
  const entries = Object.entries(response.headers).slice(0, HEADERS_MAX)
  return Object.fromEntries(
    entries.map(([name, value]) => {
      const text = Array.isArray(value) ? value.join(', ') : String(value)
      return [redact(name), CONFIDENTIAL.has(name) ? REDACTED : redact(text.slice(0, HEADER_MAX))]
    }),
  )
}

/** `json` if the server declares valid JSON; else `text`. */
export function bodyOutputs(body: Buffer, response: IncomingMessage, redact: Redact): JsonObject {
  if (body.length === 0) return {}
  const text = body.toString('utf8')
  if (/[/+]json\b/i.test(response.headers['content-type'] ?? '')) {
    const json = parseJson(text)
    if (json !== undefined) return { json: redactJson(json, redact) }
  }
  return { text: redact(text) }
}

const DEPTH_MAX = 64

/** Plain data of limited depth. */
function parseJson(text: string): Json | undefined {
  try {
    const value = JSON.parse(text, (key, item) => {
      if (key === '__proto__') throw new SyntaxError('__proto__')
      return item
    }) as Json
    return depthOf(value, 0) > DEPTH_MAX ? undefined : value
  } catch {
    return undefined
  }
}

function depthOf(value: Json, depth: number): number {
  if (depth > DEPTH_MAX || typeof value !== 'object' || value === null) return depth
  let deepest = depth
  for (const item of Object.values(value)) deepest = Math.max(deepest, depthOf(item as Json, depth + 1))
  return deepest
}
