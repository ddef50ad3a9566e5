// Builds a tree from paths and contents in a separate index. Git converts line ends and encodings by attributes; a filter with a command
// never runs, so a path that needs one is refused.

import { lstat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fold } from '../../safety/files/protected-path.ts'
import { ignoring, refuse } from '../../safety/safety-refusal.ts'
import { pathBytes, pathText } from '../files/path-text.ts'
import { type BytePath, bytesOf } from '../snapshots/manifest.ts'
import type { Oid, PathContent } from './git.ts'
import type { Repository } from './repository.ts'
import { fields, type GitOutput } from './run-git.ts'

export interface TreeChange {
  readonly path: BytePath
  readonly mode: string
  /** All zeros for a removed path. */
  readonly oid: Oid
}

export interface BuiltTree {
  readonly tree: Oid
  readonly changes: readonly TreeChange[]
  readonly left: readonly string[]
}

export async function buildTree(
  repository: Repository,
  tip: Oid,
  paths: ReadonlyMap<string, PathContent>,
  options: { readonly ignored: 'commit' | 'leave' },
): Promise<BuiltTree> {
  const wanted = new Map([...paths].map(([path, content]) => [repositoryPath(repository, path), content]))
  return await repository.inScratch(async folder => {
    const env = { GIT_INDEX_FILE: join(folder, 'index') }
    await repository.git(['read-tree', '--no-sparse-checkout', tip], { env })
    const left = options.ignored === 'leave' ? await ignoredPaths(repository, [...wanted.keys()], env) : []
    for (const path of left) wanted.delete(path)
    const special = await attributesOf(repository, [...wanted.keys()])
    const { files, gone } = await sorted(repository, wanted)
    const given = await storeBytes(repository, folder, wanted, special)
    const zero = '0'.repeat(tip.length)
    const entries = [...given, ...gone.map(path => ({ path, mode: '0', oid: zero }))]
    if (entries.length > 0) {
      await repository.git(['update-index', '-z', '--index-info'], { env, stdin: indexInfo(entries) })
    }
    if (files.length > 0) {
      const args = ['update-index', '--add', '--remove', '--replace', '-z', '--stdin']
      await repository.git(args, { env, stdin: joined(files) })
    }
    const tree = await repository.line(['write-tree'], { env })
    const found = await changesBetween(repository, tip, tree)
    const strays = found.filter(({ path }) => !wanted.has(path)).map(({ path }) => pathText(path))
    if (strays.length > 0) {
      const hint = 'name them too if they may go, or choose another path'
      refuse('policy', `the commit would also take away ${listed(strays)}, which were not named`, hint)
    }
    return { tree, changes: found, left: left.map(pathText) }
  })
}

/** The ignored ones; a path in the index is never ignored. */
async function ignoredPaths(
  repository: Repository,
  paths: readonly BytePath[],
  env: { readonly [name: string]: string },
): Promise<readonly BytePath[]> {
  if (paths.length === 0) return []
  // check-ignore has no literal paths; `./` protects a name that begins with a colon.
  const stdin = joined(paths.map(path => `./${path}`))
  const args = ['--no-literal-pathspecs', 'check-ignore', '-z', '--stdin']
  return fields(await repository.git(args, { env, stdin, codes: [0, 1] })).map(path => path.slice(2))
}

export async function changesBetween(repository: Repository, from: Oid, to: Oid): Promise<readonly TreeChange[]> {
  return changes(await repository.git(['diff-tree', '-r', ...RAW, from, to]))
}

/** The differences between the index of a working tree and a commit. Read-only: `write-tree` would rewrite the index. */
export async function indexChanges(repository: Repository, place: string, commit: Oid): Promise<readonly TreeChange[]> {
  return changes(await repository.git(['diff-index', '--cached', ...RAW, commit, '--'], { cwd: place }))
}

const RAW = [
  '-z',
  '--raw',
  '--no-renames',
  '--no-ext-diff',
  '--no-textconv',
  '--full-index',
  '--ignore-submodules=none',
]

function changes(output: GitOutput): readonly TreeChange[] {
  const flat = fields(output)
  const found: TreeChange[] = []
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const [, mode = '', , oid = ''] = flat[at]!.split(' ')
    found.push({ path: flat[at + 1]!, mode: mode === '000000' ? '0' : mode, oid })
  }
  return found
}

export function indexInfo(entries: readonly TreeChange[]): Buffer {
  return joined(entries.map(({ mode, oid, path }) => `${mode} ${oid}\t${path}`))
}

/** NUL-terminated. Paths are bytes, one character for each. */
export const joined = (paths: readonly BytePath[]): Buffer => bytesOf(paths.map(path => `${path}\0`).join(''))

export function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, 5).map(path => JSON.stringify(path))
  return paths.length > 5 ? `${shown.join(', ')} and ${paths.length - 5} more` : shown.join(', ')
}

/** The filters with a command for these paths. Reads attributes, runs nothing. */
export async function filteredPaths(
  repository: Repository,
  paths: readonly BytePath[],
  from: { readonly args?: readonly string[]; readonly env?: { readonly [name: string]: string } } = {},
): Promise<ReadonlyMap<BytePath, string>> {
  const found = new Map<BytePath, string>()
  if (repository.settings.filters.size === 0 || paths.length === 0) return found
  const args = ['check-attr', '-z', ...(from.args ?? []), '--stdin', 'filter']
  const flat = fields(await repository.git(args, { stdin: joined(paths), ...(from.env ? { env: from.env } : {}) }))
  for (let at = 0; at + 2 < flat.length; at += 3) {
    const value = Buffer.from(flat[at + 2]!, 'latin1').toString('utf8')
    if (repository.settings.filters.has(value)) found.set(flat[at]!, value)
  }
  return found
}

function repositoryPath(repository: Repository, text: string): BytePath {
  const no = (why: string): never =>
    refuse('policy', `the path ${JSON.stringify(text.slice(0, 100))} ${why}`, 'name a file inside the workspace')
  const path = pathBytes(text)
  if (path === '' || path.length > 4096) no('is empty or too long')
  if (path.includes('\0')) no('contains a NUL byte')
  for (const part of path.split('/')) {
    if (part === '' || part === '.' || part === '..') no('leaves its folder or has an empty part')
    if (fold(pathText(part as BytePath)) === '.git' || /^git~\d/i.test(part)) no('leads into the repository itself')
  }
  return `${pathBytes(repository.prefix)}${path}`
}

async function attributesOf(repository: Repository, paths: readonly BytePath[]): Promise<ReadonlySet<BytePath>> {
  const filtered = await filteredPaths(repository, paths)
  for (const [path, filter] of filtered) {
    const hint = `commit such files yourself: git add and git commit run the filter; or take the filter attribute away`
    refuse(
      'policy',
      `${JSON.stringify(pathText(path))} goes through the filter ${filter}, a command we never run`,
      hint,
    )
  }
  const special = new Set<BytePath>()
  const args = ['check-attr', '-z', '--stdin', 'text', 'eol', 'crlf', 'ident', 'working-tree-encoding']
  const flat = fields(await repository.git(args, { stdin: joined(paths) }))
  for (let at = 0; at + 2 < flat.length; at += 3) {
    if (!['unspecified', 'unset'].includes(flat[at + 2]!)) special.add(flat[at]!)
  }
  return special
}

async function sorted(
  repository: Repository,
  wanted: ReadonlyMap<BytePath, PathContent>,
): Promise<{ readonly files: readonly BytePath[]; readonly gone: readonly BytePath[] }> {
  const files: BytePath[] = []
  const gone: BytePath[] = []
  for (const [path, content] of wanted) {
    if (content.from === 'nothing') gone.push(path)
    if (content.from !== 'workspace') continue
    const at = Buffer.concat([Buffer.from(`${repository.top}/`), bytesOf(path)])
    const found = await ignoring(['ENOENT', 'ENOTDIR'], () => lstat(at))
    if (found === null) gone.push(path)
    else if (found.isFile() || found.isSymbolicLink()) files.push(path)
    else {
      const hint = 'name the files in it; git keeps files and links only'
      refuse('logic', `${JSON.stringify(pathText(path))} is neither a file nor a link`, hint)
    }
  }
  return { files, gone }
}

/** Stores bytes as blobs: plain ones together in one process, others one by one. */
async function storeBytes(
  repository: Repository,
  folder: string,
  wanted: ReadonlyMap<BytePath, PathContent>,
  special: ReadonlySet<BytePath>,
): Promise<readonly TreeChange[]> {
  const plain: { path: BytePath; mode: string; file: string }[] = []
  const stored: TreeChange[] = []
  for (const [path, content] of wanted) {
    if (content.from === 'workspace' || content.from === 'nothing') continue
    const mode = content.from === 'link' ? '120000' : content.mode
    const bytes =
      content.from === 'bytes'
        ? content.bytes
        : content.from === 'link'
          ? bytesOf(pathBytes(content.target))
          : await content.read()
    if (mode === '120000' || !(special.has(path) || repository.settings.autocrlf)) {
      // Numbered names, because the list is separated by line feeds, which a path may contain.
      const file = join(folder, `blob-${plain.length}`)
      await writeFile(file, bytes)
      plain.push({ path, mode, file })
      continue
    }
    const text = bytesOf(path).toString('utf8')
    if (!Buffer.from(text).equals(bytesOf(path))) {
      const hint = 'rename the file, or take the attribute away'
      refuse('logic', `${JSON.stringify(pathText(path))} must be converted, and its name is not valid text`, hint)
    }
    const oid = await repository.line(['hash-object', '-w', '--stdin', `--path=${text}`], { stdin: bytes })
    stored.push({ path, mode, oid })
  }
  if (plain.length === 0) return stored
  const list = plain.map(({ file }) => `${file}\n`).join('')
  const oids = (await repository.line(['hash-object', '-w', '--no-filters', '--stdin-paths'], { stdin: list })).split(
    '\n',
  )
  return [...stored, ...plain.map(({ path, mode }, index) => ({ path, mode, oid: oids[index] ?? '' }))]
}
