// Tokens as files: one small file each, named by the token's name, with its SHA-256 and never the token itself. Creating the file
// creates the token, removing it revokes the token, so concurrent changes cannot undo each other and the service sees them at
// once.

import { hash } from 'node:crypto'
import { readdirSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { advise, type Hint, next } from '../../domain/hint.ts'
import { type Actor, isActor, isPlanId, isSha256, nameKey, type PlanId } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import { RIGHTS, type Role, type Scope } from '../../engine/roles.ts'
import {
  makeSecretFile,
  makeSecretFolder,
  readSecretFileNow,
  removeSecretFile,
} from '../../safety/files/secret-file.ts'

export interface Token {
  readonly name: Actor
  readonly role: Role
  readonly sha256: string
  readonly scope: Scope | null
  readonly createdAt: number
  /** Null: valid until revoked. */
  readonly expiresAt: number | null
}

export type TokenMade = { readonly ok: true; readonly token: Token; readonly secret: string } | BookTrouble
export interface BookTrouble {
  readonly ok: false
  readonly exists?: true
  readonly message: string
  readonly hint: Hint
}

export const TOKENS_MAX = 1_000
const SECRET_BYTES = 32
const SECRET = /^[\x21-\x7e]{32,500}$/
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._@+-]{0,98}[A-Za-z0-9])?$/
/** Reserved actor names: entries in the journal already use them. */
const TAKEN = new Set(['engine', 'janitor', 'anyone', 'nobody', 'owner'])

export const serverFolder = (stateDir: string): string => join(stateDir, 'server')
export const ownerTokenFile = (stateDir: string): string => join(serverFolder(stateDir), 'token')
const booksFolder = (stateDir: string): string => join(serverFolder(stateDir), 'tokens')
const fileOf = (stateDir: string, name: string): string => join(booksFolder(stateDir), `${nameKey(name)}.json`)

/** `planfold_` and 256 random bits: a prefix that secret scanners can find. */
export const newSecret = (random: (bytes: number) => Uint8Array): string =>
  `planfold_${Buffer.from(random(SECRET_BYTES)).toString('base64url')}`

export const sha256Of = (secret: string): string => hash('sha256', secret)

export async function ownerSecret(
  stateDir: string,
  random: (bytes: number) => Uint8Array,
): Promise<{ readonly ok: true; readonly secret: string; readonly made: boolean } | BookTrouble> {
  const path = ownerTokenFile(stateDir)
  await makeSecretFolder(serverFolder(stateDir))
  await makeSecretFolder(booksFolder(stateDir))
  const made = await makeSecretFile(path, `${newSecret(random)}\n`)
  const read = readSecretFileNow(path)
  if (!read.ok) return { ok: false, message: `the token file ${read.message}`, hint: read.hint }
  const secret = read.text.trim()
  if (SECRET.test(secret)) return { ok: true, secret, made }
  return { ok: false, message: `the token file '${path}' holds no token`, hint: 'remove it; a new one is made' }
}

export interface NewToken {
  readonly name: string
  readonly role: Role
  readonly scope: Scope | null
  readonly createdAt: number
  readonly expiresAt: number | null
  /** The actor name of the owner's token, which no other token may use. */
  readonly owner: string
}

export async function makeToken(
  stateDir: string,
  { name, owner, ...rest }: NewToken,
  random: (bytes: number) => Uint8Array,
): Promise<TokenMade> {
  if (!NAME.test(name) || !isActor(name) || name.includes('..'))
    return trouble(`'${name}' cannot be the name of a token`, 'use letters, digits and . _ @ + -, at most 100')
  if (TAKEN.has(nameKey(name)))
    return trouble(`'${name}' is a name of ours`, 'choose another: it stands on every entry')
  if (nameKey(name) === nameKey(owner))
    return trouble(`'${name}' is the name of the owner`, 'choose another: nobody could tell who wrote an entry')
  if (rest.role === 'admin' && rest.scope !== null)
    return trouble('an admin has no scope', 'choose another role, or leave out --plan and --session')
  await makeSecretFolder(serverFolder(stateDir))
  await makeSecretFolder(booksFolder(stateDir))
  if (readdirSync(booksFolder(stateDir)).length >= TOKENS_MAX)
    return trouble(`there are ${TOKENS_MAX} tokens already`, advise`revoke one: ${next('list-tokens')}`)
  const secret = newSecret(random)
  const token: Token = { name, ...rest, sha256: sha256Of(secret) }
  const text = `${JSON.stringify({ planfold: 1, ...token })}\n`
  return (await makeSecretFile(fileOf(stateDir, name), text))
    ? { ok: true, token, secret }
    : {
        ...trouble(
          `there is a token '${name}' already`,
          advise`choose another name, or first: ${next('revoke-token', { name })}`,
        ),
        exists: true,
      }
}

export const revokeToken = (stateDir: string, name: string): Promise<boolean> =>
  NAME.test(name) ? removeSecretFile(fileOf(stateDir, name)) : Promise.resolve(false)

/** All readable tokens, by name. A malformed file admits no caller. */
export function listTokens(stateDir: string): readonly Token[] {
  const folder = booksFolder(stateDir)
  let names: readonly string[]
  try {
    names = readdirSync(folder)
  } catch {
    return []
  }
  return names
    .filter(name => name.endsWith('.json') && !name.startsWith('.'))
    .sort()
    .slice(0, TOKENS_MAX)
    .flatMap(name => readToken(join(folder, name)) ?? [])
}

/** The owner's token and all others, read again when a file was added, removed or changed. */
export function openTokenBook(stateDir: string, owner: Actor, now: () => number): () => readonly Token[] {
  const places = [ownerTokenFile(stateDir), booksFolder(stateDir)]
  let known: { readonly mark: string; readonly tokens: readonly Token[] } | null = null
  let ofThisTurn: readonly Token[] | null = null
  const read = (): readonly Token[] => {
    let mark = ''
    let changedAt = 0
    for (const place of places) {
      const stat = look(place)
      mark += `${stat?.ino} ${stat?.mtimeMs} ${stat?.ctimeMs} `
      changedAt = Math.max(changedAt, stat?.ctimeMs ?? 0)
    }
    if (known?.mark === mark) return known.tokens
    // A token created under a previous owner could otherwise write in the present owner's name.
    const others = listTokens(stateDir).filter(({ name }) => nameKey(name) !== nameKey(owner))
    const tokens = [...ownToken(stateDir, owner), ...others]
    // Two changes within one tick of the file system's clock look the same, so a recent change is read again.
    known = now() - changedAt < RACY_MS ? null : { mark, tokens }
    return tokens
  }
  return () => {
    if (ofThisTurn !== null) return ofThisTurn
    // Checked at most once per turn of the event loop.
    setImmediate(() => {
      ofThisTurn = null
    })
    ofThisTurn = read()
    return ofThisTurn
  }
}

const RACY_MS = 100

/** Undefined also without read permission, which then means no tokens. */
function look(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

/** Ignored if missing or readable by others; the owner's token is then invalid. */
function ownToken(stateDir: string, name: Actor): readonly Token[] {
  const read = readSecretFileNow(ownerTokenFile(stateDir))
  if (!read.ok || !SECRET.test(read.text.trim())) return []
  const sha256 = sha256Of(read.text.trim())
  return [{ name, role: 'admin', sha256, scope: null, createdAt: 0, expiresAt: null }]
}

function readToken(path: string): Token | null {
  const value = readObject(path)
  if (value === null) return null
  const { planfold, name, role, sha256, createdAt, expiresAt, scope } = value
  if (planfold !== 1 || typeof name !== 'string' || !isActor(name)) return null
  if (typeof role !== 'string' || !Object.hasOwn(RIGHTS, role)) return null
  if (typeof sha256 !== 'string' || !isSha256(sha256) || typeof createdAt !== 'number') return null
  if (expiresAt !== null && typeof expiresAt !== 'number') return null
  const read = scopeOf(scope ?? null)
  return read === undefined ? null : { name, role: role as Role, sha256, scope: read, createdAt, expiresAt }
}

function readObject(path: string): JsonObject | null {
  const read = readSecretFileNow(path)
  if (!read.ok) return null
  try {
    const value = JSON.parse(read.text) as Json
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null
  } catch {
    return null
  }
}

function scopeOf(value: Json): Scope | null | undefined {
  if (value === null) return null
  if (typeof value !== 'object' || Array.isArray(value)) return undefined
  const { plans = [], sessions = [] } = value as JsonObject
  if (!isTexts(plans) || !isTexts(sessions) || !plans.every(isPlanId)) return undefined
  return { plans: plans as readonly PlanId[], sessions }
}

const isTexts = (value: Json): value is readonly string[] =>
  Array.isArray(value) && value.every(item => typeof item === 'string')

const trouble = (message: string, hint: Hint): BookTrouble => ({ ok: false, message, hint })
