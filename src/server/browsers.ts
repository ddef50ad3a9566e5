// How a browser comes in: a code that works once is exchanged for a cookie. The code stands in the fragment of a link, which no
// browser sends anywhere; the token itself never reaches a page. Sessions are kept as hashes on disk (code-files.ts), so that a
// browser stays signed in when the service is started again; codes of this process end with it.

import type { IncomingHttpHeaders } from 'node:http'
import { type HeldCode, codeHash as hashOf, type SessionFiles, newCode as secret } from './code-files.ts'
import type { From } from './origins.ts'
import { type Problem, problem } from './problem.ts'
import type { Tries } from './tries.ts'

export interface Browsers {
  /** A new code for the holder of this token. */
  invite(token: string): Invitation
  /** The code for a cookie, once. */
  enter(code: string, from: From): Promise<{ readonly cookie: string } | Problem>
  /** Ends the session; the cookie that takes the old one away. */
  leave(headers: IncomingHttpHeaders, from: From): string
  /** The token whose holder sits at this browser; null when the cookie is missing, unknown or too old. */
  tokenOf(headers: IncomingHttpHeaders, from: From): string | null
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
  /** Where sessions are kept beyond this process. */
  readonly sessions: SessionFiles
}

export const CODE_MS = 10 * 60_000
const SESSION_MS = 12 * 60 * 60_000
const HELD_MAX = 1_000
const PLAIN_COOKIE = 'planfold_session'
/** Browsers take a cookie of such a name only over TLS, for one host and the whole of it. */
const SECURE_PREFIX = '__Host-'

export function openBrowsers({ now, random, tries, take, sessions: files }: BrowsersOptions): Browsers {
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
    enter: async (code, from) => {
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
      const session = { token: known.token, until: now() + SESSION_MS }
      hold(sessions, value, session)
      await files.keep(hashOf(value), session)
      return { cookie: cookie(from, value, SESSION_MS / 1_000) }
    },
    leave: (headers, from) => {
      for (const value of valuesOf(headers.cookie, from)) {
        sessions.delete(hashOf(value))
        files.drop(hashOf(value))
      }
      return cookie(from, '', 0)
    },
    tokenOf: (headers, from) => {
      for (const value of valuesOf(headers.cookie, from)) {
        const session = sessionOf(value)
        if (session !== null && session.until > now()) return session.token
      }
      return null
    },
  }

  /** One of before the service was started is found on disk, once. */
  function sessionOf(value: string): HeldCode | null {
    const hash = hashOf(value)
    const known = sessions.get(hash) ?? files.read(hash)
    if (known !== null && known.until > now() && !sessions.has(hash)) hold(sessions, value, known)
    return known
  }

  function hold(held: Map<string, HeldCode>, value: string, what: HeldCode): void {
    for (const [key, { until }] of held) if (until <= now()) held.delete(key)
    if (held.size >= HELD_MAX) held.delete(held.keys().next().value!)
    held.set(hashOf(value), what)
  }
}

function cookie(from: From, value: string, seconds: number): string {
  const secure = isSecure(from) ? '; Secure' : ''
  return `${cookieName(from)}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`
}

/** Cookies know no port: with it in their name, two services on one host do not sign each other out. */
function cookieName(from: From): string {
  const name = `${PLAIN_COOKIE}_${new URL(from.origin).port || (isSecure(from) ? 443 : 80)}`
  return isSecure(from) ? `${SECURE_PREFIX}${name}` : name
}

const isSecure = ({ origin }: From): boolean => origin.startsWith('https:')

/** A name may be there twice: somebody may have set it for another path or domain. */
function valuesOf(header: string | undefined, from: From): readonly string[] {
  if (header === undefined || header.length > 8_192) return []
  const name = cookieName(from)
  return header.split(';').flatMap(part => {
    const at = part.indexOf('=')
    return part.slice(0, at).trim() === name ? [part.slice(at + 1).trim()] : []
  })
}
