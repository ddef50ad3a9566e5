// Where a write scope really lies: links in its patterns are followed, so that a folder and a link to it are known to be the same
// files. Only what stands before the first wildcard can be followed.

import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Reserves } from '../domain/result.ts'

const LINKS_MAX = 40

/** The patterns as they are declared, and by their real paths where these differ. */
export function realScope(
  { root, stateDir }: { readonly root: string; readonly stateDir: string },
  patterns: readonly string[],
): Pick<Reserves, 'root' | 'paths'> {
  const realRoot = realPath(root)
  const paths = new Set<string>()
  for (const pattern of patterns) {
    paths.add(pattern)
    const parts = pattern.split('/')
    const wild = parts.findIndex(part => /[*?[]/.test(part))
    const literal = parts.slice(0, wild < 0 ? parts.length : wild).filter(part => part !== '' && part !== '.')
    const rest = wild < 0 ? (pattern.endsWith('/') ? ['**'] : []) : parts.slice(wild)
    const real = realPath(join(realRoot, ...literal))
    const inside = relative(realRoot, real)
    const isOutside = inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)
    const path = [...(isOutside ? real : inside).split(sep), ...rest].join('/')
    // The whole folder is no pattern by itself.
    const whole = path === '' ? '**' : path
    if (inside !== literal.join(sep)) paths.add(whole)
  }
  // Relative, so that a project that is moved together with its state folder keeps what it reserved.
  return { root: relative(realPath(stateDir), realRoot) || '.', paths: [...paths] }
}

/** As far as it exists, without links; what does not exist yet is taken by its name. */
export function realPath(path: string): string {
  let rest = resolve(path)
    .split(sep)
    .filter(part => part !== '')
  let real: string = sep
  for (let links = 0; rest.length > 0; ) {
    const [part, ...more] = rest as [string, ...string[]]
    const next = join(real, part)
    const target = links < LINKS_MAX ? linkAt(next) : null
    if (target === null) {
      real = next
      rest = more
      continue
    }
    links++
    const to = resolve(dirname(next), target)
      .split(sep)
      .filter(one => one !== '')
    real = sep
    rest = [...to, ...more]
  }
  return real
}

function linkAt(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null
  } catch {
    return null
  }
}
