// One request and its response, with redirects. Every hop is judged before connecting, by the same judge as the proxy of commands, and the
// connection uses a judged address: later answers of a name server change nothing.

import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { isIP } from 'node:net'
import { isSafeMethod } from '../../domain/actions/http-action.ts'
import { orElse } from '../../domain/json.ts'
import { type NetworkTarget, plainHost } from '../../domain/plan-rules/network-rule.ts'
import type { Failure } from '../../domain/result.ts'
import { type Answer, codeOf, failure } from '../../safety/safety-refusal.ts'
import type { Reach } from '../runner.ts'

export interface HttpLimits {
  readonly headerBytes: number
  /** Of a body in memory, after decoding. */
  readonly bodyBytes: number
  /** Of a body that is written to a file. */
  readonly fileBytes: number
  readonly idleMs: number
}

export const HTTP_LIMITS: HttpLimits = {
  headerBytes: 64 * 1024,
  bodyBytes: 1024 * 1024,
  // Larger files are not accepted as outputs.
  fileBytes: 64 * 1024 * 1024,
  idleMs: 60_000,
}

export interface Sending {
  readonly method: string
  readonly url: string
  /** Names in lower case. */
  readonly headers: { readonly [name: string]: string }
  /** Headers that contain a secret, which only the first server gets. */
  readonly confidential: ReadonlySet<string>
  readonly body: Buffer | null
  readonly isBodyConfidential: boolean
}

export interface ExchangeOptions {
  readonly reach: Reach
  readonly limits: HttpLimits
  readonly signal: AbortSignal
  /** Redacts secrets: addresses are journaled, so none may contain one. */
  readonly redact: (text: string) => string
  /** Additional trusted certificates. */
  readonly ca?: string
}

export interface Received {
  readonly url: URL
  readonly response: IncomingMessage
}

const HOPS_MAX = 5
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const CREDENTIALS: readonly string[] = ['authorization', 'cookie', 'proxy-authorization']

export async function exchange(sending: Sending, options: ExchangeOptions): Promise<Answer<Received>> {
  let { method, body } = sending
  let headers: { readonly [name: string]: string } = sending.headers
  let address = sending.url
  let base: URL | null = null
  for (let hop = 0; ; hop++) {
    const url = urlOf(address, base)
    const redacted = options.redact(address)
    const isLeaking = typeof url !== 'string' && (redacted !== address || options.redact(url.href) !== url.href)
    if (isLeaking) {
      options.reach.refuse(method, redacted, 'the address contains a secret of the task')
      return no(
        'policy',
        `${from(base)}an address that contains a secret of the task`,
        'look at what the server answers',
      )
    }
    const target = typeof url === 'string' ? null : targetOf(url, method)
    if (typeof url === 'string' || target === null) {
      const why = typeof url === 'string' ? url : 'the address names no host'
      options.reach.refuse(method, redacted, why)
      return no('policy', `${from(base)}${shown(redacted)} is not asked: ${why}`, 'use an https:// or http:// address')
    }
    const verdict = await options.reach.judge(target, { method, path: url.pathname })
    const where = `${target.host}:${target.port}`
    if (verdict.is === 'unknown-name')
      return { ok: false, failure: { ...failure('transient', `there is no host ${target.host}`), code: 'dns' } }
    if (verdict.is === 'refused') {
      const isAsked = verdict.asked === true
      const hint = isAsked ? 'it waits in the inbox; answer it there' : `allow it with a rule for ${verdict.allowWith}`
      const refused = failure('policy', `${from(base)}${where} is not allowed: ${verdict.why}`, hint)
      return { ok: false, failure: { ...refused, retryable: isAsked } }
    }
    const sent = await send({ method, url, headers, body, addresses: verdict.addresses }, options)
    if (!sent.ok) return sent
    const { response } = sent.value
    const location = response.headers.location
    const status = response.statusCode ?? 0
    if (!REDIRECTS.has(status) || location === undefined) return { ok: true, value: { url, response } }
    response.destroy()
    if (hop >= HOPS_MAX) return no('logic', `more than ${HOPS_MAX} redirects`, 'ask for the last address yourself')
    const next = urlOf(location, url)
    const isElsewhere = typeof next === 'string' || next.origin !== url.origin
    // As browsers do: only 307 and 308 repeat the same request.
    if (status === 303 || ((status === 301 || status === 302) && !isSafeMethod(method))) {
      method = method === 'HEAD' ? 'HEAD' : 'GET'
      body = null
      headers = without(headers, name => name.startsWith('content-') || name === 'idempotency-key')
    }
    if (isElsewhere) {
      if (body !== null && sending.isBodyConfidential)
        return no(
          'policy',
          `${where} leads to ${shown(location)}, and the body contains a secret`,
          'send it there yourself, if that is right',
        )
      headers = without(headers, name => CREDENTIALS.includes(name) || sending.confidential.has(name))
    }
    base = url
    address = location
  }
}

const no = (kind: Failure['class'], message: string, hint: string): Answer<never> => ({
  ok: false,
  failure: { ...failure(kind, message, hint), retryable: false },
})

const from = (base: URL | null): string => (base === null ? '' : `${base.host} leads to `)
const shown = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text)

const without = (
  headers: { readonly [name: string]: string },
  isGone: (name: string) => boolean,
): { readonly [name: string]: string } => Object.fromEntries(Object.entries(headers).filter(([name]) => !isGone(name)))

/** The normalised address, or what is wrong with it. */
function urlOf(text: string, base: URL | null): URL | string {
  const url = orElse(() => (base === null ? new URL(text) : new URL(text, base)), null)
  if (url === null) return 'the address cannot be read'
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return `the scheme ${url.protocol} is not known here`
  if (url.username !== '' || url.password !== '') return 'an address with a user in it is refused'
  return url
}

/** The target for rules: for TLS only host and port. */
function targetOf(url: URL, method: string): NetworkTarget | null {
  const host = plainHost(url.hostname)
  if (host === null) return null
  const isPlain = url.protocol === 'http:'
  const port = url.port === '' ? (isPlain ? 80 : 443) : Number(url.port)
  return { host, port, request: isPlain ? { method, path: url.pathname } : null }
}

interface Hop {
  readonly method: string
  readonly url: URL
  readonly headers: { readonly [name: string]: string }
  readonly body: Buffer | null
  readonly addresses: readonly string[]
}

async function send(
  { method, url, headers, body, addresses }: Hop,
  { limits, signal, ca }: ExchangeOptions,
): Promise<Answer<{ readonly response: IncomingMessage }>> {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const isTls = url.protocol === 'https:'
  let isConnected = false
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const request: ClientRequest = (isTls ? tlsRequest : plainRequest)({
        host,
        port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
        path: `${url.pathname}${url.search}`,
        method,
        headers: { ...headers, ...(body === null ? {} : { 'content-length': String(body.length) }) },
        lookup: pinned(addresses),
        agent: false,
        maxHeaderSize: limits.headerBytes,
        signal,
        ...(isTls && isIP(host) === 0 ? { servername: host } : {}),
        ca,
      })
      request.once('socket', socket => {
        socket.once(isTls ? 'secureConnect' : 'connect', () => {
          isConnected = true
        })
      })
      request.setTimeout(limits.idleMs, () => request.destroy(new IdleTimeout()))
      request.once('error', reject)
      request.once('response', response => {
        // Node accepts a body without a length as complete when its connection ends, even by a timeout or a reset.
        request.once('error', error => void (response.complete || response.destroy(error)))
        resolve(response)
      })
      request.once('upgrade', () => reject(new Error('the server wants to speak another protocol')))
      request.end(body ?? undefined)
    })
    return { ok: true, value: { response } }
  } catch (error) {
    return { ok: false, failure: connectionFailure(error, url.host, isConnected) }
  }
}

export class IdleTimeout extends Error {
  override readonly name = 'IdleTimeout'
}

/** Connects only to these addresses, without another lookup. Node makes none when the host is an address itself. */
function pinned(addresses: readonly string[]): LookupFunction {
  const all = addresses.map(address => ({ address, family: isIP(address) }))
  return (_host, options, callback) => {
    if (options.all === true) callback(null, all)
    else callback(null, all[0]!.address, all[0]!.family)
  }
}

/** Why there was no complete response. `sent`: the server may have executed the request. */
export function connectionFailure(error: unknown, host: string, sent: boolean): Failure {
  const code = codeOf(error)
  const marked = sent ? { code: SENT } : code === null ? {} : { code: `errno:${code}` }
  if (error instanceof IdleTimeout) return { ...failure('transient', `${host} went silent`), ...marked }
  if (code === 'HPE_HEADER_OVERFLOW')
    return { ...failure('logic', `${host} sent more headers than are taken`), ...marked }
  if (code?.startsWith('HPE_') === true || code?.startsWith('Z_') === true)
    return { ...failure('logic', `the answer of ${host} cannot be understood (${code})`), ...marked }
  if (code !== null && (/^(CERT|ERR_TLS|UNABLE|DEPTH|SELF_SIGNED|ERR_SSL)/.test(code) || code === 'EPROTO'))
    return { ...failure('policy', `${host} could not prove who it is (${code})`), code: `tls:${code}` }
  const how = code === null ? (error instanceof Error ? error.message : String(error)) : code
  return { ...failure('transient', `the connection to ${host} ${sent ? 'broke' : 'failed'} (${how})`), ...marked }
}

/** The code of a failure after which it is unknown whether the server acted. */
export const SENT = 'sent'
