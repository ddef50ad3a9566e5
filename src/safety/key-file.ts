// The file that holds the key of seals. A key that lies beside what it seals, or that anybody may read, proves nothing: such a file
// is refused. What lies in the workspace is refused too, because snapshots would carry it into the state folder.

import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { isAbsolute, relative, sep } from 'node:path'
import { numberOf } from '../domain/number-of.ts'

export type KeyRead =
  | { readonly ok: true; readonly key: Uint8Array }
  | { readonly ok: false; readonly message: string; readonly hint: string }

const KEY_MIN_BYTES = 16
const KEY_MAX_BYTES = 64 * 1024
const OTHERS = 0o077
const MAKE_ONE = 'make one: (umask 077; head -c 32 /dev/urandom > FILE), on a place of its own'

/** `outside`: the folders it may not lie in, and what they are. */
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
        message: `the key file '${path}' lies in ${is}`,
        hint: 'whoever can change the journal could read it there: keep it somewhere else',
      }
  }
  // What is looked at is what is read: the same open file.
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null)
  if (file === null)
    return { ok: false, message: `the key file '${path}' cannot be read`, hint: 'check who may read it' }
  try {
    const stat = await file.stat()
    if (!stat.isFile()) return { ok: false, message: `'${path}' is no file`, hint: MAKE_ONE }
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

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}
