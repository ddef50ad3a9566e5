// The guard: identifies the caller before any route runs. Also the open guard of `serve --no-auth`, which admits everybody.

import type { IncomingMessage } from 'node:http'
import type { Actor } from '../../domain/id.ts'
import type { Role, Scope } from '../../engine/roles.ts'
import { isProblem, type Problem } from '../problem.ts'
import type { Browsers } from './browser-sign-in.ts'
import { type From, LOOPBACK_ONLY, openOrigins } from './origins.ts'

/** The caller. The token's name becomes the actor of every entry it writes; its role decides what it may do. */
export interface Who {
  readonly actor: Actor
  readonly role: Role
  /** Null means everything. Anything outside the scope is answered as if it did not exist. */
  readonly scope: Scope | null
  /** An admin for all plans, signed in through the web UI: what they write counts as written by a person. */
  readonly isPerson?: true
  /** Key for counting the open streams of one token. */
  readonly token: string
  readonly from?: From
}

export interface Guard {
  /** Authenticates by host, origin and token. With `anybody`, tokens are not looked at. Rights are checked elsewhere. */
  admit(request: IncomingMessage, comes: 'anybody' | 'token'): Who | Problem
  /** May a body come without a JSON media type? Only without tokens and where no browser can have sent it. */
  takesAnyType(request: IncomingMessage): boolean
  /** Sign-in of browsers: a code is exchanged for a cookie, so no page has the token. Null if no token is needed. */
  readonly browsers?: Browsers | null
}

// The guard of `serve --no-auth`: without tokens, everybody on this machine may do everything. It accepts only requests
// to loopback names and still rejects cross-site requests, which a browser on this machine could be made to send.

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
