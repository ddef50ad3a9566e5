// Who asks for something, and what they may do. Every engine is bound to a caller; what it is asked for is done in that name.

import { type Actor, isActor, type PlanId } from '../domain/id.ts'
import { type Refusal, refuse } from '../domain/refusal.ts'

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

/** Some plans, and all plans of some sessions. */
export interface Scope {
  readonly plans?: readonly PlanId[]
  readonly sessions?: readonly string[]
}

export interface Caller {
  /** The name on every entry they write. */
  readonly actor: Actor
  readonly rights: ReadonlySet<Right>
  /** Only these; everything when null. What is outside answers as if it were not there. */
  readonly scope: Scope | null
}

/** Whoever is trusted with everything, as a person at their own machine is. */
export function trusted(actor: string): Caller {
  if (!isActor(actor)) throw new TypeError(`${JSON.stringify(actor)} cannot be the name of who acts`)
  return { actor, rights: RIGHTS.admin, scope: null }
}

/** Thrown where the answer has no place for a refusal: the caller lacks a right. Nothing was done. */
export class NotAllowed extends Error {
  override readonly name = 'NotAllowed'
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

/** The caller that `caller` may act as; throws NotAllowed when that would give them another name, more rights or more plans. */
export function actingAs(caller: Caller, wanted: Caller | Actor): Caller {
  const other = typeof wanted === 'string' ? { ...caller, actor: wanted } : wanted
  const administers = caller.rights.has('administer')
  if (other.actor !== caller.actor && !administers)
    throw new NotAllowed(refuse('not-allowed', `${caller.actor} may not act as ${other.actor}`, TRUSTED))
  const more = [...other.rights].find(right => !caller.rights.has(right))
  if (more !== undefined && !administers)
    throw new NotAllowed(refuse('not-allowed', `${caller.actor} has no right to ${more}, and cannot give it`, TRUSTED))
  if (!isWithin(other.scope, caller.scope))
    throw new NotAllowed(refuse('not-allowed', `${caller.actor} may use some plans only, and not these`, TRUSTED))
  return other
}

const TRUSTED = 'ask somebody who is trusted with everything'

function isWithin(scope: Scope | null, outer: Scope | null): boolean {
  if (outer === null) return true
  if (scope === null) return false
  const { plans = [], sessions = [] } = outer
  return (
    (scope.plans ?? []).every(plan => plans.includes(plan)) &&
    (scope.sessions ?? []).every(session => sessions.includes(session))
  )
}
