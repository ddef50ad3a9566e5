// What is read from git's configuration, by reading it and never by letting it act. A person's own files (system, global)
// are closed to every other git we start; the few harmless settings that change what a file means are handed on by name,
// and every command the configuration names is covered with one that does nothing.

import { isUtf8 } from 'node:buffer'
import { refuse } from '../../safety/safety-refusal.ts'
import { fields, runGit } from './run-git.ts'

export interface Settings {
  /** Names of filter drivers that have a command, e.g. `lfs`. */
  readonly filters: ReadonlySet<string>
  readonly remotes: readonly { readonly name: string; readonly url: string }[]
  /** Line ends are turned although no attribute says so. */
  readonly autocrlf: boolean
  readonly user: { readonly name: string | null; readonly email: string | null }
  /** Another file is included, which may change while those that name it do not. */
  readonly includes: boolean
  /** The configuration says where the working tree is. */
  readonly worktree: boolean
  /** Handed to every git as GIT_CONFIG_KEY_n and _VALUE_n, which take any name, unlike `-c`. */
  readonly overrides: readonly (readonly [key: string, value: string])[]
}

/** What changes how content is read, and runs nothing. */
const HANDED_ON = new Set(['core.autocrlf', 'core.eol', 'core.excludesfile', 'core.attributesfile'])

export async function readSettings(cwd: string, env: { readonly [name: string]: string }): Promise<Settings> {
  // `config --list` reads files and starts nothing, so here alone the person's own configuration is open.
  const { GIT_CONFIG_GLOBAL: _, GIT_CONFIG_NOSYSTEM: __, ...open } = env
  const args = ['config', '--list', '--null', '--includes', '--show-scope']
  const listed = fields(await runGit(args, { cwd, env: open, codes: [0, 1] }))
  const filters = new Set<string>()
  let [autocrlf, includes, worktree] = [false, false, false]
  const remotes = new Map<string, string>()
  const user: { name: string | null; email: string | null } = { name: null, email: null }
  // A union merge would resolve conflicts without a word; from here every conflict is told.
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
      // Hooks written as configuration, which newer versions of git run whatever the hooks path is.
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
      // A repository may not vouch for itself, hence the scopes.
      overrides.push([key, expanded(value, env.HOME)])
    }
  }
  if (overrides.length > OVERRIDES_MAX) {
    refuse('policy', 'the git configuration holds thousands of drivers', 'look at it: git config --list --show-origin')
  }
  const told = [...remotes].map(([name, url]) => ({ name, url }))
  return { filters, remotes: told, autocrlf, user, overrides, includes, worktree }
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
  // An environment of Node holds text only, so a driver with such a name could not be covered.
  if (!isUtf8(buffer)) {
    const hint = 'look for it with git config --list --show-origin, and give it a name that is text'
    refuse('policy', 'the git configuration names a driver or remote with bytes that are no UTF-8', hint)
  }
  return buffer.toString('utf8')
}

function expanded(value: string, home: string | undefined): string {
  return value.startsWith('~/') && home !== undefined ? `${home}${value.slice(1)}` : value
}
