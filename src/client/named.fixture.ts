// For tests: a guard that takes every token for the name of whoever shows it.

import type { Actor } from '../domain/id.ts'
import type { Guard } from '../server/guard.ts'
import { problem } from '../server/problem.ts'
import type { Role, Scope } from '../server/who.ts'

export function byName(options: { readonly role?: Role; readonly scope?: Scope } = {}): Guard {
  const { role = 'admin', scope = null } = options
  return {
    admit: request => {
      const name = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
      if (name === undefined) return problem(401, 'not-signed-in', 'there is no token', { hint: 'send one' })
      return { actor: name as Actor, role, scope, token: name }
    },
    takesAnyType: () => false,
  }
}
