// Who calls, and what they may do. The name of a token is the actor on every entry it writes.

import type { Actor, PlanId } from '../../domain/id.ts'
import type { From } from './origins.ts'

/**
 * `read`: look. `operate`: make, change and run plans. `decide`: answer gates and questions. `inspect`: see stored bytes, which may be
 * any file of the workspace, as whoever works on a plan or decides about it must. `administer`: everything else.
 */
export type Right = 'read' | 'inspect' | 'operate' | 'decide' | 'administer'
export type Role = 'viewer' | 'operator' | 'approver' | 'admin'

/** Whoever runs a plan does not approve it, unless they are trusted with everything. */
export const RIGHTS: { readonly [role in Role]: ReadonlySet<Right> } = {
  viewer: new Set(['read']),
  operator: new Set(['read', 'inspect', 'operate']),
  approver: new Set(['read', 'inspect', 'decide']),
  admin: new Set(['read', 'inspect', 'operate', 'decide', 'administer']),
}

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

export interface Scope {
  readonly plans?: readonly PlanId[]
  readonly sessions?: readonly string[]
}
