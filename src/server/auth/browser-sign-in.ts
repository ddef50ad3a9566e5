// Browser sign-in: a single-use code is exchanged for a session cookie. The code is in the fragment of a link, which browsers
// never send, and the token itself never reaches a page. Sessions are stored on disk as hashes, so they survive a restart of the
// service; codes created by this process do not.

import { createHash } from 'node:crypto'
import { readdirSync, unlinkSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { isSha256 } from '../../domain/id.ts'
import { makeSecretFile, makeSecretFolder, readSecretFileNow } from '../../safety/files/secret-file.ts'
import { type Problem, problem } from '../problem.ts'
import type { From } from './origins.ts'
import { serverFolder } from './token-file.ts'
import type { Tries } from './token-guard.ts'

// Codes created on the command line, and sessions, are files: readable by the owner only and named by the hash of the secret.
// Using a code removes its file, so it works once even with several services.

interface StoredCode {
  readonly token: string
  readonly until: number
}

const CODE_BYTES = 32
const HELD_MAX = 1_000
type Kind = 'codes' | 'sessions'
const folderOf = (stateDir: string, kind: Kind): string => join(serverFolder(stateDir), kind)

export const newCode = (random: (bytes: number) => Uint8Array): string =>
  Buffer.from(random(CODE_BYTES)).toString('base64url')
export const codeHash = (code: string): string => createHash('sha256').update(code).digest('hex')

export const keepCode = (stateDir: string, code: string, stored: StoredCode, now: number): Promise<void> =>
  keep(stateDir, 'codes', codeHash(code), stored, now)

export function takeCode(stateDir: string, hash: string): StoredCode | null {
  const stored = readStored(stateDir, 'codes', hash)
  return stored !== null && unlinkQuietly(join(folderOf(stateDir, 'codes'), hash)) ? stored : null
}

export interface SessionFiles {
  keep(hash: string, session: StoredCode): Promise<void>
  read(hash: string): StoredCode | null
  drop(hash: string): void
}

export const sessionFiles = (stateDir: string, now: () => number): SessionFiles => ({
  keep: (hash, session) => keep(stateDir, 'sessions', hash, session, now()),
  read: hash => readStored(stateDir, 'sessions', hash),
  drop: hash => {
    if (isSha256(hash)) unlinkQuietly(join(folderOf(stateDir, 'sessions'), hash))
  },
})

async function keep(stateDir: string, kind: Kind, hash: string, stored: StoredCode, now: number): Promise<void> {
  await makeSecretFolder(serverFolder(stateDir))
  const folder = folderOf(stateDir, kind)
  await makeSecretFolder(folder)
  const lasting: { readonly path: string; readonly until: number }[] = []
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const known = readFile(path)
    if (known === null || known.until <= now) unlinkQuietly(path)
    else lasting.push({ path, until: known.until })
  }
  // Makes room for the new session by removing those that expire first.
  const surplus = Math.max(0, lasting.length + 1 - HELD_MAX)
  for (const { path } of lasting.sort((a, b) => a.until - b.until).slice(0, surplus)) unlinkQuietly(path)
  await makeSecretFile(join(folder, hash), `${JSON.stringify(stored)}\n`)
}

const readStored = (stateDir: string, kind: Kind, hash: string): StoredCode | null =>
  isSha256(hash) ? readFile(join(folderOf(stateDir, kind), hash)) : null

function readFile(path: string): StoredCode | null {
  const read = readSecretFileNow(path)
  if (!read.ok) return null
  try {
    const { token, until } = JSON.parse(read.text) as Partial<StoredCode>
    return typeof token === 'string' && isSha256(token) && typeof until === 'number' ? { token, until } : null
  } catch {
    return null
  }
}

function unlinkQuietly(path: string): boolean {
  try {
    unlinkSync(path)
    return true
  } catch {
    return false
  }
}

export interface Browsers {
  invite(token: string): Invitation
  enter(code: string, from: From): Promise<{ readonly cookie: string } | Problem>
  leave(headers: IncomingHttpHeaders, from: From): string
  /** The token behind the session cookie; null if the cookie is missing, unknown or expired. */
  tokenOf(headers: IncomingHttpHeaders, from: From): string | null
}

interface Invitation {
  readonly code: string
  readonly expiresAt: number
}

interface BrowsersOptions {
  readonly now: () => number
  readonly random: (bytes: number) => Uint8Array
  readonly tries: Tries
  /** Removes and returns a code created by another process, by its hash. */
  readonly take: (hash: string) => StoredCode | null
  readonly sessions: SessionFiles
}

export const CODE_MS = 10 * 60_000
const SESSION_MS = 12 * 60 * 60_000
const PLAIN_COOKIE = 'planfold_session'
/** Browsers accept a cookie with this prefix only over TLS, for exactly one host and the path `/`. */
const SECURE_PREFIX = '__Host-'

export function openBrowsers({ now, random, tries, take, sessions: files }: BrowsersOptions): Browsers {
  // Keyed by hash, so that look-up time reveals nothing about the code.
  const codes = new Map<string, StoredCode>()
  const sessions = new Map<string, StoredCode>()
  return {
    invite: token => {
      const code = newCode(random)
      const expiresAt = now() + CODE_MS
      hold(codes, code, { token, until: expiresAt })
      return { code, expiresAt }
    },
    enter: async (code, from) => {
      const hash = codeHash(code)
      const known = codes.get(hash) ?? take(hash) ?? undefined
      codes.delete(hash)
      if (known === undefined || known.until <= now())
        return (
          tries.wrong(from.source) ??
          problem(401, 'bad-code', 'this code is not known, was used, or is too old', {
            hint: 'a code works once, within ten minutes; ask whoever runs the service for a new link',
          })
        )
      const value = newCode(random)
      const session = { token: known.token, until: now() + SESSION_MS }
      hold(sessions, value, session)
      await files.keep(codeHash(value), session)
      return { cookie: cookie(from, value, SESSION_MS / 1_000) }
    },
    leave: (headers, from) => {
      for (const value of valuesOf(headers.cookie, from)) {
        sessions.delete(codeHash(value))
        files.drop(codeHash(value))
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

  /** Sessions from before a restart are loaded from disk on first use. */
  function sessionOf(value: string): StoredCode | null {
    const hash = codeHash(value)
    const known = sessions.get(hash) ?? files.read(hash)
    if (known !== null && known.until > now() && !sessions.has(hash)) hold(sessions, value, known)
    return known
  }

  function hold(stored: Map<string, StoredCode>, value: string, what: StoredCode): void {
    for (const [key, { until }] of stored) if (until <= now()) stored.delete(key)
    if (stored.size >= HELD_MAX) stored.delete(stored.keys().next().value!)
    stored.set(codeHash(value), what)
  }
}

function cookie(from: From, value: string, seconds: number): string {
  const secure = isSecure(from) ? '; Secure' : ''
  return `${cookieName(from)}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`
}

/** Cookies ignore ports: the port in the name keeps two services on one host from overwriting each other's session. */
function cookieName(from: From): string {
  const name = `${PLAIN_COOKIE}_${new URL(from.origin).port || (isSecure(from) ? 443 : 80)}`
  return isSecure(from) ? `${SECURE_PREFIX}${name}` : name
}

const isSecure = ({ origin }: From): boolean => origin.startsWith('https:')

/** A cookie name may occur twice if another path or domain also set it. */
function valuesOf(header: string | undefined, from: From): readonly string[] {
  if (header === undefined || header.length > 8_192) return []
  const name = cookieName(from)
  return header.split(';').flatMap(part => {
    const at = part.indexOf('=')
    return part.slice(0, at).trim() === name ? [part.slice(at + 1).trim()] : []
  })
}
