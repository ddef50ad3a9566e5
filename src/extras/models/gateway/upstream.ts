// Where a request goes: to the provider, over HTTP, with the real key; or to what was recorded, where nothing is sent.

import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { Readable } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'
import type { Json } from '../../../domain/json.ts'
import type { ModelExchange, ModelRecording, ProviderType } from '../../../runners/models.ts'
import { exchangeKey } from '../wire.ts'

export interface UpstreamRequest {
  /** The provider's own, without version: `/messages`, with the query. */
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string
  readonly signal: AbortSignal
}

export interface UpstreamResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Not compressed. Ends with an error when the connection breaks off. */
  readonly body: Readable
}

export interface ProviderPlace {
  readonly type: ProviderType
  readonly url: string
  readonly key: string | null
}

export class UpstreamSilent extends Error {
  override readonly name = 'UpstreamSilent'
}

export async function sendToProvider(
  place: ProviderPlace,
  { path, headers, body, signal }: UpstreamRequest,
  idleMs: number,
): Promise<UpstreamResponse> {
  const url = new URL(`${place.url}${path}`)
  const send = url.protocol === 'https:' ? requestHttps : requestHttp
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = send(url, {
      method: 'POST',
      // A reused connection may be closed by the time of the request; then it is unknown whether it arrived.
      agent: false,
      signal,
      headers: {
        ...headers,
        ...keyHeaders(place),
        // What is compressed cannot be metered while it passes.
        'accept-encoding': 'identity',
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
      },
    })
    outgoing.setTimeout(idleMs, () => outgoing.destroy(new UpstreamSilent('the provider does not answer')))
    outgoing.once('error', reject)
    outgoing.once('response', response => {
      // Whatever comes after this belongs to the response, which breaks off with it.
      outgoing.on('error', () => {})
      resolve(response)
    })
    outgoing.end(body)
  })
  return { status: incoming.statusCode ?? 502, headers: incoming.headers, body: plain(incoming) }
}

function keyHeaders({ type, key }: ProviderPlace): { readonly [name: string]: string } {
  if (key === null) return {}
  if (type === 'anthropic') return { 'x-api-key': key }
  return type === 'google' ? { 'x-goog-api-key': key } : { authorization: `Bearer ${key}` }
}

/** For a server that compresses though it was asked not to. */
function plain(incoming: IncomingMessage): Readable {
  const encoding = (incoming.headers['content-encoding'] ?? 'identity').toLowerCase()
  if (encoding === 'identity') return incoming
  const unpacked = encoding === 'br' ? createBrotliDecompress() : createUnzip()
  incoming.once('error', error => unpacked.destroy(error))
  return incoming.pipe(unpacked)
}

export interface RecordedAnswer {
  readonly recording: ModelRecording
  readonly exchange: ModelExchange
  readonly response: UpstreamResponse
}

/** Answers what was asked before as it was answered before, each answer once. */
export class RecordedAnswers {
  readonly #left: { readonly recording: ModelRecording; readonly exchange: ModelExchange; readonly key: string }[]

  constructor(recordings: readonly ModelRecording[]) {
    this.#left = recordings.flatMap(recording =>
      recording.exchanges.map(exchange => ({ recording, exchange, key: exchangeKey(exchange.request) })),
    )
  }

  take(request: { readonly path: string; readonly body: Json }): RecordedAnswer | null {
    const key = exchangeKey(request)
    const at = this.#left.findIndex(one => one.key === key)
    const [found] = at < 0 ? [] : this.#left.splice(at, 1)
    if (found === undefined) return null
    const { recording, exchange } = found
    const { status, headers, body } = exchange.response
    return { recording, exchange, response: { status, headers, body: Readable.from([Buffer.from(body)]) } }
  }
}

const REQUEST_HEADERS =
  /^(accept|user-agent|anthropic-(version|beta)|openai-beta|originator|(session|conversation|thread)[_-]id|x-(app|stainless-.+|goog-api-client|client-request-id|grok-.+))$/

/** What the agent says about itself and the version it speaks goes on; nothing that identifies, authorises or describes a connection. */
export function passedRequestHeaders(headers: IncomingHttpHeaders): { readonly [name: string]: string } {
  return passed(headers, REQUEST_HEADERS)
}

const RESPONSE_HEADERS =
  /^(content-type|cache-control|retry-after|retry-after-ms|request-id|x-request-id|x-should-retry|anthropic-ratelimit-.+|x-ratelimit-.+)$/

export function passedResponseHeaders(headers: IncomingHttpHeaders): { readonly [name: string]: string } {
  return passed(headers, RESPONSE_HEADERS)
}

function passed(headers: IncomingHttpHeaders, allowed: RegExp): { readonly [name: string]: string } {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value !== undefined && allowed.test(name) ? [[name, Array.isArray(value) ? value.join(', ') : value]] : [],
    ),
  )
}
