// The target of a path. Follows links like the operating system, including a link to a missing file, because writing through it creates
// that file.

import { realpathSync } from 'node:fs'
import { readlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { orElse } from '../../domain/json.ts'
import { ignoring } from '../safety-refusal.ts'

const LINKS_MAX = 40

/** Of an absolute path; missing components stay as written. Null for a cycle of links. */
export async function realTarget(path: string): Promise<string | null> {
  let here = '/'
  let links = 0
  const left = path.split('/').reverse()
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (name === '' || name === '.') continue
    if (name === '..') {
      here = dirname(here)
      continue
    }
    const there = join(here, name)
    const target = await ignoring(NO_LINK, () => readlink(there))
    if (target === null) here = there
    else if (++links > LINKS_MAX) return null
    else {
      if (target.startsWith('/')) here = '/'
      left.push(...target.split('/').reverse())
    }
  }
  return here
}

const NO_LINK = ['EINVAL', 'ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'EACCES']

export const realOrNull = (path: string): string | null => orElse(() => realpathSync(path), null)
