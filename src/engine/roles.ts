// Callers, their rights and their scopes. Every engine is bound to a caller. How the rights are enforced is in permissions/.

import { type Actor, isActor, type PlanId } from '../domain/id.ts'
import { type Refusal, refuse } from '../domain/refusal.ts'

/**
 * `read`: look. `operate`: make, change and run plans. `decide`: answer gates and questions. `inspect`: see stored bytes, which may be any
 * file of the workspace, as needed to work on a plan or decide about it. `administer`: everything else.
 */
export type Right = 'read' | 'inspect' | 'operate' | 'decide' | 'administer'
export type Role = 'viewer' | 'operator' | 'approver' | 'admin'

/** The role that runs plans does not approve them; only `admin` may do both. */
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
  /** Only these; everything if null. Whatever is outside appears not to exist. */
  readonly scope: Scope | null
  /** A person at their own machine, or signed in on the page: tasks that they write count as their own. Never a token or an agent. */
  readonly isPerson?: true | undefined
  /** Whom an agent works for. Absent: the actor is that person or program. */
  readonly person?: Actor | undefined
  /** Called from the shell of a coding agent: has the rights of an agent, whatever the user's rights. */
  readonly inAgentShell?: true
}

/** A caller with all rights, such as a person at their own machine. */
export function trusted(actor: string): Caller {
  if (!isActor(actor)) throw new TypeError(`${JSON.stringify(actor)} cannot be the name of who acts`)
  return { actor, rights: RIGHTS.admin, scope: null, isPerson: true }
}

/** An agent works on plans. It never decides about them, whatever the rights of its user. */
export function agentCaller(caller: Caller, actor: Actor): Caller {
  const rights = new Set([...RIGHTS.operator].filter(right => caller.rights.has(right)))
  return { actor, rights, scope: caller.scope, person: caller.person ?? caller.actor }
}

/** The actor for an agent that shows a token. Whoever shows a person's token acts through that person, and is not that person. */
export function tokenAgent({ actor, rights }: Caller): Actor {
  const name = `${actor} via mcp`
  return rights.has('administer') && isActor(name) ? name : actor
}

export const isPlanInScope = (scope: Scope, plan: PlanId, session: string | null): boolean =>
  scope.plans?.includes(plan) === true || (session !== null && isSessionInScope(scope, session))

export const isSessionInScope = (scope: Scope | null, session: string): boolean =>
  scope === null || scope.sessions?.includes(session) === true

/** The missing right. `all plans`: it concerns no single plan. `session`: the caller may create plans only in their own sessions. */
export type Lack = Right | 'all plans' | 'session'

/** A refusal for lack of rights. Faces that know how the caller got their rights word it themselves. */
export interface Denial extends Refusal {
  readonly lacks: Lack
}

/** Null if the refusal has another reason. */
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

const ASK_OTHERS = 'ask a person who has that right'
const HINTS: { readonly [lack in Lack]?: string } = {
  'all plans': 'ask a person who may use all plans',
  session: 'make it in a session that is theirs, or ask a person who may use all plans',
}

/** Null if the caller has the right. */
export const denyWithout = (caller: Caller, right: Right): Denial | null =>
  caller.rights.has(right) ? null : deny(caller, right)

/** Thrown if the answer has no place for a refusal. Nothing was done. */
export class NotAllowed extends Error {
  override readonly name = 'NotAllowed'
  readonly refusal: Denial

  constructor(refusal: Denial) {
    super(refusal.message)
    this.refusal = refusal
  }
}

export function requireRight(caller: Caller, right: Right): void {
  if (!caller.rights.has(right)) throw new NotAllowed(deny(caller, right))
}

/** Throws for a caller with a limited scope: the action concerns no single plan. */
export function requireAllPlans(caller: Caller): void {
  if (caller.scope !== null) throw new NotAllowed(deny(caller, 'all plans'))
}

/** Switches the caller. Another name or more rights need `administer`, and a scope can only shrink. Throws otherwise. */
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
