// Problem documents (RFC 9457) with a hint: the one shape of every error of the service. They reveal no internals.

import type { Hint } from '../domain/hint.ts'
import type { Refusal, RefusalCode } from '../domain/refusal.ts'
import { type ExtraName, withoutExtra } from '../extras.ts'
import type { ProblemDocument, ProblemFault } from '../format/wire/answers/problem.ts'
import type { Fault } from '../format/wire/wire.ts'
import { type About, allowedText, hintText } from './hint-text.ts'

export interface Problem {
  readonly problem: ProblemDocument
  readonly headers?: Headers
}

type Headers = { readonly [name: string]: string }

export interface ProblemOptions {
  readonly hint?: Hint | undefined
  readonly about?: About
  readonly allowed?: readonly string[] | undefined
  readonly faults?: readonly Fault[] | undefined
  readonly headers?: Headers
  readonly more?: { readonly [name: string]: unknown }
}

export function problem(status: number, code: string, detail: string, options: ProblemOptions = {}): Problem {
  const { hint, about, allowed, faults, headers, more } = options
  return {
    problem: {
      type: `urn:planfold:problem:${code}`,
      title: TITLES[status] ?? 'Error',
      status,
      detail,
      hint: hint === undefined ? undefined : hintText(hint, about),
      allowed,
      faults: faults === undefined ? undefined : faults.map(worded),
      ...more,
    },
    headers,
  }
}

function worded({ hint, ...fault }: Fault): ProblemFault {
  return hint === undefined ? fault : { ...fault, hint: hintText(hint) }
}

export const isProblem = (value: object): value is Problem => 'problem' in value

export function refused({ code, message, hint, allowed }: Refusal, about: About = {}): Problem {
  return problem(STATUS_OF[code], code, message, { hint, about, allowed: allowed?.map(allowedText) })
}

/** What this build of the service does not have. */
export const notInBuild = (extra: ExtraName): Problem =>
  problem(501, 'not-in-build', withoutExtra(extra), { hint: 'ask a service that has it' })

export const notFound = (detail: string, hint?: Hint): Problem => problem(404, 'not-found', detail, { hint })

export function invalidRequest(what: 'body' | 'query' | 'path', faults: readonly Fault[]): Problem {
  const [first] = faults
  const place = first === undefined || first.path === '' ? `the ${what}` : `'${first.path}' of the ${what}`
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
  return problem(422, 'invalid', `${place}: ${first?.message ?? 'does not fit'}${more}`, { hint: first?.hint, faults })
}

const STATUS_OF: Record<RefusalCode, number> = {
  'not-found': 404,
  exists: 409,
  conflict: 409,
  'illegal-transition': 409,
  invalid: 422,
  cycle: 422,
  'unknown-reference': 422,
  duplicate: 422,
  limit: 422,
  'not-supported': 501,
  'not-allowed': 403,
  'not-ready': 409,
}

const TITLES: { readonly [status: number]: string } = {
  400: 'Bad request',
  401: 'Not signed in',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Request timeout',
  409: 'Conflict',
  413: 'Too large',
  415: 'Unsupported media type',
  417: 'Expectation failed',
  421: 'Misdirected request',
  422: 'Not valid',
  429: 'Too many requests',
  431: 'Headers too large',
  500: 'A bug in Planfold',
  501: 'Not there yet',
  502: 'Asked in vain',
  503: 'Try again',
  507: 'No space left',
}
