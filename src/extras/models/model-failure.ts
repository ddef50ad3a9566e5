// Why a call failed, told from what the provider answered or the network said: here, once, for every provider.

import type { Hint } from '../../domain/hint.ts'
import { RETRY_AFTER_MAX_MS } from '../../domain/limits.ts'
import { readRetryAfter } from '../../domain/recovery/classify-failure.ts'
import type { Failure, FailureClass } from '../../domain/result.ts'

const KINDS = {
  'model:rate-limit': ['transient', true],
  'model:overloaded': ['transient', true],
  'model:unreachable': ['transient', true],
  'model:auth': ['policy', false],
  'model:bad-request': ['logic', false],
  'model:refused': ['policy', false],
  'model:truncated': ['logic', false],
  'model:malformed': ['logic', true],
  'model:cap': ['policy', false],
  'model:settings': ['logic', false],
  'model:not-recorded': ['logic', false],
  'model:cancelled': ['cancelled', false],
} as const satisfies { readonly [code: string]: readonly [FailureClass, retryable: boolean] }

type ModelFailureCode = keyof typeof KINDS

export function modelFailure(code: ModelFailureCode, message: string, hint?: Hint): Failure {
  const [kind, retryable] = KINDS[code]
  return { class: kind, code, message, retryable, ...(hint === undefined ? {} : { hint }) }
}

/** Thrown inside a call, where a library stands in between; turned into its failure at the door. */
export class ModelError extends Error {
  override readonly name = 'ModelError'
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

/** What the library throws when a provider said no. Looked at by shape, because it is loaded late. */
interface ApiError {
  readonly statusCode?: number
  readonly responseHeaders?: { readonly [name: string]: string }
  readonly responseBody?: string
}

export function failureOfCall(error: unknown, model: string, now: number): Failure {
  const chain = causesOf(error)
  const own = chain.find(one => one instanceof ModelError)
  if (own !== undefined) return own.failure
  const found = chain.find(one => (one as ApiError).statusCode !== undefined) ?? chain.at(-1)
  if (nameOf(found) === 'AbortError' || nameOf(found) === 'TimeoutError')
    return modelFailure('model:cancelled', `the call of ${model} was stopped`)
  const { statusCode, responseHeaders = {}, responseBody = '' } = found as ApiError
  const said = clip(sentenceIn(responseBody) ?? messageOf(found))
  if (statusCode !== undefined && statusCode >= 400)
    return withPatience(ofStatus(statusCode, said, model), responseHeaders, now)
  if (
    chain.some(one => CUT.test(`${(one as { readonly code?: unknown })?.code} ${messageOf(one)}`)) &&
    !isUnsent(error)
  )
    return modelFailure(
      'model:unreachable',
      `the answer of ${model} was cut off: the connection ended in the middle`,
      'try again; if it happens each time, look at the server or the proxy between',
    )
  if (/overloaded/i.test(said)) return modelFailure('model:overloaded', `${model} is overloaded: ${said}`)
  if (/rate.?limit/i.test(said)) return modelFailure('model:rate-limit', `${model} has too many requests: ${said}`)
  if (statusCode !== undefined || /JSON|Validation|InvalidResponse|NoContent|NoOutput/.test(nameOf(found)))
    return modelFailure(
      'model:malformed',
      `${model} sent an invalid answer: ${said}`,
      'is the address right, and the type of the provider?',
    )
  return modelFailure(
    'model:unreachable',
    `${model} cannot be reached: ${said}`,
    'check the address in the settings, and whether the server runs',
  )
}

function ofStatus(status: number, said: string, model: string): Failure {
  if (/insufficient_quota|credit balance|billing/i.test(said) || status === 402)
    return modelFailure('model:auth', `${model} is not paid for: ${said}`, 'look at the account at the provider')
  if (status === 401 || status === 403)
    return modelFailure(
      'model:auth',
      `${model} refused the key (${status}): ${said}`,
      'check the key in your settings or environment',
    )
  if (status === 429) return modelFailure('model:rate-limit', `${model} has too many requests (429): ${said}`)
  if (status === 408 || status >= 500)
    return modelFailure('model:overloaded', `${model} could not answer (${status}): ${said}`)
  if (status === 404)
    return modelFailure('model:bad-request', `${model} was not found (404): ${said}`, 'check its name and the address')
  return modelFailure('model:bad-request', `${model} refused the request (${status}): ${said}`)
}

function withPatience(failure: Failure, headers: { readonly [name: string]: string }, now: number): Failure {
  if (!failure.retryable) return failure
  const ms = Number(headers['retry-after-ms'])
  const wait = ms > 0 && Number.isFinite(ms) ? ms : (readRetryAfter(headers['retry-after'] ?? '', now) ?? 0)
  return wait > 0 ? { ...failure, retryAfterMs: Math.min(Math.ceil(wait), RETRY_AFTER_MAX_MS) } : failure
}

const UNSENT: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

export function isUnsent(error: unknown): boolean {
  let found = error as { readonly code?: unknown; readonly cause?: unknown } | null | undefined
  for (let depth = 0; depth < 5 && found !== null && typeof found === 'object'; depth++) {
    if (typeof found.code === 'string' && UNSENT.has(found.code)) return true
    found = found.cause as typeof found
  }
  return false
}

/** An answer whose connection ended before it was whole, as undici and the system say it. */
const CUT = /^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)\b|\bterminated\b/

/** The error with its causes, the outermost first: some errors of the library only wrap the one that matters. */
function causesOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = [error]
  while (chain.length < 6) {
    const cause = (chain.at(-1) as { readonly cause?: unknown } | null)?.cause
    if (cause === undefined || cause === null || typeof cause !== 'object') break
    chain.push(cause)
  }
  return chain
}

const nameOf = (error: unknown): string => String((error as { readonly name?: unknown } | null)?.name ?? '')

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message === '' ? nameOf(error) : error.message
  const { message } = (error ?? {}) as { readonly message?: unknown }
  return typeof message === 'string' ? message : String(JSON.stringify(error) ?? error)
}

function sentenceIn(body: string): string | null {
  try {
    const { error } = JSON.parse(body) as { error?: { message?: unknown; type?: unknown; code?: unknown } | string }
    if (typeof error === 'string') return error
    if (typeof error?.message !== 'string') return null
    const kind = [error.type, error.code].filter(word => typeof word === 'string').join(', ')
    return kind === '' ? error.message : `${error.message} (${kind})`
  } catch {
    return null
  }
}

const clip = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 300 ? `${line.slice(0, 300)}…` : line
}
