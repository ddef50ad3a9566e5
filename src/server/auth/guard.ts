// The guard: who may come in, asked before any route is looked at; and the one of `serve --no-auth`, who lets everybody in.

import type { IncomingMessage } from 'node:http'
import type { Actor } from '../../domain/id.ts'
import type { Right } from '../../engine/permissions.ts'
import { isProblem, type Problem } from '../problem.ts'
import type { Browsers } from './browser-sign-in.ts'
import type { Who } from './caller.ts'
import { LOOPBACK_ONLY, openOrigins } from './origins.ts'

// The door of the house from outside: who may come in, asked before any route is looked at.

export interface Guard {
  /** Host, origin and token of a request; `right` is that of the route it wants, `nothing` where anybody may. */
  admit(request: IncomingMessage, right: Right | 'nothing'): Who | Problem
  /** May a body come without a JSON media type? Only where no browser can have sent it and nobody asks for a token. */
  takesAnyType(request: IncomingMessage): boolean
  /** How a browser comes by a cookie instead of a token; null where nobody is asked for one. */
  readonly browsers?: Browsers | null
}

// The guard of `serve --no-auth`: nobody is asked for a token, everybody on this machine may do everything. Loopback only; pages of
// other sites are kept out all the same, because a browser on this machine would call for them.

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
