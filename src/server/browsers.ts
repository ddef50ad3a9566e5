// How a browser comes in: a code that works once is exchanged for a cookie. The code stands in the fragment of a link, which no
// browser sends anywhere; the token itself never reaches a page. Both live in memory only and end with the process.

import type { IncomingHttpHeaders } from 'node:http'
import { type HeldCode, codeHash as hashOf, newCode as secret } from './code-files.ts'
import type { From } from './origins.ts'
import { type Problem, problem } from './problem.ts'
import type { Tries } from './tries.ts'

export interface Browsers {
  /** A new code for the holder of this token. */
  invite(token: string): Invitation
  /** The code for a cookie, once. */
  enter(code: string, from: From): { readonly cookie: string } | Problem
  /** Ends the session; the cookie that takes the old one away. */
  leave(headers: IncomingHttpHeaders, from: From): string
  /** The token whose holder sits at this browser; null when the cookie is missing, unknown or too old. */
  tokenOf(headers: IncomingHttpHeaders): string | null
}

export interface Invitation {
  readonly code: string
  readonly expiresAt: number
}

export interface BrowsersOptions {
  readonly now: () => number
  readonly random: (bytes: number) => Uint8Array
  /** Wrong codes, by where they came from. */
  readonly tries: Tries
  /** A code that was made elsewhere, by its hash, taken away; null when there is none. */
  readonly take: (hash: string) => HeldCode | null
}

export const CODE_MS = 10 * 60_000
const SESSION_MS = 12 * 60 * 60_000
const HELD_MAX = 1_000
const PLAIN_COOKIE = 'planfold_session'
/** Browsers take a cookie of such a name only over TLS, for one host and the whole of it. */
const SECURE_COOKIE = `__Host-${PLAIN_COOKIE}`

export function openBrowsers({ now, random, tries, take }: BrowsersOptions): Browsers {
  // By hash: a look-up then tells nothing by the time it takes.
  const codes = new Map<string, HeldCode>()
  const sessions = new Map<string, HeldCode>()
  return {
    invite: token => {
      const code = secret(random)
      const expiresAt = now() + CODE_MS
      hold(codes, code, { token, until: expiresAt })
      return { code, expiresAt }
    },
    enter: (code, from) => {
      const hash = hashOf(code)
      const known = codes.get(hash) ?? take(hash) ?? undefined
      codes.delete(hash)
      if (known === undefined || known.until <= now())
        return (
          tries.wrong(from.source) ??
          problem(401, 'bad-code', 'this code is not known, was used, or is too old', {
            hint: 'a code works once, within ten minutes; ask for a new link: planfold token link',
          })
        )
      const value = secret(random)
      hold(sessions, value, { token: known.token, until: now() + SESSION_MS })
      return { cookie: cookie(from, value, SESSION_MS / 1_000) }
    },
    leave: (headers, from) => {
      for (const value of valuesOf(headers.cookie)) sessions.delete(hashOf(value))
      return cookie(from, '', 0)
    },
    tokenOf: headers => {
      for (const value of valuesOf(headers.cookie)) {
        const session = sessions.get(hashOf(value))
        if (session !== undefined && session.until > now()) return session.token
      }
      return null
    },
  }

  function hold(held: Map<string, HeldCode>, value: string, what: HeldCode): void {
    for (const [key, { until }] of held) if (until <= now()) held.delete(key)
    if (held.size >= HELD_MAX) held.delete(held.keys().next().value!)
    held.set(hashOf(value), what)
  }
}

function cookie({ origin }: From, value: string, seconds: number): string {
  const isSecure = origin.startsWith('https:')
  const name = isSecure ? SECURE_COOKIE : PLAIN_COOKIE
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${isSecure ? '; Secure' : ''}`
}

/** A name may be there twice: another service on this host may have set it, and cookies know no port. */
function valuesOf(header: string | undefined): readonly string[] {
  if (header === undefined || header.length > 8_192) return []
  return header.split(';').flatMap(part => {
    const at = part.indexOf('=')
    const name = part.slice(0, at).trim()
    return name === PLAIN_COOKIE || name === SECURE_COOKIE ? [part.slice(at + 1).trim()] : []
  })
}
