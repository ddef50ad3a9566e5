// Codes that were made outside the service, by `planfold token link`: one file each, named by the hash of the code. Whoever removes
// the file has used the code, so it works once, however many services look.

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
const CODES_MAX = 1_000
const folderOf = (stateDir: string): string => join(serverFolder(stateDir), 'codes')

export const newCode = (random: (bytes: number) => Uint8Array): string =>
  Buffer.from(random(CODE_BYTES)).toString('base64url')
export const codeHash = (code: string): string => createHash('sha256').update(code).digest('hex')

/** Keeps a code for the services of this store; the old ones go. */
export async function keepCode(stateDir: string, code: string, held: HeldCode, now: number): Promise<void> {
  await makeSecretFolder(serverFolder(stateDir))
  const folder = folderOf(stateDir)
  await makeSecretFolder(folder)
  const names = readdirSync(folder)
  for (const name of names) {
    const known = names.length > CODES_MAX ? null : readCode(join(folder, name))
    if (known === null || known.until <= now) unlinkQuietly(join(folder, name))
  }
  await makeSecretFile(join(folder, codeHash(code)), `${JSON.stringify(held)}\n`)
}

/** Null when there is none, or another was quicker. */
export function takeCode(stateDir: string, hash: string): HeldCode | null {
  if (!isSha256(hash)) return null
  const path = join(folderOf(stateDir), hash)
  const held = readCode(path)
  return held !== null && unlinkQuietly(path) ? held : null
}

function readCode(path: string): HeldCode | null {
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
