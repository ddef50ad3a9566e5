// Who asks for something, and what they may do. Every engine is bound to a caller: what it is asked for is done in that name, as far
// as their rights and their scope reach. This file says who callers are; how an engine holds to it is in permissions/.

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
  readonly actor: Actor
  readonly rights: ReadonlySet<Right>
  /** Only these; everything when null. What is outside answers as if it were not there. */
  readonly scope: Scope | null
  /** A person speaks for themselves, at their own machine or signed in on the page: tasks that they write are their own. Never a token or an agent. */
  readonly isPerson?: true | undefined
  /** A command in the shell of a coding agent: it has the rights of an agent, whoever started that. */
  readonly inAgentShell?: true
}

/** Whoever is trusted with everything, as a person at their own machine is. */
export function trusted(actor: string): Caller {
  if (!isActor(actor)) throw new TypeError(`${JSON.stringify(actor)} cannot be the name of who acts`)
  return { actor, rights: RIGHTS.admin, scope: null, isPerson: true }
}

/** An agent works on plans. It never decides about them, whoever started it. */
export function agentCaller(caller: Caller, actor: Actor): Caller {
  const rights = new Set([...RIGHTS.operator].filter(right => caller.rights.has(right)))
  return { actor, rights, scope: caller.scope }
}

/** The name of an agent that shows a token: whoever shows that of a person acts through it, and is not that person. */
export function tokenAgent({ actor, rights }: Caller): Actor {
  const name = `${actor} via mcp`
  return rights.has('administer') && isActor(name) ? name : actor
}

export const isPlanInScope = (scope: Scope, plan: PlanId, session: string | null): boolean =>
  scope.plans?.includes(plan) === true || (session !== null && isSessionInScope(scope, session))

export const isSessionInScope = (scope: Scope | null, session: string): boolean =>
  scope === null || scope.sessions?.includes(session) === true

/** A right; `all plans`, where something belongs to no plan; `session`, where a plan may be made in one of theirs only. */
export type Lack = Right | 'all plans' | 'session'

/** A refusal because of who asks. Faces that know how the caller came by their rights say it in their own words. */
export interface Denial extends Refusal {
  readonly lacks: Lack
}

/** Null for a refusal that has nothing to do with who asks. */
export const missingRight = (refusal: Refusal): Lack | null => ('lacks' in refusal ? (refusal as Denial).lacks : null)

export function deny({ actor, inAgentShell }: Caller, lacks: Lack): Denial {
  const [who, hint] = inAgentShell === true ? ['a coding agent' as Actor, OUTSIDE] : [actor, HINTS[lacks] ?? ASK_OTHERS]
  return { ...refuse('not-allowed', deniedText(who, lacks), hint), lacks }
}

const OUTSIDE = 'only a person does this: run the command yourself, in a terminal outside the agent'

const deniedText = (actor: Actor, lacks: Lack): string =>
  lacks === 'all plans'
    ? `${actor} may use some plans only`
    : lacks === 'session'
      ? `${actor} may use some plans only, and make no others`
      : `${actor} may not ${lacks}`

const ASK_OTHERS = 'ask somebody who may'
const HINTS: { readonly [lack in Lack]?: string } = {
  'all plans': 'ask somebody who may use all plans',
  session: 'make it in a session that is theirs, or ask somebody who may use all plans',
}

/** Null when the caller has it. */
export const denyWithout = (caller: Caller, right: Right): Denial | null =>
  caller.rights.has(right) ? null : deny(caller, right)

/** Thrown where an answer has no place for a refusal: the caller may not. Nothing was done. */
export class NotAllowed extends Error {
  override readonly name = 'NotAllowed'
  readonly refusal: Denial

  constructor(refusal: Denial) {
    super(refusal.message)
    this.refusal = refusal
  }
}

/** Throws unless the caller has the right. */
export function requireRight(caller: Caller, right: Right): void {
  if (!caller.rights.has(right)) throw new NotAllowed(deny(caller, right))
}

/** Throws for a caller of some plans: what belongs to no plan is not theirs. */
export function requireAllPlans(caller: Caller): void {
  if (caller.scope !== null) throw new NotAllowed(deny(caller, 'all plans'))
}

/** Whom a caller becomes. Another name and more rights need `administer`; nobody gets out of their scope. Throws otherwise. */
export function actingAs(caller: Caller, wanted: Caller | Actor): Caller {
  const other = typeof wanted === 'string' ? { ...caller, actor: wanted } : wanted
  if (!isWithin(other.scope, caller.scope)) throw new NotAllowed(deny(caller, 'all plans'))
  if (caller.rights.has('administer')) return other
  if (other.actor !== caller.actor) throw new NotAllowed(deny(caller, 'administer'))
  for (const right of other.rights) requireRight(caller, right)
  return other
}

function isWithin(scope: Scope | null, outer: Scope | null): boolean {
  if (outer === null) return true
  if (scope === null) return false
  const { plans = [], sessions = [] } = outer
  return (
    (scope.plans ?? []).every(plan => plans.includes(plan)) &&
    (scope.sessions ?? []).every(session => sessions.includes(session))
  )
}
