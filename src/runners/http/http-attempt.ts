// Sends a request as one attempt. Every hop is judged (`http-exchange.ts`); secrets are inserted last, and removed from everything that
// comes back; the response becomes the outputs, or the file that the task declares.

import {
  downloadFile,
  type HttpRequest,
  headerFault,
  httpRequest,
  isSafeMethod,
  requestLines,
  type SecretText,
} from '../../domain/actions/http-action.ts'
import { advise, quoted } from '../../domain/hint.ts'
import { classOfHttp, readRetryAfter } from '../../domain/recovery/classify-failure.ts'
import type { Failure } from '../../domain/result.ts'
import { type Answer, failure } from '../../safety/safety-refusal.ts'
import { type Redact, redactor } from '../../safety/secrets/redaction.ts'
import type { Attempt, Outcome, RunnerTools, Stop } from '../runner.ts'
import { bodyOutputs, headerOutputs, readBody } from './http-body.ts'
import { Download } from './http-download.ts'
import { exchange, HTTP_LIMITS, type HttpLimits, type Received, SENT, type Sending } from './http-exchange.ts'

export interface HttpRunnerOptions {
  readonly limits?: Partial<HttpLimits>
  /** Additional trusted certificates. */
  readonly ca?: string
}

const TIMER_MAX_MS = 2 ** 31 - 1

export async function sendRequest(
  options: HttpRunnerOptions,
  attempt: Attempt,
  tools: RunnerTools,
  stop: Stop,
): Promise<Outcome> {
  if (stop.aborted) return { type: 'interrupted' }
  const request = httpRequest(attempt.action)
  if (request === null) return failed(failure('logic', 'there is no request that could be sent'))
  if (tools.reach === undefined) return failed(failure('policy', 'nothing can be reached from here'))
  const sending = filledIn(request, attempt, tools)
  if (!sending.ok) return { ...failed(sending.failure), begun: false }
  const reach = await tools.reach()
  if (!reach.ok) return { ...failed(reach.failure), begun: false }
  const timeout = AbortSignal.timeout(Math.min(attempt.timeoutMs, TIMER_MAX_MS))
  const signal = AbortSignal.any([stop.signal, timeout])
  const redact = redactor(Object.values(tools.secrets ?? {}), { parts: true })
  tools.log('engine', Buffer.from(`${redact(requestLines(request)[0] ?? '')}  (${tools.about})\n`))
  // Releases a request that waits for a person's answer.
  const hangUp = (): void => void reach.value.close()
  signal.addEventListener('abort', hangUp, { once: true })
  try {
    const outcome = await answerTo(request, sending.value, {
      options,
      attempt,
      tools,
      signal,
      redact,
      reach: reach.value,
    })
    if (stop.aborted) return { type: 'interrupted' }
    if (outcome.type !== 'failed') return outcome
    const failure = timeout.aborted ? timedOut(attempt) : outcome.failure
    const isSent = outcome.failure.code === SENT
    return failed(withRepetition(request, attempt, { ...failure, message: redact(failure.message) }, { isSent }))
  } finally {
    signal.removeEventListener('abort', hangUp)
    await reach.value.close()
  }
}

const failed = (failure: Failure) => ({ type: 'failed' as const, failure: failure })

const timedOut = ({ timeoutMs }: Attempt): Failure => ({
  ...failure('transient', `no whole answer within ${timeoutMs / 1000} s`, 'raise `timeout`, or ask for less'),
  code: 'timeout',
})

/** A request that may have been executed, and must not be repeated, is not retried. */
function withRepetition(
  request: HttpRequest,
  { definition }: Attempt,
  failure: Failure,
  { isSent }: { readonly isSent: boolean },
): Failure {
  if (!isSent) return failure
  const isRepeatable =
    isSafeMethod(request.method) || request.key !== null || (definition.effect ?? 'unsafe') !== 'unsafe'
  if (isRepeatable) return { ...failure, code: failure.code === SENT ? 'connection' : failure.code }
  return {
    class: 'unknown',
    code: SENT,
    message: `${failure.message}; whether the server carried it out is not known`,
    hint: advise`look there, then ${quoted('retry')} or skip it; with \`key: auto\` it could be sent again`,
    retryable: false,
  }
}

interface Exchanging {
  readonly options: HttpRunnerOptions
  readonly attempt: Attempt
  readonly tools: RunnerTools
  readonly signal: AbortSignal
  readonly redact: Redact
  readonly reach: Parameters<typeof exchange>[1]['reach']
}

async function answerTo(request: HttpRequest, sending: Sending, with_: Exchanging): Promise<Outcome> {
  const { options, attempt, tools, signal, redact, reach } = with_
  const limits = { ...HTTP_LIMITS, ...options.limits }
  const path = downloadFile(attempt.definition)
  const download = path === null || request.method !== 'GET' ? null : new Download(attempt, request.url, tools)
  const resumption = (await download?.resume()) ?? { headers: {}, offset: 0 }
  const ca = options.ca === undefined ? {} : { ca: options.ca }
  const asked = { ...sending, headers: { ...sending.headers, ...resumption.headers } }
  const received = await exchange(asked, { reach, limits, signal, redact, ...ca })
  if (!received.ok) return failed(received.failure)
  const { response, url } = received.value
  const status = response.statusCode ?? 0
  const say = (text: string): void => tools.log('engine', Buffer.from(`${redact(text)}\n`))
  say(
    `${url.host} answers ${status} ${response.statusMessage ?? ''}${resumption.offset > 0 && status === 206 ? `, from byte ${resumption.offset}` : ''}`,
  )
  const outputs = { status: status === 206 ? 200 : status, headers: headerOutputs(response, redact) }
  if (download !== null && path !== null && (status === 200 || status === 206)) {
    const taken = await download.take(response, resumption, url.host, limits)
    if (!taken.ok) return failed(taken.failure)
    const placed = await download.place(path, tools, limits)
    if (!placed.ok) return failed(placed.failure)
    say(`${taken.value} bytes are in ${path}`)
    return { type: 'done', outputs }
  }
  // The rest has changed: the next attempt starts again.
  if (status === 416) await download?.forget()
  const body = await readBody(response, url.host, { bytesMax: limits.bodyBytes, idleMs: limits.idleMs })
  if (!body.ok) return failed(body.failure)
  const text = redact(body.value.toString('utf8'))
  if (text !== '') tools.log('stdout', Buffer.from(text.endsWith('\n') ? text : `${text}\n`))
  const isFine = attempt.definition.expect !== undefined ? download === null : status >= 200 && status < 300
  if (!isFine) return failed(statusFailure(received.value, text, request, attempt))
  return { type: 'done', outputs: { ...outputs, ...bodyOutputs(body.value, response, redact) } }
}

function statusFailure(
  { response, url }: Received,
  body: string,
  request: HttpRequest,
  { definition }: Attempt,
): Failure {
  const status = response.statusCode ?? 0
  const text = body
    .split('\n')
    .find(line => line.trim() !== '')
    ?.trim()
    .slice(0, 200)
  const kind = status === 416 ? 'transient' : (classOfHttp(status) ?? 'logic')
  const isOnce = !isSafeMethod(request.method) && request.key === null && (definition.effect ?? 'unsafe') === 'unsafe'
  const patience = retryAfter(response)
  return {
    class: kind,
    code: `http:${status}`,
    message: `${url.host} answered ${status} ${response.statusMessage ?? ''}${text === undefined ? '' : `: ${text}`}`,
    hint: advise`see ${quoted('log', { output: true })}; another answer is accepted with \`expect: status == ${String(status)}\``,
    // After a server error it is unknown what the server did before.
    retryable: (kind === 'transient' || kind === 'resource') && (!isOnce || status === 429 || status === 503),
    ...(patience === null ? {} : { retryAfterMs: patience }),
  }
}

/** Seconds, or a date, compared with the server's own clock. */
function retryAfter({ headers }: Received['response']): number | null {
  const header = headers['retry-after']
  const ms = header === undefined ? null : readRetryAfter(header, Date.parse(headers.date ?? ''))
  return Number.isNaN(ms) || ms === 0 ? null : ms
}

/** With the values of secrets: must not be stored, shown or hashed. */
function filledIn(request: HttpRequest, attempt: Attempt, { secrets = {} }: RunnerTools): Answer<Sending> {
  const headers: { [name: string]: string } = { 'user-agent': 'planfold', accept: '*/*', 'accept-encoding': 'identity' }
  const confidential = new Set<string>()
  for (const [name, text] of Object.entries(request.headers)) {
    const filled = fill(text, secrets)
    const fault = filled.ok ? headerFault(name, filled.value) : null
    if (!filled.ok) return filled
    if (fault !== null)
      return {
        ok: false,
        failure: failure('policy', `the header '${name.slice(0, 60)}' ${fault}`, 'correct the value'),
      }
    headers[name.toLowerCase()] = filled.value
    if (typeof text !== 'string') confidential.add(name.toLowerCase())
  }
  if (request.key !== null) {
    const key = request.key === 'auto' ? attempt.key : request.key
    const fault = headerFault('key', key)
    if (fault !== null) return { ok: false, failure: failure('policy', `the key ${fault}`, 'correct it') }
    headers['idempotency-key'] = key
  }
  const { body } = request
  if (body === null)
    return {
      ok: true,
      value: { method: request.method, url: request.url, headers, confidential, body: null, isBodyConfidential: false },
    }
  const filled =
    body.type === 'json' ? ({ ok: true, value: JSON.stringify(body.value) } as const) : fill(body.text, secrets)
  if (!filled.ok) return filled
  headers['content-type'] ??= body.type === 'json' ? 'application/json' : 'text/plain; charset=utf-8'
  return {
    ok: true,
    value: {
      method: request.method,
      url: request.url,
      headers,
      confidential,
      body: Buffer.from(filled.value),
      isBodyConfidential: body.type === 'text' && typeof body.text !== 'string',
    },
  }
}

function fill(text: SecretText, secrets: { readonly [name: string]: string }): Answer<string> {
  if (typeof text === 'string') return { ok: true, value: text }
  let filled = ''
  for (const part of text) {
    const value =
      typeof part === 'string' ? part : Object.hasOwn(secrets, part.secret) ? secrets[part.secret] : undefined
    if (value === undefined) {
      const name = typeof part === 'string' ? '' : part.secret
      return {
        ok: false,
        failure: failure('policy', `the task does not name the secret '${name}'`, `add it to \`secrets\``),
      }
    }
    filled += value
  }
  return { ok: true, value: filled }
}
