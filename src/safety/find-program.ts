// Where one of our own helpers (git, gh, sh, bwrap) is: an absolute file, never found through a relative entry of PATH and never
// inside a folder that others may fill. A repository with a program called `git` in it must not be asked for its status.

import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'

const USUAL = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

/** The first executable file of that name; null when there is none. `outside`: folders it must not be in, however it is reached. */
export function findProgram(
  name: string,
  options: { readonly path: string | undefined; readonly outside: readonly string[] },
): string | null {
  const outside = options.outside.map(realOrSame)
  for (const folder of [...(options.path ?? '').split(':'), ...USUAL]) {
    if (!folder.startsWith('/')) continue
    const file = join(folder, name)
    const real = executable(file)
    if (real === null) continue
    if ([file, real, realOrSame(folder)].some(path => outside.some(held => isWithin(path, held)))) continue
    return file
  }
  return null
}

/** Is it this folder, or below it? Both absolute and without links. */
export const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)

/** The real path of an executable regular file; null when it is none. */
function executable(file: string): string | null {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile() ? realpathSync(file) : null
  } catch {
    return null
  }
}

export function realOrSame(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
