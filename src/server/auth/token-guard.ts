// The guard of the service: admits a token, or a browser session that came from one. Public routes pass here too: their token
// is not looked at, but host and origin are checked.

import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Actor } from '../../domain/id.ts'
import { isProblem, type Problem, problem } from '../problem.ts'
import type { Browsers } from './browser-sign-in.ts'
import type { Guard, Who } from './guard.ts'
import type { From, Origins } from './origins.ts'
import { sha256Of, type Token } from './token-file.ts'

/** Rate-limits wrong tokens and codes by source. This saves time and log lines; 256 bits cannot be guessed. A valid token always passes. */
export interface Tries {
  /** Counts one more wrong one; a problem if there were too many recently. */
  wrong(source: string): Problem | null
}

const WINDOW_MS = 60_000
const WRONG_MAX = 30
const SOURCES_MAX = 1_000

export function openTries(now: () => number): Tries {
  const counted = new Map<string, { since: number; count: number }>()
  return {
    wrong: source => {
      const at = now()
      const known = counted.get(source)
      const current = known === undefined || at - known.since >= WINDOW_MS ? { since: at, count: 0 } : known
      counted.delete(source)
      if (counted.size >= SOURCES_MAX) counted.delete(counted.keys().next().value!)
      counted.set(source, current)
      current.count++
      if (current.count <= WRONG_MAX) return null
      const seconds = Math.ceil((current.since + WINDOW_MS - at) / 1_000)
      return problem(429, 'too-many-tries', 'too many wrong tokens or codes came from there', {
        hint: `wait ${seconds} s, then use the right one`,
        headers: { 'retry-after': String(seconds) },
      })
    },
  }
}

interface TokenGuardOptions {
  readonly origins: Origins
  readonly tokens: () => readonly Token[]
  readonly browsers: Browsers
  readonly tries: Tries
  readonly now: () => number
}

/** The caller of a public route: an empty scope, so it sees no plan. */
const ANONYMOUS: Omit<Who, 'from'> = {
  actor: 'nobody' as Actor,
  role: 'viewer',
  scope: { plans: [], sessions: [] },
  token: '',
}
const CHANGING = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

interface Shown {
  readonly authorization: string
  readonly tokens: readonly Token[]
  readonly token: Token
}

export function tokenGuard({ origins, tokens, browsers, tries, now }: TokenGuardOptions): Guard {
  const shown = new WeakMap<Socket, Shown>()
  const admit: Guard['admit'] = (request, comes) => {
    const from = origins.check(request)
    if (isProblem(from)) return from
    if (comes === 'anybody') return { ...ANONYMOUS, from }
    const token = tokenOf(request, from)
    if ('problem' in token) return token
    if (token.expiresAt !== null && token.expiresAt <= now()) return expired(token)
    const { name: actor, role, scope, sha256 } = token
    const isPerson = request.headers.authorization === undefined && role === 'admin' && scope === null
    return { actor, role, scope, token: sha256, from, ...(isPerson ? { isPerson } : {}) }
  }
  return { admit, browsers, takesAnyType: () => false }

  function tokenOf(request: IncomingMessage, from: From): Token | Problem {
    const { authorization } = request.headers
    if (authorization !== undefined) return bearer(request.socket, authorization) ?? unknown(from)
    const session = browsers.tokenOf(request.headers, from)
    if (session === null) return NO_TOKEN
    // Browsers attach cookies to any request, so changes are accepted only from our own pages.
    if (CHANGING.has(request.method ?? '') && !from.isOurPage) return NOT_OUR_PAGE
    return find(session) ?? SESSION_OVER
  }

  /** Most connections repeat the same token, so the result is kept per connection until the tokens change. */
  function bearer(socket: Socket, authorization: string): Token | undefined {
    const good = tokens()
    const before = shown.get(socket)
    if (before?.tokens === good && isSame(before.authorization, authorization)) return before.token
    const secret = /^Bearer +([\x21-\x7e]{1,500})$/i.exec(authorization)?.[1]
    const token = secret === undefined ? undefined : find(sha256Of(secret))
    if (token !== undefined) shown.set(socket, { authorization, tokens: good, token })
    return token
  }

  /** Compares all tokens in constant time, so that timing reveals nothing about them. */
  function find(sha256: string): Token | undefined {
    const wanted = Buffer.from(sha256, 'hex')
    let found: Token | undefined
    for (const token of tokens()) if (timingSafeEqual(bytesOf(token), wanted)) found = token
    return found
  }

  function unknown({ source }: From): Problem {
    return tries.wrong(source) ?? UNKNOWN
  }
}

/** Constant time: behind a proxy, different callers may share one connection. */
function isSame(a: string, b: string): boolean {
  if (a.length !== b.length) return false
  let differing = 0
  for (let at = 0; at < a.length; at++) differing |= a.charCodeAt(at) ^ b.charCodeAt(at)
  return differing === 0
}

const bytes = new WeakMap<Token, Buffer>()

function bytesOf(token: Token): Buffer {
  const known = bytes.get(token) ?? Buffer.from(token.sha256, 'hex')
  bytes.set(token, known)
  return known
}

const ASK = { 'www-authenticate': 'Bearer realm="planfold"' }
const BAD = { 'www-authenticate': 'Bearer realm="planfold", error="invalid_token"' }
const NO_TOKEN = problem(401, 'no-token', 'this needs a token', {
  hint: 'send it with: Authorization: Bearer TOKEN. The owner has one in .planfold/server/token; a browser uses the link the service printed',
  headers: ASK,
})
const UNKNOWN = problem(401, 'unknown-token', 'this token is not known, or was revoked', {
  hint: 'ask whoever runs the service for another',
  headers: BAD,
})
const SESSION_OVER = problem(401, 'unknown-token', 'the token this browser came in by was revoked', {
  hint: 'ask whoever runs the service for a new link',
  headers: BAD,
})
const NOT_OUR_PAGE = problem(403, 'cross-site', 'a browser must say that a page of ours asks for this', {
  hint: 'use a browser that sends Origin or Sec-Fetch-Site, or a token instead of the cookie',
})

const expired = ({ name, expiresAt }: Token): Problem =>
  problem(401, 'expired-token', `the token '${name}' expired at ${new Date(expiresAt!).toISOString()}`, {
    hint: 'ask whoever runs the service for another',
    headers: BAD,
  })
