// For tests: a guard that takes every token for the name of whoever shows it.

import type { Actor } from '../domain/id.ts'
import { RIGHTS, type Role, type Scope } from '../engine/roles.ts'
import type { Guard } from '../server/auth/guard.ts'
import { problem } from '../server/problem.ts'

/** Whoever is called like a role has it; everybody else is an admin. */
export function byName({ scope = null }: { readonly scope?: Scope | null } = {}): Guard {
  return {
    admit: request => {
      const name = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
      if (name === undefined) return problem(401, 'not-signed-in', 'there is no token', { hint: 'send one' })
      const role = Object.hasOwn(RIGHTS, name) ? (name as Role) : 'admin'
      return { actor: name as Actor, role, scope, token: name }
    },
    takesAnyType: () => false,
  }
}
