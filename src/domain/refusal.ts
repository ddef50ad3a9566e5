// A refusal: the domain says no. A value, never an exception. Faces print `message` and end with `hint`.

import type { Hint } from './hint.ts'

export interface Refusal {
  readonly code: RefusalCode
  readonly message: string
  readonly hint?: Hint
  readonly allowed?: readonly string[]
}

export type RefusalCode =
  | 'not-found'
  | 'exists'
  | 'conflict'
  | 'illegal-transition'
  | 'invalid'
  | 'cycle'
  | 'unknown-reference'
  | 'duplicate'
  | 'limit'
  | 'not-supported'
  | 'not-allowed'
  | 'not-ready'

export function refuse(code: RefusalCode, message: string, hint?: Hint, allowed?: readonly string[]): Refusal {
  return { code, message, hint, allowed }
}
