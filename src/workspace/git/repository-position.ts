// Where a repository stands, for the journal after every task: HEAD, the index and how much is not committed. It is asked so often
// that it takes one process, and none where there is no repository. The settings that keep a repository's commands from running
// are read again only when a file that holds configuration has changed.

import { createHash } from 'node:crypto'
import { lstat, readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import type { GitStanding } from '../../domain/result.ts'
import { ignoring } from '../../safety/safety-refusal.ts'
import { baseEnvironment, Repository, type RepositoryOptions } from './repository.ts'
import { describe } from './repository-state.ts'
import { fields, runGit } from './run-git.ts'
import { readSettings, type Settings, settingsEnvironment } from './settings.ts'

export type Standing = () => Promise<GitStanding | null>

export function openStanding(options: RepositoryOptions): Standing {
  let known: { readonly stamp: string; readonly settings: Settings } | null = null
  return async () => {
    const root = await realpath(options.root)
    const place = await repositoryAround(root, options.environment.GIT_CEILING_DIRECTORIES)
    if (place === null) return null
    const base = baseEnvironment(options.environment)
    const stamp = await stampOf(place, base)
    if (known?.stamp !== stamp) known = { stamp, settings: await readSettings(root, base) }
    const { settings } = known
    // What these files include may change without them.
    if (settings.includes) known = null
    if (settings.worktree) return await standingOf(options)
    const env = { ...base, ...settingsEnvironment(settings) }
    const output = await runGit(STATUS, { cwd: place.top, env, cutOff: 'keep' })
    const lines = fields(output)
    // Nobody looked whether a file behind a filter has changed.
    if (settings.filters.size > 0 && lines.some(line => /^[12] .[MT]/.test(line))) return await standingOf(options)
    const said = (word: string) => lines.find(line => line.startsWith(`# branch.${word} `))?.slice(word.length + 10)
    const [commit, branch] = [said('oid'), said('head')]
    return {
      head: commit === undefined || commit === '(initial)' ? null : commit,
      branch: branch === undefined || branch === '(detached)' ? null : Buffer.from(branch, 'latin1').toString('utf8'),
      index: await indexHash(place.gitDir),
      dirty: lines.filter(line => !line.startsWith('# ')).length,
    }
  }
}

const STATUS = [
  'status',
  '--porcelain=v2',
  '--branch',
  '--no-ahead-behind',
  '-z',
  '--no-renames',
  '--untracked-files=normal',
  '--ignore-submodules=dirty',
]

/** The same by the long way. */
async function standingOf(options: RepositoryOptions): Promise<GitStanding> {
  const { head, index, dirty } = await describe(await Repository.open(options))
  const { staged, unstaged, untracked, conflicted } = dirty
  return {
    head: head.commit,
    branch: head.branch,
    index: index.sha256,
    dirty: staged + unstaged + untracked + conflicted,
  }
}

interface Around {
  readonly top: string
  readonly gitDir: string
  readonly commonDir: string
}

/** By the files alone. What looks like a repository and is none is found out by git. */
async function repositoryAround(root: string, ceilings = ''): Promise<Around | null> {
  const stops = new Set(ceilings.split(':').filter(each => each !== ''))
  for (let top = root; ; top = dirname(top)) {
    const gitDir = await gitDirOf(top)
    if (gitDir !== null) {
      // A folder of a plan that is no worktree stands in our state folder, and so in a repository that is not meant.
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
  const text = await readFile(file, 'utf8')
  return text.startsWith('gitdir: ') ? resolve(top, text.slice(8).replace(/\n$/, '')) : file
}

/** Changes whenever one of the files of the configuration does; nobody can set back when an inode was last changed. */
async function stampOf({ gitDir, commonDir }: Around, env: { readonly [name: string]: string }): Promise<string> {
  const { HOME = '', XDG_CONFIG_HOME = join(HOME, '.config') } = env
  const own = [join(commonDir, 'config'), join(gitDir, 'config.worktree')]
  const theirs = [join(HOME, '.gitconfig'), join(XDG_CONFIG_HOME, 'git', 'config'), '/etc/gitconfig']
  const stamps = await Promise.all(
    [...own, ...theirs].map(async file => {
      const seen = await ignoring(MISSING, () => stat(file, { bigint: true }))
      return seen === null ? '-' : `${seen.ino} ${seen.size} ${seen.mtimeNs} ${seen.ctimeNs}`
    }),
  )
  return [gitDir, ...stamps].join('\n')
}

async function indexHash(gitDir: string): Promise<string | null> {
  const bytes = await ignoring(MISSING, () => readFile(join(gitDir, 'index')))
  return bytes === null ? null : createHash('sha256').update(bytes).digest('hex')
}
