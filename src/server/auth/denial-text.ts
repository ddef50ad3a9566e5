// Words refusals about rights and scopes in terms of tokens, which the engine does not know.

import type { Refusal } from '../../domain/refusal.ts'
import { missingRight, RIGHTS, type Right, type Role } from '../../engine/roles.ts'
import { type Problem, problem } from '../problem.ts'
import type { Who } from './guard.ts'

export function inTokenWords({ role }: Pick<Who, 'role'>, refusal: Refusal): Refusal {
  const lack = missingRight(refusal)
  switch (lack) {
    case null:
      return refusal
    case 'all plans':
      return { ...refusal, message: 'this token is for some plans only', hint: 'use a token for all plans' }
    case 'session':
      return {
        ...refusal,
        message: 'this token is for some plans only, and may make no others',
        hint: 'use a token for all plans, or make it in a session of this one (session_id)',
      }
    default:
      return { ...refusal, message: mayNot(role), hint: rolesFor(lack).hint }
  }
}

export function refuseRoute({ role }: Pick<Who, 'role'>, right: Right | 'nothing'): Problem | null {
  if (right === 'nothing' || RIGHTS[role].has(right)) return null
  const { hint, needs } = rolesFor(right)
  return problem(403, 'not-allowed', mayNot(role), { hint, more: { needs } })
}

/** For routes that concern no single plan, which the engine does not check. */
export function refuseScoped({ who: { scope } }: { readonly who: Pick<Who, 'scope'> }): Problem | null {
  if (scope === null) return null
  return problem(403, 'not-allowed', 'this token is for some plans only', { hint: 'use a token for all plans' })
}

const mayNot = (role: Role): string => `a token with the role '${role}' may not do this`

function rolesFor(right: Right): { readonly hint: string; readonly needs: readonly Role[] } {
  const needs = (Object.keys(RIGHTS) as Role[]).filter(one => RIGHTS[one].has(right))
  return { hint: `use one with the role ${needs.join(' or ')}`, needs }
}
