// Sends spans to an OpenTelemetry collector: OTLP over HTTP as JSON, in batches. There only when the usual OTEL_ variables name
// an endpoint. A collector that is away costs a bounded queue and nothing else.

import { type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Span } from '../../domain/views/trace.ts'
import type { Publishers, Tracer } from '../../engine/notifications/publisher.ts'

export interface OtlpSettings {
  readonly endpoint: URL
  readonly headers: { readonly [name: string]: string }
  readonly service: string
  readonly version: string
}

type Environment = { readonly [name: string]: string | undefined }

const QUEUE_MAX = 4_096
const BATCH_MAX = 512
const DELAY_MS = 1_000
const TIMEOUT_MS = 5_000
const TRIES_MAX = 3
const TEXT_MAX = 1_000
const KIND_INTERNAL = 1
const STATUS_OK = 1
const STATUS_ERROR = 2

export const openTracer: Publishers['openTracer'] = (environment, version) => {
  const settings = otlpSettings(environment, version)
  return settings === null ? { fault: otlpFault(environment) } : { tracer: new OtlpTracer(settings) }
}

export function otlpSettings(environment: Environment, version: string): OtlpSettings | null {
  if (environment.OTEL_SDK_DISABLED === 'true' || environment.OTEL_TRACES_EXPORTER === 'none') return null
  const endpoint = endpointOf(named(environment))
  if (endpoint === null) return null
  const headers = environment.OTEL_EXPORTER_OTLP_TRACES_HEADERS ?? environment.OTEL_EXPORTER_OTLP_HEADERS ?? ''
  return { endpoint, headers: headersIn(headers), service: environment.OTEL_SERVICE_NAME || 'planfold', version }
}

/** Where traces are sent, and which variable says so; null when they are not. */
export function tracesAddress(
  environment: Environment,
): { readonly endpoint: string; readonly variable: string } | null {
  const settings = otlpSettings(environment, '')
  return settings === null ? null : { endpoint: settings.endpoint.href, variable: named(environment)?.by ?? '' }
}

/** Why configured traces are not sent; null when all is well. Never the address: it may hold a secret. */
export function otlpFault(environment: Environment): string | null {
  if (environment.OTEL_SDK_DISABLED === 'true' || environment.OTEL_TRACES_EXPORTER === 'none') return null
  const found = named(environment)
  if (found === null || endpointOf(found) !== null) return null
  return `${found.by} is not an http address, so no traces are sent; write it like http://127.0.0.1:4318`
}

interface Named {
  readonly by: string
  readonly address: string
  readonly path: string
}

function named(environment: Environment): Named | null {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own = '', OTEL_EXPORTER_OTLP_ENDPOINT: base = '' } = environment
  if (own !== '') return { by: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', address: own, path: '' }
  return base === '' ? null : { by: 'OTEL_EXPORTER_OTLP_ENDPOINT', address: base, path: '/v1/traces' }
}

function endpointOf(named: Named | null): URL | null {
  if (named === null || !URL.canParse(named.address)) return null
  const endpoint = new URL(named.path === '' ? named.address : `${named.address.replace(/\/$/, '')}${named.path}`)
  return /^https?:$/.test(endpoint.protocol) ? endpoint : null
}

export class OtlpTracer implements Tracer {
  readonly #settings: OtlpSettings
  #queue: Span[] = []
  #timer: NodeJS.Timeout | null = null
  #sending: Promise<void> | null = null
  /** Not delivered: the queue was full, or no collector took it. */
  dropped = 0

  constructor(settings: OtlpSettings) {
    this.#settings = settings
  }

  export(spans: readonly Span[]): void {
    for (const span of spans) {
      if (this.#queue.length < QUEUE_MAX) this.#queue.push(span)
      else this.dropped++
    }
    // A trace keeps no process alive.
    this.#timer ??= setTimeout(() => void this.flush(), DELAY_MS).unref()
  }

  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null
    })
    await this.#sending
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, BATCH_MAX)
      const body = JSON.stringify(otlpOf(batch, this.#settings))
      let taken: 'yes' | 'no' | 'later' = 'later'
      for (let tries = 0; tries < TRIES_MAX && taken === 'later'; tries++) taken = await post(this.#settings, body)
      if (taken !== 'yes') {
        // No collector answers: waiting for the rest would be in vain too.
        this.dropped += batch.length + (taken === 'later' ? this.#queue.splice(0).length : 0)
      }
    }
  }
}

function post({ endpoint, headers }: OtlpSettings, body: string): Promise<'yes' | 'no' | 'later'> {
  const options: RequestOptions = {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers },
    agent: false,
    timeout: TIMEOUT_MS,
  }
  return new Promise(resolve => {
    const send = endpoint.protocol === 'https:' ? requestHttps : requestHttp
    const asked = send(endpoint, options, answer => {
      const status = answer.statusCode ?? 0
      answer.resume()
      answer.once('close', () => resolve(status < 300 ? 'yes' : status === 429 || status >= 500 ? 'later' : 'no'))
    })
    asked.once('timeout', () => asked.destroy())
    asked.once('error', () => resolve('later'))
    asked.end(body)
  })
}

/** As the protocol writes it: times are nanoseconds in text, values carry their type. */
export function otlpOf(
  spans: readonly Span[],
  { service, version }: Pick<OtlpSettings, 'service' | 'version'>,
): object {
  const resource = { attributes: attributesOf({ 'service.name': service, 'service.version': version }) }
  return {
    resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'planfold', version }, spans: spans.map(spanOf) }] }],
  }
}

function spanOf({ trace, id, parent, name, startedAt, endedAt, failed, attributes }: Span): object {
  return {
    traceId: trace,
    spanId: id,
    ...(parent === null ? {} : { parentSpanId: parent }),
    name: name.slice(0, TEXT_MAX),
    kind: KIND_INTERNAL,
    startTimeUnixNano: `${startedAt}000000`,
    endTimeUnixNano: `${Math.max(startedAt, endedAt)}000000`,
    status: failed === null ? { code: STATUS_OK } : { code: STATUS_ERROR, message: failed.slice(0, TEXT_MAX) },
    attributes: attributesOf(attributes),
  }
}

function attributesOf(attributes: Span['attributes']): readonly object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: typed(value) }))
}

function typed(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: value.slice(0, TEXT_MAX) }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

/** `key=value,key=value`, percent-encoded. What cannot be a header is left out. */
function headersIn(text: string): { readonly [name: string]: string } {
  const headers: Record<string, string> = {}
  for (const pair of text.split(',')) {
    const at = pair.indexOf('=')
    const name = pair.slice(0, at).trim().toLowerCase()
    if (at === -1 || !/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) continue
    try {
      const value = decodeURIComponent(pair.slice(at + 1).trim())
      if (/^[\x20-\x7e]*$/.test(value)) headers[name] = value
    } catch {
      // Not percent-encoding: no header.
    }
  }
  return headers
}
