// What browsers come in by, as files: codes that were made outside the service, by `planfold token link`, and sessions, so that they
// outlive a restart. One file each, readable by its owner alone, named by the hash of the secret: the secret itself is nowhere.
// Whoever removes the file of a code has used it, so it works once, however many services look.

import { createHash } from 'node:crypto'
import { readdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { isSha256 } from '../domain/id.ts'
import { makeSecretFile, makeSecretFolder, readSecretFileNow } from '../safety/secret-file.ts'
import { serverFolder } from './token-book.ts'

export interface HeldCode {
  /** The SHA-256 of the token whose holder is let in. */
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

/** Keeps a code for the services of this store; the old ones go. */
export const keepCode = (stateDir: string, code: string, held: HeldCode, now: number): Promise<void> =>
  keep(stateDir, 'codes', codeHash(code), held, now)

/** Null when there is none, or another was quicker. */
export function takeCode(stateDir: string, hash: string): HeldCode | null {
  const held = readHeld(stateDir, 'codes', hash)
  return held !== null && unlinkQuietly(join(folderOf(stateDir, 'codes'), hash)) ? held : null
}

/** The sessions of browsers, by the hash of their cookie. */
export interface SessionFiles {
  keep(hash: string, session: HeldCode): Promise<void>
  /** Null when there is none. It may be too old. */
  read(hash: string): HeldCode | null
  drop(hash: string): void
}

export const sessionFiles = (stateDir: string, now: () => number): SessionFiles => ({
  keep: (hash, session) => keep(stateDir, 'sessions', hash, session, now()),
  read: hash => readHeld(stateDir, 'sessions', hash),
  drop: hash => {
    if (isSha256(hash)) unlinkQuietly(join(folderOf(stateDir, 'sessions'), hash))
  },
})

async function keep(stateDir: string, kind: Kind, hash: string, held: HeldCode, now: number): Promise<void> {
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
  // With the new one there are no more than may be; those that end first make room.
  const surplus = Math.max(0, lasting.length + 1 - HELD_MAX)
  for (const { path } of lasting.sort((a, b) => a.until - b.until).slice(0, surplus)) unlinkQuietly(path)
  await makeSecretFile(join(folder, hash), `${JSON.stringify(held)}\n`)
}

const readHeld = (stateDir: string, kind: Kind, hash: string): HeldCode | null =>
  isSha256(hash) ? readFile(join(folderOf(stateDir, kind), hash)) : null

function readFile(path: string): HeldCode | null {
  const read = readSecretFileNow(path)
  if (!read.ok) return null
  try {
    const { token, until } = JSON.parse(read.text) as Partial<HeldCode>
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
