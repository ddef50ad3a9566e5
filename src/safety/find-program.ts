// Finds our own helpers (git, gh, sh, bwrap): an absolute path, never from a relative entry of PATH and never inside a folder that others
// may write. A repository that contains a program called `git` must not run it. Also the versions of programs.

import { execFile } from 'node:child_process'
import { lstatSync, readFileSync, renameSync, type Stats, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { mapOf, orElse } from '../domain/json.ts'
import type { Programs } from '../domain/result.ts'
import type { Variables } from './environment.ts'
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

const ASK_MAX_MS = 5_000

/** Null if it prints none. It is started in a folder where no file of a project chooses the version. */
export const programVersion = (program: string, { HOME, PATH }: Variables = {}): Promise<string | null> =>
  new Promise(answer =>
    execFile(program, ['--version'], { cwd: '/', env: { HOME, PATH }, timeout: ASK_MAX_MS }, (error, stdout) =>
      answer(error === null ? (/(\d+\.\d+(?:\.\d+)?)/.exec(stdout)?.[1] ?? null) : null),
    ),
  )

const USED = { node: ['node'], python: ['python3', 'python'], git: ['git'], sandbox: ['bwrap'] }

/**
 * The programs that commands find. A version is asked for once for each state of a file and kept in `cache`, because a wrapper script may
 * take 100 ms to print it. Without `asks`, no process is started.
 */
export function programsIn(environment: Variables, root: string, cache: string) {
  const search = { path: environment.PATH, outside: [root], usual: 'no' } as const
  const folders = (environment.PATH ?? '').split(':')
  let paths: readonly (readonly [string, string | null])[] = []
  let before: string | null = null
  let programs: Promise<Programs> = Promise.resolve({})
  const state = (): string => [...folders, ...paths.flatMap(([, path]) => path ?? [])].map(fileState).join('\n')
  return ({ asks }: { readonly asks: boolean }): Promise<Programs> => {
    // A search takes 2 ms, which a chain of short commands would feel.
    if (asks && state() === before) return programs
    paths = Object.entries(USED).map(([name, names]) => {
      const found = names.map(one => findProgram(one, search))
      return [name, found.find(path => path !== null) ?? null]
    })
    const found = versionsOf(paths, cache, async path => (asks ? await programVersion(path, environment) : null))
    if (asks) [before, programs] = [state(), found]
    return found
  }
}

/** A folder of PATH that this user may not look into is like one that is not there. */
function fileState(path: string): string {
  const found = orElse(() => statSync(path), null)
  return [path, found?.ino, found?.size, found?.mtimeMs].join(' ')
}

async function versionsOf(
  paths: readonly (readonly [string, string | null])[],
  cache: string,
  ask: (path: string) => Promise<string | null>,
): Promise<Programs> {
  const kept = mapOf(orElse(() => JSON.parse(readFileSync(cache, 'utf8')), null))
  const versions: { [state: string]: string } = {}
  const found = paths.map(async ([name, path]) => {
    if (path === null) return [name, null] as const
    const known = kept[fileState(path)]
    const version = typeof known === 'string' ? known : await ask(path)
    if (version !== null) versions[fileState(path)] = version
    return [name, { path, version }] as const
  })
  const programs = Object.fromEntries(await Promise.all(found))
  const write = (): void => {
    writeFileSync(`${cache}.${process.pid}`, JSON.stringify(versions), { mode: 0o600 })
    renameSync(`${cache}.${process.pid}`, cache)
  }
  // Where it cannot be written, versions are asked for again.
  if (Object.keys(versions).some(one => kept[one] !== versions[one])) orElse(write, null)
  return programs
}
