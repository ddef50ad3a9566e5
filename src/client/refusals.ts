// Refusals travel as problem documents and are refusals again here.

import type { Refusal, RefusalCode } from '../domain/refusal.ts'
import type { RemoteFault, RemoteProblem } from './trouble.ts'

/** A refusal, and everything that was wrong with what was sent: the message tells of the first. */
export interface RemoteRefusal extends Refusal {
  readonly faults?: readonly RemoteFault[]
}

/** Null for a problem that is none of the domain's. */
export function refusalIn({ code, detail, hint, allowed, faults }: RemoteProblem): RemoteRefusal | null {
  const known = ALSO[code] ?? code
  if (!isCode(known)) return null
  return {
    code: known,
    message: detail,
    ...(hint === undefined ? {} : { hint }),
    ...(allowed === undefined ? {} : { allowed }),
    ...(faults === undefined ? {} : { faults }),
  }
}

/** What is wrong with a document has names of its own over there. */
const ALSO: { readonly [code: string]: RefusalCode } = { 'invalid-plan': 'invalid', sketch: 'invalid' }

const CODES: { readonly [code in RefusalCode]: true } = {
  'not-found': true,
  exists: true,
  conflict: true,
  'illegal-transition': true,
  invalid: true,
  cycle: true,
  'unknown-reference': true,
  duplicate: true,
  limit: true,
  'not-supported': true,
  'not-allowed': true,
  'not-ready': true,
}
const isCode = (code: string): code is RefusalCode => Object.hasOwn(CODES, code)
