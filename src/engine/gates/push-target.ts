// What `git push` would send, and where: the commits of the named refs, the relevant settings, and the pre-push hook. Read from the
// repository's files without starting git, because a repository's configuration can make git run commands. Includes too much rather than
// too little: settings count even where git would ignore them.

import { readdirSync, realpathSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { ShownPush } from '../../domain/gates/consent.ts'
import { orElse } from '../../domain/json.ts'
import type { Variables } from '../../safety/environment.ts'
import { readPlainFileNow } from '../../safety/files/plain-file.ts'
import { scriptWords, sha256 } from './command-files.ts'

/** `from`: the working folder of the command. Null outside a repository. */
export function pushTarget(from: string, words: readonly string[], environment: Variables): ShownPush | null {
  const folder = folderOf(from, words)
  const repository = repositoryAround(folder)
  if (repository === null) return null
  const settings = settingsOf(repository, environment)
  const pushed = settings.filter(([key]) => /^remote\..*\.push$/.test(key)).map(([, value]) => value)
  const named = [...words.flatMap(scriptWords), ...pushed]
  const all =
    named.some(isEverything) || settings.some(([key, value]) => key === 'push.default' && value === 'matching')
  return {
    commits: Object.fromEntries([...commitsOf(repository, named), ...(all ? [everything(repository)] : [])]),
    config: joined(settings.filter(([key]) => /^(remote|url|push|branch)\.|^core\.hookspath$/.test(key))),
    hook: hookOf(repository, folder, settings, environment),
  }
}

interface Repository {
  /** Of the worktree: where its HEAD is. */
  readonly own: string
  /** Of all worktrees: refs, settings and hooks. */
  readonly common: string
  readonly top: string
}

/** Follows `-C`; a `cd` in a script is not followed. */
function folderOf(from: string, words: readonly string[]): string {
  let folder = from
  for (const [at, word] of words.entries()) if (word === '-C') folder = resolve(folder, words[at + 1] ?? '.')
  return folder
}

function repositoryAround(from: string): Repository | null {
  for (let folder = resolve(from); ; folder = resolve(folder, '..')) {
    const own = gitFolder(folder)
    if (own !== null) {
      const shared = textOf(join(own, 'commondir'))?.trim()
      return { own, common: shared === undefined ? own : resolve(own, shared), top: folder }
    }
    if (folder === resolve(folder, '..')) return null
  }
}

/** In a worktree, `.git` is a file with the path of the repository; a bare repository is its own. */
function gitFolder(folder: string): string | null {
  const inside = join(folder, '.git')
  if (textOf(join(inside, 'HEAD')) !== null) return inside
  const pointer = /^gitdir:\s*(\S.*)/m.exec(textOf(inside) ?? '')?.[1]
  if (pointer !== undefined) return resolve(folder, pointer.trim())
  return textOf(join(folder, 'HEAD')) !== null && isFolder(join(folder, 'objects')) ? folder : null
}

type Setting = readonly [key: string, value: string]

function settingsOf({ own, common }: Repository, environment: Variables): readonly Setting[] {
  const home = environment.HOME ?? ''
  const files = [
    '/etc/gitconfig',
    join(environment.XDG_CONFIG_HOME ?? join(home, '.config'), 'git', 'config'),
    join(home, '.gitconfig'),
    join(common, 'config'),
    join(own, 'config.worktree'),
  ]
  const found: Setting[] = []
  const seen = new Set<string>()
  for (const file of files) readSettings(file, home, seen, found)
  return found
}

const FILES_MAX = 50

/** Follows every include, whatever its condition. */
function readSettings(file: string, home: string, seen: Set<string>, found: Setting[]): void {
  const text = seen.has(file) || seen.size >= FILES_MAX ? null : textOf(file)
  seen.add(file)
  if (text === null) return
  for (const [key, value] of parsed(text)) {
    found.push([key, value])
    if (!/^include(if\..*)?\.path$/.test(key)) continue
    const path = value.startsWith('~/') ? join(home, value.slice(2)) : resolve(file, '..', value)
    readSettings(path, home, seen, found)
  }
}

/** Good enough to detect changes: quotes and escapes inside values stay. */
function parsed(text: string): readonly Setting[] {
  const settings: Setting[] = []
  let section = ''
  for (const line of text.replace(/\\\r?\n/g, ' ').split('\n')) {
    let rest = line.trim()
    const heading = /^\[([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\]/.exec(rest)
    if (heading !== null) {
      section = heading[1]!.toLowerCase() + (heading[2] === undefined ? '' : `.${heading[2]}`)
      rest = rest.slice(heading[0].length).trim()
    }
    if (rest === '' || rest.startsWith('#') || rest.startsWith(';')) continue
    const at = rest.indexOf('=')
    const key = (at < 0 ? rest : rest.slice(0, at)).trim().toLowerCase()
    const value = at < 0 ? 'true' : rest.slice(at + 1).trim()
    settings.push([`${section}.${key}`, /^"[^"]*"$/.test(value) ? value.slice(1, -1) : value])
  }
  return settings
}

function joined(settings: readonly Setting[]): { readonly [key: string]: string } {
  const values = new Map<string, string[]>()
  for (const [key, value] of settings) values.set(key, [...(values.get(key) ?? []), value])
  return Object.fromEntries([...values].map(([key, all]) => [key, all.join(', ')]))
}

/** Commits of HEAD, the default, and of all refs that the words name. */
function commitsOf(repository: Repository, words: readonly string[]): readonly Setting[] {
  const packed = packedRefs(repository)
  const names = new Set(['HEAD', ...words.map(sourceOf)])
  const found: Setting[] = []
  for (const name of names) {
    const commit = commitAt(repository, packed, name)
    if (commit !== null) found.push([name, commit])
  }
  return found
}

/** `+main:production` sends main; `HEAD~2` depends on HEAD. */
const sourceOf = (word: string): string => word.replace(/^\+/, '').split(/[:~^@]/, 1)[0] ?? ''

function commitAt(repository: Repository, packed: ReadonlyMap<string, string>, name: string): string | null {
  // An invalid ref name could lead out of the refs folder.
  if (!/^[^\s/.][^\s\0]{0,250}$/.test(name) || name.includes('..')) return null
  const places =
    name === 'HEAD' ? [name] : [name, `refs/${name}`, `refs/tags/${name}`, `refs/heads/${name}`, `refs/remotes/${name}`]
  for (const place of places) {
    if (place !== 'HEAD' && !place.startsWith('refs/')) continue
    const commit = refAt(repository, packed, place)
    if (commit !== null) return commit
  }
  return null
}

function refAt({ own, common }: Repository, packed: ReadonlyMap<string, string>, ref: string): string | null {
  let place = ref
  for (let depth = 0; depth < 5; depth++) {
    const text = (textOf(join(own, place)) ?? textOf(join(common, place)) ?? packed.get(place) ?? '').trim()
    if (!text.startsWith('ref: ')) return /^[0-9a-f]{40,64}$/.test(text) ? text : null
    place = text.slice('ref: '.length).trim()
    if (!place.startsWith('refs/') || place.includes('..')) return null
  }
  return null
}

function packedRefs({ common }: Repository): ReadonlyMap<string, string> {
  const refs = new Map<string, string>()
  for (const line of (textOf(join(common, 'packed-refs')) ?? '').split('\n')) {
    const space = line.indexOf(' ')
    if (space > 0 && !line.startsWith('#') && !line.startsWith('^'))
      refs.set(line.slice(space + 1), line.slice(0, space))
  }
  return refs
}

const isEverything = (word: string): boolean =>
  /^--(all|mirror|tags|branches|follow-tags|prune)$/.test(word) ||
  word === ':' ||
  (word.includes('*') && word.includes('/'))

function everything(repository: Repository): Setting {
  const refs = new Map(packedRefs(repository))
  for (const ref of looseRefs(repository.common)) {
    const commit = refAt(repository, refs, ref)
    if (commit !== null) refs.set(ref, commit)
  }
  const lines = [...refs].map(([ref, commit]) => `${ref} ${commit}`).sort()
  // With reftable, the list of tables changes with any ref.
  const tables = textOf(join(repository.common, 'reftable', 'tables.list')) ?? ''
  return [`all ${lines.length} refs`, sha256(`${lines.join('\n')}\n${tables}`)]
}

function looseRefs(common: string): readonly string[] {
  const entries = orElse(() => readdirSync(join(common, 'refs'), { recursive: true, withFileTypes: true }), [])
  return entries.filter(one => one.isFile()).map(one => join(one.parentPath, one.name).slice(common.length + 1))
}

function hookOf(
  { common, top }: Repository,
  folder: string,
  settings: readonly Setting[],
  environment: Variables,
): ShownPush['hook'] {
  const configured = settings.findLast(([key]) => key === 'core.hookspath')?.[1]
  const home = environment.HOME ?? ''
  const hooks =
    configured === undefined
      ? join(common, 'hooks')
      : configured.startsWith('~/')
        ? join(home, configured.slice(2))
        : resolve(top, configured)
  const file = join(hooks, 'pre-push')
  try {
    const real = realpathSync(file)
    const path = real.startsWith(`${folder}/`) ? real.slice(folder.length + 1) : real
    const bytes = readPlainFileNow(real, CONFIG_MAX_BYTES)
    return bytes === null ? null : { path, sha256: sha256(bytes), bytes: bytes.length }
  } catch {
    return null
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function textOf(path: string): string | null {
  return readPlainFileNow(path, CONFIG_MAX_BYTES)?.toString('utf8') ?? null
}

/** The packed refs of a large repository are the largest of these files. */
const CONFIG_MAX_BYTES = 256 * 1024 * 1024
