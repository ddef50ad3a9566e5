// Files with secrets: created for their owner only, refused if others can read them.

import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { chmod, link, lstat, open, realpath, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { numberOf } from '../../domain/phrases.ts'
import { codeOf } from '../safety-refusal.ts'
import { makeFolder } from './directory.ts'
import { isInside } from './private-file.ts'

// Reads and creates such files. The checked file is the one that is read. Links are not followed, and a file that others can read is
// refused, because its secret may be known already.

type SecretRead =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly missing: true; readonly message: string; readonly hint: string }
  | { readonly ok: false; readonly missing: false; readonly message: string; readonly hint: string }

const SECRET_MAX_BYTES = 64 * 1024
const OTHERS = 0o077
const PRIVATE_FOLDER = 0o700
const PRIVATE_FILE = 0o600

/** Synchronous, because a request to the service waits for it. */
export function readSecretFileNow(path: string): SecretRead {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (codeOf(error) === 'ENOENT')
      return { ok: false, missing: true, message: `there is no '${path}'`, hint: 'it is made when the service starts' }
    const isLink = codeOf(error) === 'ELOOP'
    return unusable(isLink ? `'${path}' is a symbolic link` : `'${path}' cannot be read`, `look at it: ls -l ${path}`)
  }
  try {
    const stat = fstatSync(file)
    if (!stat.isFile() || stat.size > SECRET_MAX_BYTES)
      return unusable(`'${path}' is not a file that Planfold wrote`, 'move it away')
    if (typeof process.getuid === 'function' && stat.uid !== process.getuid())
      return unusable(`'${path}' belongs to somebody else`, 'move it away; a new one is made')
    if ((stat.mode & OTHERS) !== 0)
      return unusable(
        `'${path}' may be read or changed by others (mode ${(stat.mode & 0o777).toString(8)})`,
        `whoever read it has the secret: remove it (a new one is made), or if nobody did: chmod 600 ${path}`,
      )
    return { ok: true, text: readFileSync(file, 'utf8') }
  } finally {
    closeSync(file)
  }
}

/** False when the file exists already; it is never overwritten. Durable and complete, or not created. */
export async function makeSecretFile(path: string, text: string): Promise<boolean> {
  const folder = dirname(path)
  const temporary = join(folder, `.planfold-${process.pid}-${++made}.tmp`)
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, PRIVATE_FILE)
  try {
    await file.chmod(PRIVATE_FILE)
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  try {
    await link(temporary, path)
    await syncFolder(folder)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  } finally {
    await unlink(temporary)
  }
}

let made = 0

export async function removeSecretFile(path: string): Promise<boolean> {
  try {
    await unlink(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
  await syncFolder(dirname(path))
  return true
}

/** An existing folder with wider permissions is narrowed; a link is refused. */
export async function makeSecretFolder(path: string): Promise<void> {
  makeFolder(path, PRIVATE_FOLDER)
  const stat = await lstat(path)
  if (!stat.isDirectory())
    throw Object.assign(new Error(`'${path}' is not a folder`), { code: 'ENOTDIR', syscall: 'lstat' })
  if ((stat.mode & OTHERS) !== 0) await chmod(path, PRIVATE_FOLDER)
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await folder.sync().catch(() => {})
  } finally {
    await folder.close()
  }
}

const unusable = (message: string, hint: string): SecretRead => ({ ok: false, missing: false, message, hint })

// The key of seals. A key beside the sealed data, or readable by others, proves nothing, so such a file is refused. So is one in the
// workspace, because snapshots would copy it into the state folder.

type KeyRead =
  | { readonly ok: true; readonly key: Uint8Array }
  | { readonly ok: false; readonly message: string; readonly hint: string }

const KEY_MIN_BYTES = 16
const KEY_MAX_BYTES = 64 * 1024
const MAKE_ONE = 'make one: (umask 077; head -c 32 /dev/urandom > FILE), on a place of its own'

export async function readKeyFile(
  path: string,
  outside: readonly { readonly folder: string; readonly is: string }[],
): Promise<KeyRead> {
  let real: string
  try {
    real = await realpath(path)
  } catch {
    return { ok: false, message: `there is no key file '${path}'`, hint: MAKE_ONE }
  }
  for (const { folder, is } of outside) {
    if (isInside(real, await realpath(folder).catch(() => folder)))
      return {
        ok: false,
        message: `the key file '${path}' is in ${is}`,
        hint: 'somebody who can change the event log could read it there: keep it somewhere else',
      }
  }
  // Checks and reads the same open file.
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null)
  if (file === null)
    return { ok: false, message: `the key file '${path}' cannot be read`, hint: 'check who may read it' }
  try {
    const stat = await file.stat()
    if (!stat.isFile()) return { ok: false, message: `'${path}' is not a file`, hint: MAKE_ONE }
    if ((stat.mode & OTHERS) !== 0)
      return {
        ok: false,
        message: `the key file '${path}' may be read or changed by others (mode ${(stat.mode & 0o777).toString(8)})`,
        hint: `keep it to yourself: chmod 600 ${path}`,
      }
    if (stat.size < KEY_MIN_BYTES || stat.size > KEY_MAX_BYTES)
      return {
        ok: false,
        message: `the key file '${path}' has ${numberOf(stat.size, 'byte')}; a key has ${KEY_MIN_BYTES} to ${KEY_MAX_BYTES}`,
        hint: MAKE_ONE,
      }
    return { ok: true, key: await file.readFile() }
  } finally {
    await file.close()
  }
}
