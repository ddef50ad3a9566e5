// The guard: who may come in, asked before any route is looked at; and the one of `serve --no-auth`, who lets everybody in.

import type { IncomingMessage } from 'node:http'
import type { Actor } from '../../domain/id.ts'
import type { Role, Scope } from '../../engine/roles.ts'
import { isProblem, type Problem } from '../problem.ts'
import type { Browsers } from './browser-sign-in.ts'
import { type From, LOOPBACK_ONLY, openOrigins } from './origins.ts'

/** Who calls: the name of a token is the actor on every entry it writes, and its role says what it may do. */
export interface Who {
  readonly actor: Actor
  readonly role: Role
  /** Only these; everything when null. What is outside answers as if it were not there. */
  readonly scope: Scope | null
  /** An owner who is signed in on the page: what they write there is their own. */
  readonly isPerson?: true
  /** Counts what one token may hold open. */
  readonly token: string
  readonly from?: From
}

export interface Guard {
  /** Who it is, by host, origin and token of a request; where `anybody` may come, without a token. What they may is not asked. */
  admit(request: IncomingMessage, comes: 'anybody' | 'token'): Who | Problem
  /** May a body come without a JSON media type? Only without tokens and where no browser can have sent it. */
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
