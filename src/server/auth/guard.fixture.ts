// For tests: a guard that asks for tokens, with one of every kind, and a clock that can be set on.

import { randomBytes } from 'node:crypto'
import type { Actor } from '../../domain/id.ts'
import type { Role, Scope } from '../../engine/roles.ts'
import { type Browsers, openBrowsers, type SessionFiles } from './browser-sign-in.ts'
import type { Guard } from './guard.ts'
import { LOOPBACK_ONLY, type OriginsOptions, openOrigins } from './origins.ts'
import { newSecret, sha256Of, type Token } from './token-file.ts'
import { openTries, tokenGuard } from './token-guard.ts'

export interface Guarded {
  readonly guard: Guard
  readonly browsers: Browsers
  /** A token of this name and role; the header that shows it. */
  token(name: string, role: Role, options?: { readonly scope?: Scope; readonly expiresAt?: number }): Bearer
  revoke(name: string): void
  hashOf(name: string): string
  advance(ms: number): void
  now(): number
}

export type Bearer = {
  readonly authorization: string
}

export function guarded(options: Partial<OriginsOptions> = {}): Guarded {
  let tokens: readonly Token[] = []
  let ahead = 0
  const now = (): number => Date.now() + ahead
  const tries = openTries(now)
  const sessions: SessionFiles = { keep: async () => {}, read: () => null, drop: () => {} }
  const browsers = openBrowsers({ now, random: randomBytes, tries, take: () => null, sessions })
  const origins = openOrigins({ ...LOOPBACK_ONLY, ...options })
  return {
    guard: tokenGuard({ origins, tokens: () => tokens, browsers, tries, now }),
    browsers,
    token: (name, role, { scope = null, expiresAt = null } = {}) => {
      const secret = newSecret(randomBytes)
      const token = { name: name as Actor, role, sha256: sha256Of(secret), scope, createdAt: now(), expiresAt }
      tokens = [...tokens, token]
      return { authorization: `Bearer ${secret}` }
    },
    revoke: name => {
      tokens = tokens.filter(token => token.name !== name)
    },
    hashOf: name => tokens.find(token => token.name === name)!.sha256,
    advance: ms => {
      ahead += ms
    },
    now,
  }
}
