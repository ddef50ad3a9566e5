// Finds our own helpers (git, gh, sh, bwrap): an absolute path, never from a relative entry of PATH and never inside a folder that others
// may write. A repository that contains a program called `git` must not run it.

import { lstatSync, readFileSync, type Stats } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { orElse } from '../domain/json.ts'
import { isProgram } from './files/plain-file.ts'
import { realOrNull } from './files/real-path.ts'

const USUAL = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

export interface ProgramSearch {
  readonly path: string | undefined
  readonly outside: readonly string[]
  /** Also search the standard folders after PATH; default yes. */
  readonly usual?: 'no'
}

export function findProgram(name: string, options: ProgramSearch): string | null {
  const outside = options.outside.map(realOrSame)
  for (const folder of [...(options.path ?? '').split(':'), ...(options.usual === 'no' ? [] : USUAL)]) {
    if (!folder.startsWith('/')) continue
    const file = join(folder, name)
    const real = executable(file)
    if (real === null) continue
    if ([file, real, realOrSame(folder)].some(path => outside.some(held => isWithin(path, held)))) continue
    return file
  }
  return null
}

/** A PATH for helpers: absolute folders outside `outside`. Never empty, which would mean the working directory. */
export function helperPath(path: string | undefined, outside: readonly string[]): string {
  const held = outside.map(realOrSame)
  const folders = (path ?? '').split(':').filter(folder => {
    return folder.startsWith('/') && ![folder, realOrSame(folder)].some(place => held.some(one => isWithin(place, one)))
  })
  return (folders.length === 0 ? USUAL : folders).join(':')
}

/** The folder, every repository around it, and the repository of its worktree; not those that contain the user's home. */
export function foreignFolders(folder: string, home: string | undefined): readonly string[] {
  const real = realOrSame(folder)
  const own = home === undefined ? null : realOrSame(home)
  const found = new Set([real])
  for (let at = real; ; at = dirname(at)) {
    const git = lookAt(join(at, '.git'))
    if (git !== null) {
      found.add(at)
      if (git.isFile()) found.add(repositoryOf(at))
    }
    if (at === dirname(at)) break
  }
  // Everything is inside the root folder, so that would exclude every program.
  return [...found].filter(each => each !== '/' && (each === real || own === null || !isWithin(own, each)))
}

const lookAt = (path: string): Stats | null => orElse(() => lstatSync(path), null)

/** The repository of a worktree, from its `.git` file; the worktree itself if that names none. */
function repositoryOf(worktree: string): string {
  try {
    const named = /^gitdir: (.+)$/m.exec(readFileSync(join(worktree, '.git'), 'utf8').slice(0, 4_096))?.[1]
    const at = named === undefined ? -1 : resolve(worktree, named).indexOf('/.git/worktrees/')
    return named === undefined || at <= 0 ? worktree : realOrSame(resolve(worktree, named).slice(0, at))
  } catch {
    return worktree
  }
}

export const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)

const executable = (file: string): string | null => (isProgram(file) ? realOrNull(file) : null)

export const realOrSame = (path: string): string => realOrNull(path) ?? path
