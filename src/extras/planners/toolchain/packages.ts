// The packages of a repository: which one contains a file, and how to run a command for it from the top.

import { posix } from 'node:path'
import { shellQuoted } from '../../../domain/plan-rules/shell-words.ts'

const MANIFEST =
  /(^|\/)(package\.json|deno\.jsonc?|pyproject\.toml|setup\.py|go\.mod|Cargo\.toml|pom\.xml|build\.gradle(\.kts)?|composer\.json|mix\.exs|[\w-]+\.(gemspec|csproj))$/

/** Folders with a manifest, with a trailing slash; the top is empty. */
export const packageFolders = (paths: readonly string[]): ReadonlySet<string> =>
  new Set(paths.filter(path => MANIFEST.test(path)).map(path => path.slice(0, path.lastIndexOf('/') + 1)))

/** The packages around a file, nearest first, and the top. */
export function packagesAround(path: string, folders: ReadonlySet<string>): readonly string[] {
  const parts = path.split('/').slice(0, -1)
  const around = parts.map((_, at) => `${parts.slice(0, parts.length - at).join('/')}/`)
  return [...around.filter(folder => folders.has(folder)), '']
}

/** Adds the program's own option for the working folder. */
export function inFolder(run: readonly string[], folder: string): readonly string[] {
  const path = folder.replace(/\/$/, '')
  if (path === '') return run
  const [program = '', second = '', ...rest] = run
  switch (program) {
    case 'npm':
      return [program, '--prefix', path, second, ...rest]
    case 'yarn':
      return [program, '--cwd', path, second, ...rest]
    case 'make':
    case 'pnpm':
    case 'poetry':
      return [program, '-C', path, second, ...rest]
    case 'composer':
      return [program, '-d', path, second, ...rest]
    case 'go':
      return [program, second, '-C', path, ...rest]
    case 'cargo':
      return [program, second, '--manifest-path', `${path}/Cargo.toml`, ...rest]
    case 'uv':
      return second === 'run' ? [program, second, '--directory', path, ...rest] : inShell(run, path)
    default:
      return inShell(run, path)
  }
}

const inShell = (run: readonly string[], path: string): readonly string[] => [
  'sh',
  '-c',
  `cd ${shellQuoted(path)} && ${run.map(shellQuoted).join(' ')}`,
]

/** Runs commands in sequence until one fails. */
export const allOf = (commands: readonly (readonly string[])[]): readonly string[] =>
  commands.length === 1 ? commands[0]! : ['sh', '-c', commands.map(run => run.map(shellQuoted).join(' ')).join(' && ')]

export const seenFrom = (folder: string, path: string): string => posix.relative(folder, path) || '.'
