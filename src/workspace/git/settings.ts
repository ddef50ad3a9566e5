// Reads git's configuration without running anything. The user's own files (system, global) are hidden from every other git process; the
// few harmless settings that affect file contents are passed on by name, and every configured command is overridden with one that does
// nothing.

import { isUtf8 } from 'node:buffer'
import { lstat, readFile, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { ignoring, refuse } from '../../safety/safety-refusal.ts'
import { fields, runGit } from './run-git.ts'

export interface Settings {
  /** Filter drivers with a command, e.g. `lfs`. */
  readonly filters: ReadonlySet<string>
  readonly remotes: readonly { readonly name: string; readonly url: string }[]
  readonly autocrlf: boolean
  readonly user: { readonly name: string | null; readonly email: string | null }
  /** It includes another file, which may change separately. */
  readonly includes: boolean
  readonly worktree: boolean
  /** Passed to every git as GIT_CONFIG_KEY_n and _VALUE_n, which take any name, unlike `-c`. */
  readonly overrides: readonly (readonly [key: string, value: string])[]
}

/** Settings that affect content and run nothing. */
const HANDED_ON = new Set(['core.autocrlf', 'core.eol', 'core.excludesfile', 'core.attributesfile'])

export async function readSettings(cwd: string, env: { readonly [name: string]: string }): Promise<Settings> {
  // `config --list` only reads files, so it may read the user's own configuration.
  const { GIT_CONFIG_GLOBAL: _, GIT_CONFIG_NOSYSTEM: __, ...open } = env
  const args = ['config', '--list', '--null', '--includes', '--show-scope']
  const listed = fields(await runGit(args, { cwd, env: open, codes: [0, 1] }))
  const filters = new Set<string>()
  let [autocrlf, includes, worktree] = [false, false, false]
  const remotes = new Map<string, string>()
  const user: { name: string | null; email: string | null } = { name: null, email: null }
  // A union merge would hide conflicts, which must all be reported.
  const overrides: [string, string][] = [['merge.union.driver', 'false']]
  for (let index = 0; index + 1 < listed.length; index += 2) {
    const [scope, entry] = [listed[index]!, listed[index + 1]!]
    const at = entry.indexOf('\n')
    const key = at < 0 ? entry : entry.slice(0, at)
    const value = at < 0 ? 'true' : Buffer.from(entry.slice(at + 1), 'latin1').toString('utf8')
    const section = key.slice(0, key.indexOf('.'))
    const name = key.lastIndexOf('.')
    const [middle, last] = [key.slice(section.length + 1, name), key.slice(name + 1)]
    if (section === 'filter' && ['clean', 'smudge', 'process', 'required'].includes(last)) {
      if (last !== 'required') filters.add(middle)
      overrides.push([utf8(key), last === 'required' ? 'false' : ''])
    } else if (section === 'merge' && last === 'driver') overrides.push([utf8(key), 'false'])
    else if (section === 'diff' && ['textconv', 'command'].includes(last) && middle !== '') {
      overrides.push([utf8(key), last === 'textconv' ? 'cat' : 'false'])
    } else if (section === 'hook' && middle !== '') {
      // Hooks in the configuration, which newer versions of git run regardless of the hooks path.
      overrides.push([utf8(`hook.${middle}.enabled`), 'false'])
    } else if (section === 'remote' && last === 'url') remotes.set(utf8(middle), value)
    else if (/^include(?:if)?$/i.test(section)) includes = true
    else if (key === 'core.worktree') worktree = true
    else if (key === 'user.name') user.name = value
    else if (key === 'user.email') user.email = value
    else if (HANDED_ON.has(key)) {
      overrides.push([key, expanded(value, env.HOME)])
      if (key === 'core.autocrlf') autocrlf = !/^(?:false|no|off|0|)$/i.test(value)
    } else if (key === 'safe.directory' && ['system', 'global'].includes(scope)) {
      // A repository may not declare itself safe, hence the scopes.
      overrides.push([key, expanded(value, env.HOME)])
    }
  }
  if (overrides.length > OVERRIDES_MAX) {
    refuse(
      'policy',
      'the git configuration contains thousands of drivers',
      'look at it: git config --list --show-origin',
    )
  }
  const named = [...remotes].map(([name, url]) => ({ name, url }))
  return { filters, remotes: named, autocrlf, user, overrides, includes, worktree }
}

export function settingsEnvironment(settings: Settings): { readonly [name: string]: string } {
  const env: { [name: string]: string } = { GIT_CONFIG_COUNT: String(settings.overrides.length) }
  settings.overrides.forEach(([key, value], index) => {
    env[`GIT_CONFIG_KEY_${index}`] = key
    env[`GIT_CONFIG_VALUE_${index}`] = value
  })
  return env
}

const OVERRIDES_MAX = 2000

function utf8(bytes: string): string {
  const buffer = Buffer.from(bytes, 'latin1')
  // Node's environment holds text only, so a driver with such a name could not be overridden.
  if (!isUtf8(buffer)) {
    const hint = 'look for it with git config --list --show-origin, and give it a name that is text'
    refuse('policy', 'the git configuration names a driver or remote with bytes that are no UTF-8', hint)
  }
  return buffer.toString('utf8')
}

function expanded(value: string, home: string | undefined): string {
  return value.startsWith('~/') && home !== undefined ? `${home}${value.slice(1)}` : value
}

// Every operation needs the settings, which rarely change. They are cached while the configuration files are the same.

export class KnownSettings {
  #kept: { readonly text: string; readonly settings: Settings } | null = null

  async of(root: string, place: Around, env: { readonly [name: string]: string }): Promise<Settings> {
    const text = await textOf(place, env)
    if (text !== null && this.#kept?.text === text) return this.#kept.settings
    const settings = await readSettings(root, env)
    // Included files may change separately, and the files may change while git reads them.
    const isSure = text !== null && !settings.includes && (await textOf(place, env)) === text
    this.#kept = isSure ? { text, settings } : null
    return settings
  }
}

export interface Around {
  readonly top: string
  readonly gitDir: string
  readonly commonDir: string
}

/** By the files alone; git finds out what only looks like a repository. */
export async function repositoryAround(root: string, ceilings = ''): Promise<Around | null> {
  const stops = new Set(ceilings.split(':').filter(each => each !== ''))
  for (let top = root; ; top = dirname(top)) {
    const gitDir = await gitDirOf(top)
    if (gitDir !== null) {
      // A plan's folder that is no worktree is in our state folder, and so inside an unrelated repository.
      if (relative(top, root).split('/').includes('.planfold')) return null
      const common = await ignoring(MISSING, () => readFile(join(gitDir, 'commondir'), 'utf8'))
      return { top, gitDir, commonDir: common === null ? gitDir : resolve(gitDir, common.trim()) }
    }
    const above = dirname(top)
    if (above === top || stops.has(above)) return null
  }
}

const MISSING = ['ENOENT', 'ENOTDIR', 'EACCES']

async function gitDirOf(top: string): Promise<string | null> {
  const file = join(top, '.git')
  const found = await ignoring(MISSING, () => lstat(file))
  if (found === null) return null
  if (!found.isFile()) return file
  const text = await ignoring(MISSING, () => readFile(file, 'utf8'))
  return text?.startsWith('gitdir: ') ? resolve(top, text.slice(8).replace(/\n$/, '')) : file
}

const CONFIGURATION_MAX_BYTES = 1024 * 1024

/** The configuration without included files; null when a part of it is no file, or very long. */
async function textOf({ gitDir, commonDir }: Around, env: { readonly [name: string]: string }): Promise<string | null> {
  const { HOME = '', XDG_CONFIG_HOME = join(HOME, '.config') } = env
  const own = [join(commonDir, 'config'), join(gitDir, 'config.worktree')]
  const theirs = [join(HOME, '.gitconfig'), join(XDG_CONFIG_HOME, 'git', 'config'), '/etc/gitconfig']
  const texts = await Promise.all(
    [...own, ...theirs].map(async file => {
      const seen = await ignoring(MISSING, () => stat(file))
      if (seen === null) return '-'
      if (!seen.isFile() || seen.size > CONFIGURATION_MAX_BYTES) return null
      return (await ignoring(MISSING, () => readFile(file, 'latin1'))) ?? '-'
    }),
  )
  return texts.includes(null) ? null : JSON.stringify([gitDir, HOME, ...texts])
}
