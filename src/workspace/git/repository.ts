// An opened repository: its folders, and how git is called in it. Every operation opens it anew with the current configuration, so that
// changes by a person apply and its commands are disabled.

import { mkdir, mkdtemp, realpath, rm, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { inheritedEnvironment, type Variables } from '../../safety/environment.ts'
import { foreignFolders, helperPath } from '../../safety/find-program.ts'
import { ignoring, refuse } from '../../safety/safety-refusal.ts'
import type { Oid } from './git.ts'
import { complain, type GitOutput, type GitRun, line, runGit } from './run-git.ts'
import {
  type Around,
  KnownSettings,
  readSettings,
  repositoryAround,
  type Settings,
  settingsEnvironment,
} from './settings.ts'

export interface RepositoryOptions {
  /** The workspace: the top of a working tree, or a folder inside one. */
  readonly root: string
  /** The folder of temporary index files. */
  readonly scratch: string
  /** Of this process; only a short list of it is passed to git. */
  readonly environment: Variables
}

export type Asking = Omit<GitRun, 'cwd' | 'env'> & {
  readonly cwd?: string
  readonly env?: { readonly [name: string]: string }
}

export class Repository {
  readonly top: string
  /** Of this working tree; below `commonDir` for a linked worktree. */
  readonly gitDir: string
  readonly commonDir: string
  /** The path of the workspace inside the working tree with a trailing slash; empty for the top. */
  readonly prefix: string
  readonly shallow: boolean
  readonly scratch: string
  readonly settings: Settings
  readonly #env: { readonly [name: string]: string }

  private constructor(places: Places, settings: Settings, env: { readonly [name: string]: string }) {
    this.top = places.top
    this.gitDir = places.gitDir
    this.commonDir = places.commonDir
    this.prefix = places.prefix
    this.shallow = places.shallow
    this.scratch = places.scratch
    this.settings = settings
    this.#env = env
  }

  static async open(options: RepositoryOptions, known = new KnownSettings()): Promise<Repository> {
    const base = baseEnvironment(options)
    const root = await realpath(options.root)
    const place = await repositoryAround(root, options.environment.GIT_CEILING_DIRECTORIES)
    const readOf = async (settings: Settings) => {
      const env = { ...base, ...settingsEnvironment(settings) }
      return { settings, env, answers: await askPlaces(root, env) }
    }
    let read = await readOf(await (place === null ? readSettings(root, base) : known.of(root, place, base)))
    // Git may find another repository than the files alone suggest, which needs other settings.
    if (place !== null && !(await isAt(place, read.answers))) read = await readOf(await readSettings(root, base))
    const { settings, env } = read
    const { shallow, gitDir, commonDir } = read.answers
    const top = await realpath(read.answers.top)
    // A configured core.worktree may point anywhere; a real working tree has its .git at its top.
    if ((await ignoring(['ENOENT'], () => stat(join(top, '.git')))) === null) {
      const hint = 'look at core.worktree: git config --show-origin core.worktree'
      refuse('policy', 'the configuration of the repository puts its working tree somewhere else', hint)
    }
    const below = relative(top, root)
    // A plan's folder that is no worktree is in our state folder, and so inside an unrelated repository.
    if (below.split('/').includes('.planfold')) {
      const hint = 'plans commit from the workspace, or from a worktree: git: {worktree: plan}'
      refuse('logic', 'this folder is part of the state of Planfold and belongs to no repository', hint)
    }
    const prefix = below === '' ? '' : `${below}/`
    const places = { top, gitDir, commonDir, prefix, shallow }
    return new Repository({ ...places, scratch: options.scratch }, settings, env)
  }

  async git(args: readonly string[], asking: Asking = {}): Promise<GitOutput> {
    const { cwd = this.top, env, ...rest } = asking
    return await runGit(args, { cwd, env: env === undefined ? this.#env : { ...this.#env, ...env }, ...rest })
  }

  async line(args: readonly string[], asking: Asking = {}): Promise<string> {
    return line(await this.git(args, asking))
  }

  async succeeds(args: readonly string[]): Promise<boolean> {
    return (await this.git(args, { codes: [0, 1] })).code === 0
  }

  async commitOf(revision: string): Promise<Oid | null> {
    const odd = /[\p{Cc}\p{Cs} ]|^-|^$|\.\./u
    if (odd.test(revision) || revision.length > 500) {
      refuse('logic', `${JSON.stringify(revision.slice(0, 100))} names no commit`, 'name a branch, a tag or a commit')
    }
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]
    const output = await this.git(args, { codes: [0, 1, 128] })
    const found = line(output)
    return output.code === 0 && isOid(found) ? found : null
  }

  async demandCommit(revision: string): Promise<Oid> {
    const found = await this.commitOf(revision)
    if (found !== null) return found
    if ((await this.git(['rev-list', '--all', '--max-count=1'])).stdout.length === 0)
      refuse('logic', 'the repository has no commits yet', 'make a first commit: git commit --allow-empty')
    const hint = revision === 'HEAD' ? 'switch to a branch that has one' : 'name a branch, a tag or a commit'
    return refuse('logic', `the repository has no commit ${JSON.stringify(revision.slice(0, 100))}`, hint)
  }

  async isAncestor(old: Oid, young: Oid): Promise<boolean> {
    if (old === young) return true
    return await this.succeeds(['merge-base', '--is-ancestor', demandOid(old), demandOid(young)])
  }

  async inScratch<T>(work: (folder: string) => Promise<T>): Promise<T> {
    await mkdir(this.scratch, { recursive: true })
    const folder = await mkdtemp(join(this.scratch, 'git-'))
    try {
      return await work(folder)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

interface Answers extends Pick<Repository, 'top' | 'gitDir' | 'commonDir' | 'shallow'> {}

/** In one process, unless a path contains a line feed: then one process each. */
async function askPlaces(root: string, env: { readonly [name: string]: string }): Promise<Answers> {
  const questions = [
    ['--is-bare-repository'],
    ['--is-inside-work-tree'],
    ['--is-shallow-repository'],
    ['--absolute-git-dir'],
    ['--path-format=absolute', '--git-common-dir'],
    ['--show-toplevel'],
  ] as const
  const args = ['rev-parse', ...questions.flat()]
  const output = await runGit(args, { cwd: root, env, codes: [0, 128] })
  let answers = line(output).split('\n')
  const [bare, inside] = answers
  if (bare === 'true' || inside === 'false') {
    const hint = 'run it in a working tree: git worktree add, or git clone'
    refuse('logic', 'the repository is bare, or this folder is not in its working tree', hint)
  }
  if (output.code !== 0) complain(args, output)
  if (answers.length !== questions.length)
    answers = await Promise.all(
      questions.map(async each => line(await runGit(['rev-parse', ...each], { cwd: root, env }))),
    )
  const [, , shallow, gitDir, commonDir, top] = answers as [string, string, string, string, string, string]
  return { shallow: shallow === 'true', gitDir, commonDir, top }
}

async function isAt(place: Around, { gitDir, commonDir }: Answers): Promise<boolean> {
  const real = (path: string) => ignoring(['ENOENT', 'ENOTDIR'], () => realpath(path))
  return (await real(place.gitDir)) === gitDir && (await real(place.commonDir)) === (await real(commonDir))
}

interface Places extends Pick<Repository, 'top' | 'gitDir' | 'commonDir' | 'prefix' | 'shallow'> {
  readonly scratch: string
}

export const isOid = (text: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text)

/** Names from a journal are validated before they reach a command line. */
export function demandOid(text: string): Oid {
  if (isOid(text)) return text
  return refuse(
    'logic',
    `${JSON.stringify(text.slice(0, 100))} is not an object name`,
    'the recorded operation is damaged',
  )
}

export const zeroOid = (like: Oid): Oid => '0'.repeat(like.length)

/** Git also starts helpers, so PATH must not contain folders of the repository. */
export function baseEnvironment(options: Pick<RepositoryOptions, 'root' | 'environment'>): {
  readonly [name: string]: string
} {
  const { HOME, XDG_CONFIG_HOME, TMPDIR, ...rest } = inheritedEnvironment(options.environment)
  const PATH = helperPath(rest.PATH, foreignFolders(options.root, HOME))
  const places = Object.entries({ PATH, HOME, XDG_CONFIG_HOME, TMPDIR }).filter(([, value]) => value !== undefined)
  return {
    ...(Object.fromEntries(places) as { [name: string]: string }),
    LC_ALL: 'C',
    TERM: 'dumb',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    GIT_SSH_COMMAND: 'false',
    GIT_EDITOR: 'false',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    // A partial clone would fetch missing objects with a command that the repository chooses.
    GIT_NO_LAZY_FETCH: '1',
    // An allow list that names no transport, so none may be used, whatever the configuration says.
    GIT_ALLOW_PROTOCOL: 'none',
  }
}
