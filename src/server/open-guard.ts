// The guard of `serve --no-auth`: nobody is asked for a token, everybody on this machine may do everything. Loopback only; pages of
// other sites are kept out all the same, because a browser on this machine would call for them.

import type { Actor } from '../domain/id.ts'
import type { Guard } from './guard.ts'
import { LOOPBACK_ONLY, openOrigins } from './origins.ts'
import { isProblem } from './problem.ts'

export function openGuard(origins = openOrigins(LOOPBACK_ONLY)): Guard {
  const who = { actor: 'anyone' as Actor, role: 'admin' as const, scope: null, token: '' }
  return {
    admit: request => {
      const from = origins.check(request)
      return isProblem(from) ? from : { ...who, from }
    },
    takesAnyType: ({ headers }) =>
      headers.origin === undefined && !Object.keys(headers).some(name => name.startsWith('sec-fetch-')),
    browsers: null,
  }
}
