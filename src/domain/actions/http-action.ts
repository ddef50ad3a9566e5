// The request of an `http` task: method, address, headers and body. The plan stores it as it was written (`spec`); plans of earlier
// releases may hold anything there. Secrets appear by name only; their values are inserted when the request is sent.

import { isMap, type Json } from '../json.ts'
import { type ActionFacts, type AnyAction, PLAIN_OUTCOMES, type SpecAction, type TaskWith } from './action-facts.ts'

export interface HttpRequest {
  readonly method: HttpMethod
  readonly url: string
  readonly headers: { readonly [name: string]: SecretText }
  readonly body: HttpBody | null
  /** The idempotency key. `auto`: one key per visit, the same for all its attempts; else the plan's own text. Null: none is sent. */
  readonly key: string | null
}

export type HttpBody =
  | { readonly type: 'json'; readonly value: Json }
  | { readonly type: 'text'; readonly text: SecretText }

export type SecretText = string | readonly (string | { readonly secret: string })[]

export const HTTP_METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type HttpMethod = (typeof HTTP_METHODS)[number]

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
export const isSafeMethod = (method: string): boolean => SAFE.has(method)

/** Null when this release does not understand the request. */
export function httpRequest(action: AnyAction): HttpRequest | null {
  if (action.type !== 'http') return null
  const { spec } = action as SpecAction<'http'>
  if (typeof spec === 'string') return { method: 'GET', url: spec, headers: {}, body: null, key: null }
  if (!isMap(spec) || Object.keys(spec).some(key => !KEYS.has(key))) return null
  const { method = 'GET', url, headers = {}, json, body, key = null } = spec
  if (!isMethod(method) || typeof url !== 'string' || !isMap(headers) || !(key === null || typeof key === 'string'))
    return null
  if (!Object.values(headers).every(isSecretText) || !(body === undefined || isSecretText(body))) return null
  if (json !== undefined && body !== undefined) return null
  return {
    method,
    url,
    headers: headers as HttpRequest['headers'],
    body: json !== undefined ? { type: 'json', value: json } : body !== undefined ? { type: 'text', text: body } : null,
    key,
  }
}

const KEYS: ReadonlySet<string> = new Set(['method', 'url', 'headers', 'json', 'body', 'key'])
const isMethod = (method: Json): method is HttpMethod => (HTTP_METHODS as readonly Json[]).includes(method)

function isSecretText(value: Json | undefined): value is Json & SecretText {
  if (typeof value === 'string') return true
  return (
    Array.isArray(value) &&
    value.every(part => typeof part === 'string' || (isMap(part as Json) && typeof part.secret === 'string'))
  )
}

export function downloadFile({ action, outputs = {} }: Pick<TaskWith<AnyAction>, 'action' | 'outputs'>): string | null {
  if (action.type !== 'http') return null
  const files = Object.values(outputs).flatMap(source => (source.from === 'file' ? [source.file] : []))
  return files[0] ?? null
}

export function requestLines(request: HttpRequest): readonly string[] {
  const { method, url, headers, body, key } = request
  return [
    `${method} ${url}`,
    ...Object.entries(headers).map(([name, value]) => `${name.toLowerCase()}: ${textWithNames(value)}`),
    ...(key === null ? [] : [`idempotency-key: ${key === 'auto' ? 'one for all attempts' : key}`]),
    ...(body === null ? [] : ['', ...bodyText(body).split('\n')]),
  ]
}

const bodyText = (body: HttpBody): string =>
  body.type === 'json' ? JSON.stringify(body.value, null, 2) : textWithNames(body.text)

export const textWithNames = (text: SecretText): string =>
  typeof text === 'string'
    ? text
    : text.map(part => (typeof part === 'string' ? part : `\${{ secrets.${part.secret} }}`)).join('')

/** The fault of a header, as the end of a sentence; null when it is valid. */
export function headerFault(name: string, value: SecretText): string | null {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/.test(name)) return 'has a name that is not a valid header name'
  if (RESERVED.has(name.toLowerCase()) || /^(proxy|sec)-/i.test(name)) return 'is set by Planfold itself'
  const texts = typeof value === 'string' ? [value] : value.filter(part => typeof part === 'string')
  // A control character could end this header and inject another.
  if (texts.some(text => /[^\t\x20-\x7e\x80-\xff]/.test(text)))
    return 'contains a character that is not allowed in a header'
  return null
}

const RESERVED: ReadonlySet<string> = new Set([
  ...['host', 'connection', 'content-length', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect', 'keep-alive'],
  ...['range', 'if-range', 'accept-encoding', 'http2-settings'],
])

export const HTTP: ActionFacts<SpecAction<'http'>> = {
  effect: task => {
    const request = httpRequest(task.action)
    // A download writes its file; a retry reverts the file and fetches again.
    if (request !== null && isSafeMethod(request.method)) return downloadFile(task) === null ? 'pure' : 'workspace'
    return request !== null && request.key !== null ? 'idempotent' : 'unsafe'
  },
  acts: true,
  writes: true,
  keepsToScope: true,
  files: task => {
    const file = downloadFile(task)
    return file === null ? null : [file]
  },
  fileWords: { does: 'downloads into', key: 'outputs' },
  network: 'open',
  address: ({ spec }) => {
    const url = isMap(spec) ? spec.url : spec
    return typeof url === 'string' ? url : 'an address'
  },
  takesSecrets: true,
  // Requests that only read or carry a key are safe to repeat; others declare it with `effect`.
  dangers: ({ action, effect = 'unsafe' }) => {
    const request = httpRequest(action)
    if (request === null || isSafeMethod(request.method)) return []
    if (request.method === 'DELETE') return ['delete']
    return request.key === null && effect === 'unsafe' ? ['send'] : []
  },
  isSupported: action => httpRequest(action) !== null,
  fields: { spec: 'request' },
  outputs: () => ['status', 'headers', 'json', 'text'],
  answers: ['status'],
  outcomes: () => PLAIN_OUTCOMES,
  agreed: ({ action }) => ({ type: 'request', to: 'http', lines: linesOf(action) }),
  asks: 'sends this request',
  line: ({ action }) => `http: ${JSON.stringify(action.spec)}`,
  shown: action => (httpRequest(action) === null ? null : { head: 'Sends', lines: linesOf(action) }),
}

function linesOf(action: AnyAction): readonly string[] {
  const request = httpRequest(action)
  return request === null ? [] : requestLines(request)
}
