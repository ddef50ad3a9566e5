// The parts of a copy of the workspace: files that git tracks or would add, and small ignored ones. Dependencies and large folders are
// shared read-only instead.

import { createHash } from 'node:crypto'
import { type BigIntStats, type Dirent, lstatSync, readdirSync, realpathSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setImmediate as pause } from 'node:timers/promises'
import { isInside } from '../../../safety/files/private-file.ts'
import type { Repository } from '../../../workspace/git/repository.ts'
import { fields } from '../../../workspace/git/run-git.ts'

export interface WorkspaceParts {
  /** Files, links, and whole ignored folders; relative to the workspace. */
  readonly copied: readonly string[]
  readonly shared: readonly string[]
  /** Equal while no file has changed. */
  readonly mark: string
}

const FILES_MAX = 50_000
export const COPY_MAX_BYTES = 512 * 1024 ** 2
const IGNORED_ENTRIES_MAX = 2_000
const IGNORED_BYTES_MAX = 32 * 1024 ** 2
const SHARED_MAX = 1_000
const CHUNK = 500

/** `files`: the known files of a folder without a repository. Null: too large to copy. */
export async function partsOf(
  place: { readonly root: string; readonly stateDir: string },
  repository: Repository | null,
  files: () => Promise<readonly { readonly path: string }[]>,
): Promise<WorkspaceParts | null> {
  const root = realpathSync(place.root)
  const state = relative(root, place.stateDir)
  const isState = (path: string): boolean => isInside(state, path) || isInside(path, state)
  const listed = async (...which: readonly string[]): Promise<readonly string[]> =>
    fields(await repository!.git(['ls-files', '-z', ...which, '--exclude-standard'], { cwd: root })).map(name =>
      Buffer.from(name, 'latin1').toString('utf8'),
    )
  const own = repository === null ? (await files()).map(({ path }) => path) : await listed('--cached', '--others')
  const beside =
    repository === null
      ? topFolders(root, own)
      : await listed('--others', '--ignored', '--directory', '--no-empty-directory')
  const copied: string[] = []
  const shared: string[] = []
  const sum = createHash('sha256')
  let bytes = 0
  const known = (path: string): BigIntStats | null => {
    const stat = statOf(join(root, path))
    if (stat !== null) sum.update(`${path}\0${stat.mode}\0${stat.size}\0${stat.mtimeNs}\0`)
    return stat
  }
  for (const [index, path] of [...new Set(own)].entries()) {
    if (index % CHUNK === CHUNK - 1) await pause()
    if (isState(path)) continue
    const stat = known(path)
    // A nested repository.
    if (stat?.isDirectory()) shared.push(path)
    else if (stat?.isFile() || stat?.isSymbolicLink()) {
      copied.push(path)
      bytes += Number(stat.size)
    }
    if (bytes > COPY_MAX_BYTES / 2 || copied.length > FILES_MAX) return null
  }
  for (const path of beside.map(one => one.replace(/\/$/, ''))) {
    if (isState(path) || shared.length > SHARED_MAX) continue
    const stat = known(path)
    const name = path.split('/').at(-1)!
    if (stat?.isDirectory() && name === 'node_modules') shareModules(root, path, { shared, copied })
    else if (stat?.isDirectory() && REBUILT.has(name)) continue
    else if (stat?.isDirectory() && (SHARED.has(name) || !isSmall(join(root, path)))) shared.push(path)
    else if (stat?.isDirectory() || stat?.isFile() || stat?.isSymbolicLink()) copied.push(path)
  }
  const git = known('.git')
  if (git !== null) (git.isDirectory() ? shared : copied).push('.git')
  return { copied, shared, mark: sum.digest('hex') }
}

/** Read by programs, not written. */
const SHARED = new Set([
  '.venv',
  'venv',
  'vendor',
  '.bundle',
  '.tox',
  '.nox',
  '.yarn',
  'Pods',
  'bower_components',
  'elm-stuff',
])
/** Too large to copy, useless if read-only, and rebuilt when missing. */
const REBUILT = new Set(['target', '.gradle', '__pycache__'])

/** Each package separately, so that tools can write caches beside them. */
function shareModules(
  root: string,
  path: string,
  { shared, copied }: { readonly shared: string[]; readonly copied: string[] },
): void {
  const entries = entriesOf(join(root, path))
  if (entries === null || shared.length + entries.length > SHARED_MAX) return void shared.push(path)
  for (const entry of entries) {
    const below = `${path}/${entry.name}`
    if (entry.isSymbolicLink() || entry.isFile()) copied.push(below)
    else if (entry.isDirectory() && !['.cache', '.vite', '.vite-temp'].includes(entry.name)) shared.push(below)
  }
}

function isSmall(folder: string): boolean {
  let entries = 0
  let bytes = 0
  const look = (at: string): boolean => {
    const found = entriesOf(at)
    if (found === null) return false
    for (const entry of found) {
      const path = join(at, entry.name)
      if (++entries > IGNORED_ENTRIES_MAX) return false
      if (entry.isFile()) bytes += Number(statOf(path)?.size ?? 0)
      if (bytes > IGNORED_BYTES_MAX || (entry.isDirectory() && !look(path))) return false
    }
    return true
  }
  return look(folder)
}

function statOf(path: string): BigIntStats | null {
  try {
    return lstatSync(path, { bigint: true })
  } catch {
    return null
  }
}

function entriesOf(folder: string): readonly Dirent[] | null {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return null
  }
}

/** Without a repository: the top-level folders without a known file. */
function topFolders(root: string, files: readonly string[]): readonly string[] {
  const known = new Set(files.map(path => path.split('/')[0]))
  return readdirSync(root, { withFileTypes: true })
    .filter(entry => entry.isDirectory() && entry.name !== '.git' && !known.has(entry.name))
    .map(({ name }) => name)
}
