// Who calls: the name of a token is the actor on every entry it writes, and its role says what it may do.

import type { Actor } from '../../domain/id.ts'
import type { Role, Scope } from '../../engine/permissions.ts'
import type { From } from './origins.ts'

export interface Who {
  readonly actor: Actor
  readonly role: Role
  /** Only these; everything when null. What is outside answers as if it were not there. */
  readonly scope: Scope | null
  /** Counts what one token may hold open. */
  readonly token: string
  /** The address that was called, and whose. */
  readonly from?: From
}
