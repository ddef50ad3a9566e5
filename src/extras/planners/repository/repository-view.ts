// The files of a workspace and their history, for a planner: read-only, bounded, without running anything but git.

import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as pause } from 'node:timers/promises'
import { Refused } from '../../../safety/safety-refusal.ts'
import { Repository, type RepositoryOptions } from '../../../workspace/git/repository.ts'
import { fields } from '../../../workspace/git/run-git.ts'
import type { PastChange, RepositoryFile, RepositoryState, RepositoryView } from '../planner.ts'
import { findProgram, pythonPackages } from './installed-programs.ts'
import { partsOf, type WorkspaceParts } from './workspace-parts.ts'

export { COPY_MAX_BYTES } from './workspace-parts.ts'

const FILES_MAX = 100_000
const FILE_MAX_BYTES = 200_000
const COMMITS_MAX = 2_000
const MANY_FILES = 5_000
const COMMITS_OF_MANY_MAX = 300
const HISTORY_MAX_MS = 5_000
const HISTORY_MAX_BYTES = 16 * 1024 * 1024
const MESSAGE_MAX = 1_000
const CHUNK = 500

export function openRepositoryView(options: RepositoryOptions): RepositoryView {
  const { root, environment } = options
  const opened = once(async () => await unlessRefused(() => Repository.open(options)))
  const files = once(async () => await listFiles(root, await opened()))
  return {
    files,
    read: async paths => {
      const texts: (string | null)[] = []
      for (const [index, path] of paths.entries()) {
        if (index % CHUNK === CHUNK - 1) await pause()
        texts.push(readText(join(root, path)))
      }
      return texts
    },
    history: once(async () => {
      const repository = await opened()
      if (repository === null) return []
      return await historyOf(repository, root, (await files()).length > MANY_FILES ? COMMITS_OF_MANY_MAX : COMMITS_MAX)
    }),
    findProgram: async (name, folder) => findProgram({ root, environment }, name, folder),
    pythonPackages: async () => pythonPackages({ root, environment }),
    changedAt: async paths => paths.map(path => changedAt(join(root, path))),
    state: async () => {
      const repository = await opened()
      return repository === null ? null : await unlessRefused(() => stateOf(repository, root))
    },
  }
}

/** For a copy of the workspace; null when it is too large. */
export async function workspaceParts(
  options: RepositoryOptions & { readonly stateDir: string },
): Promise<WorkspaceParts | null> {
  const repository = await unlessRefused(() => Repository.open(options))
  return await unlessRefused(() => partsOf(options, repository, () => listFiles(options.root, repository)))
}

async function stateOf(repository: Repository, root: string): Promise<RepositoryState> {
  const args = ['status', '--porcelain=v2', '--branch', '--no-ahead-behind', '-z', '--no-renames']
  const lines = fields(await repository.git(args, { cwd: root, cutOff: 'keep' }))
  const field = (word: string) => lines.find(line => line.startsWith(`# branch.${word} `))?.slice(word.length + 10)
  const [commit, branch] = [field('oid'), field('head')]
  const changed = lines.filter(line => !line.startsWith('# '))
  return {
    commit: commit === undefined || commit === '(initial)' ? null : commit,
    branch: branch === undefined || branch === '(detached)' ? null : Buffer.from(branch, 'latin1').toString('utf8'),
    changedFiles: changed.length,
    changed: changed.map(pathOf).slice(0, CHANGED_MAX),
  }
}

const CHANGED_MAX = 200

/** The path comes after eight fields, that of a new file after one. */
const pathOf = (line: string): string =>
  Buffer.from(line.replace(/^(?:1(?: \S+){7}|u(?: \S+){9}|[?!]) /, ''), 'latin1').toString('utf8')

async function listFiles(root: string, repository: Repository | null): Promise<readonly RepositoryFile[]> {
  const paths = repository === null ? walk(root) : await trackedFiles(repository, root)
  const found: RepositoryFile[] = []
  for (const [index, path] of paths.slice(0, FILES_MAX).entries()) {
    if (index % CHUNK === CHUNK - 1) await pause()
    const stat = lstatSync(join(root, path), { throwIfNoEntry: false })
    if (stat?.isFile() === true) found.push({ path, bytes: stat.size })
  }
  return found
}

async function trackedFiles(repository: Repository, root: string): Promise<readonly string[]> {
  const listed = await repository.git(['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  const names = new Set(fields(listed).map(name => Buffer.from(name, 'latin1').toString('utf8')))
  return [...names].filter(name => !name.startsWith('.planfold/')).sort()
}

/** Without a repository there are no ignore rules; these folders hold nothing that a person wrote. */
const LEFT_OUT = /^(node_modules|\.git|\.planfold|\.venv|venv|__pycache__|target|dist|build|\.tox|\.cache)$/

function walk(root: string, prefix = '', found: string[] = []): readonly string[] {
  for (const entry of readdirSync(join(root, prefix), { withFileTypes: true })) {
    if (found.length >= FILES_MAX) break
    const path = prefix === '' ? entry.name : `${prefix}/${entry.name}`
    if (entry.isDirectory() && !LEFT_OUT.test(entry.name)) walk(root, path, found)
    else if (entry.isFile()) found.push(path)
  }
  return found
}

function readText(path: string): string | null {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
  try {
    const stat = fstatSync(file)
    if (!stat.isFile()) return null
    const bytes = Buffer.allocUnsafe(Math.min(stat.size, FILE_MAX_BYTES))
    const length = readSync(file, bytes, 0, bytes.length, 0)
    const read = bytes.subarray(0, length)
    return read.subarray(0, 1_000).includes(0) ? null : read.toString('utf8')
  } finally {
    closeSync(file)
  }
}

function changedAt(path: string): number | null {
  try {
    return lstatSync(path).mtimeMs
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

const isMissing = (error: unknown): boolean =>
  ['ENOENT', 'EACCES', 'ELOOP', 'ENOTDIR', 'ENXIO'].includes((error as NodeJS.ErrnoException).code ?? '')

async function historyOf(repository: Repository, root: string, max: number): Promise<readonly PastChange[]> {
  const args = ['log', '--no-merges', `--max-count=${max}`, '--format=%x00%B%x01', '--name-only', '--relative', 'HEAD']
  const output = await unlessRefused(() =>
    repository.git(args, {
      cwd: root,
      codes: [0, 128],
      cutOff: 'keep',
      timeoutMs: HISTORY_MAX_MS,
      outputMaxBytes: HISTORY_MAX_BYTES,
    }),
  )
  if (output === null || output.code !== 0) return []
  return output.stdout
    .toString('utf8')
    .split('\0')
    .slice(1)
    .map(block => {
      const [message = '', files = ''] = block.split('\x01')
      return { message: message.slice(0, MESSAGE_MAX), files: files.split('\n').filter(name => name !== '') }
    })
}

async function unlessRefused<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refused) return null
    throw error
  }
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null
  return () => {
    made ??= make()
    return made
  }
}
