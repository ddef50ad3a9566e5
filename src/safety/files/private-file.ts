// Settings of the user: files outside the workspace that only their owner may read or change, so that no task can change what the user has
// allowed.

import { constants } from 'node:fs'
import { mkdir, open, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'
import { codeOf, ignoring, refuse } from '../safety-refusal.ts'

export type Outside = readonly { readonly folder: string; readonly is: string }[]

/** A file in the folder `planfold` of the user's settings; null when there is no such folder. */
export function settingsFile(
  { XDG_CONFIG_HOME, HOME }: { readonly [name: string]: string | undefined },
  name: string,
): string | null {
  if (XDG_CONFIG_HOME?.startsWith('/') === true) return join(XDG_CONFIG_HOME, 'planfold', name)
  return HOME?.startsWith('/') === true ? join(HOME, '.config', 'planfold', name) : null
}

type PrivateRead =
  | { readonly ok: true; readonly value: string }
  | {
      readonly ok: false
      readonly missing: boolean
      readonly fault: { readonly message: string; readonly hint: string }
    }

const FILE_MAX_BYTES = 1024 * 1024

/** Checks and reads the same open file. `elsewhere`: the hint for a file in one of the folders `outside`. */
export async function readPrivateFile(
  path: string,
  { what, outside, elsewhere }: { readonly what: string; readonly outside: Outside; readonly elsewhere: string },
): Promise<PrivateRead> {
  const no = (message: string, hint: string, missing = false): PrivateRead => ({
    ok: false,
    missing,
    fault: { message, hint },
  })
  let real: string
  try {
    real = await realpath(path)
  } catch (error) {
    return no(
      `${what} '${path}' cannot be found`,
      'write the path of a file that is there',
      codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR',
    )
  }
  for (const { folder, is } of outside)
    if (isInside(real, await realpath(folder).catch(() => folder)))
      return no(`${what} '${path}' is in ${is}, and is not used`, elsewhere)
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null)
  if (file === null) return no(`${what} '${path}' cannot be read`, `look at it: ls -l ${path}`)
  try {
    const stat = await file.stat()
    if (!stat.isFile() || stat.size > FILE_MAX_BYTES) return no(`'${path}' is not a settings file`, 'move it away')
    if (typeof process.getuid === 'function' && stat.uid !== process.getuid())
      return no(`${what} '${path}' belongs to somebody else`, 'make one of your own')
    if ((stat.mode & 0o077) !== 0)
      return no(
        `${what} '${path}' may be read or changed by others (mode ${(stat.mode & 0o777).toString(8)})`,
        `keep it to yourself: chmod 600 ${path}`,
      )
    return { ok: true, value: await file.readFile('utf8') }
  } finally {
    await file.close()
  }
}

export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/** Atomic and with owner-only permissions. A symbolic link to the file stays. */
export async function writePrivateFile(
  file: string,
  text: string,
  { outside, elsewhere }: { readonly outside: Outside; readonly elsewhere: string },
): Promise<void> {
  const demandOutside = async (path: string): Promise<void> => {
    for (const { folder, is } of outside)
      if (isInside(path, folder) || isInside(path, await realpath(folder).catch(() => folder)))
        refuse('policy', `the file '${file}' is in ${is}, and is not used`, elsewhere)
  }
  await demandOutside(file)
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const real = (await ignoring(['ENOENT'], () => realpath(file))) ?? join(await realpath(dirname(file)), basename(file))
  await demandOutside(real)
  const temporary = `${real}.${process.pid}.tmp`
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  await rm(temporary, { force: true })
  const handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  try {
    await handle.chmod(0o600)
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(temporary, real)
}
