// Implements the door with the git program. Every call opens the repository anew and returns a value.

import { createHash } from 'node:crypto'
import { lstat, mkdir, readFile, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { isPlanId, type PlanId } from '../../domain/id.ts'
import type { GitStanding } from '../../domain/result.ts'
import type { Variables } from '../../safety/environment.ts'
import { failureOf, ignoring, refuse } from '../../safety/safety-refusal.ts'
import { pathText } from '../files/path-text.ts'
import { blame } from './blame.ts'
import { createTag, ensureBranch } from './branch.ts'
import { commitPaths } from './commit.ts'
import type { CommitLine, CommitRange, FileStat, Git, GitAnswer, Oid, RolledBack, ScratchRequest } from './git.ts'
import { mergeBack } from './merge.ts'
import { oneLine } from './message.ts'
import { InTheWay, removeWorktree } from './remove-worktree.ts'
import { baseEnvironment, Repository, type RepositoryOptions } from './repository.ts'
import { dirtyCount, headBranch } from './repository-state.ts'
import { rollback } from './rollback.ts'
import { planRollback } from './rollback-plan.ts'
import { fields, line, runGit } from './run-git.ts'
import { KnownSettings, repositoryAround, settingsEnvironment } from './settings.ts'
import { beginTask, mergeTask } from './task-worktree.ts'
import { addWorktree, allWorktrees, demandNoFilters, listWorktrees } from './worktree.ts'

// The state of a repository for the journal after every task: HEAD, the index and the number of uncommitted files. Called often, so it
// needs only one process, but for filters or a configured working tree, and none where there is no repository.

type ReadState = () => Promise<GitStanding | null>

function openStateReader(options: RepositoryOptions, known: KnownSettings): ReadState {
  return async () => {
    const root = await realpath(options.root)
    const place = await repositoryAround(root, options.environment.GIT_CEILING_DIRECTORIES)
    if (place === null) return null
    const base = baseEnvironment(options)
    const settings = await known.of(root, place, base)
    if (settings.worktree) return await standingOf(options)
    const env = { ...base, ...settingsEnvironment(settings) }
    const output = await runGit(STATUS, { cwd: place.top, env, cutOff: 'keep' })
    const lines = fields(output)
    if (settings.filters.size > 0 && lines.some(line => /^[12] .[MT]/.test(line))) return await standingOf(options)
    const field = (word: string) => lines.find(line => line.startsWith(`# branch.${word} `))?.slice(word.length + 10)
    const [commit, branch] = [field('oid'), field('head')]
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

async function standingOf(options: RepositoryOptions): Promise<GitStanding> {
  const repository = await Repository.open(options)
  return {
    head: await repository.commitOf('HEAD'),
    branch: await headBranch(repository),
    index: await indexHash(repository.gitDir),
    dirty: await dirtyCount(repository),
  }
}

const MISSING = ['ENOENT', 'ENOTDIR', 'EACCES']

async function indexHash(gitDir: string): Promise<string | null> {
  const bytes = await ignoring(MISSING, () => readFile(join(gitDir, 'index')))
  return bytes === null ? null : createHash('sha256').update(bytes).digest('hex')
}

// A scratch worktree: a folder of ours with one commit checked out and no branch, for testing commits one by one. It has no user work, so
// it is overwritten and removed without asking. The reason of its lock identifies it; other worktrees and folders are refused.

async function checkOutScratch(
  repository: Repository,
  request: ScratchRequest,
): Promise<{ readonly commit: Oid; readonly workspace: string }> {
  const { plan, path } = request
  const commit = await repository.demandCommit(request.commit)
  const known = await ours(repository, plan, path)
  await demandNoFilters(repository, commit)
  if (!known) {
    await mkdir(dirname(path), { recursive: true })
    // Without --force, git refuses a folder that is not empty.
    const how = ['worktree', 'add', '--quiet', '--no-checkout', '--detach', '--lock', '--reason', reasonOf(plan)]
    await repository.git([...how, '--', path, commit])
  }
  await repository.git(['checkout', '--quiet', '--force', '--no-recurse-submodules', '--detach', commit], {
    cwd: path,
    timeoutMs: CHECKOUT_TIMEOUT_MS,
  })
  return { commit, workspace: join(path, repository.prefix) }
}

async function removeScratch(
  repository: Repository,
  { plan, path }: Omit<ScratchRequest, 'commit'>,
): Promise<{ readonly removed: boolean }> {
  if (!(await ours(repository, plan, path))) return { removed: false }
  // Twice: for its content and for the lock.
  await repository.git(['worktree', 'remove', '--force', '--force', '--', path])
  return { removed: true }
}

const CHECKOUT_TIMEOUT_MS = 600_000
const reasonOf = (plan: PlanId): string => `planfold scratch ${plan}`

async function ours(repository: Repository, plan: PlanId, path: string): Promise<boolean> {
  if (!isPlanId(plan)) refuse('logic', 'the id of the plan is none', 'pass the UUID of the plan')
  if (!isAbsolute(path)) refuse('logic', 'the folder of a scratch worktree must be absolute', 'pass its full path')
  const known = (await allWorktrees(repository)).find(each => each.path === path)
  if (known === undefined) return false
  if (known.reason === reasonOf(plan) && known.branch === null) return true
  const hint = 'move it away: git worktree move, or choose another folder'
  return refuse('policy', `there is another worktree in ${path}, which does not belong to this plan`, hint)
}

// Questions about history: the commits of a bisection, and the size of a difference.

const COMMITS_MAX = 100_000

/** After `good` up to `bad`, oldest first, along first parents: there everything before the culprit is good, everything after it bad. */
async function commitsBetween(repository: Repository, request: CommitRange): Promise<readonly CommitLine[]> {
  const [good, bad] = [await repository.demandCommit(request.good), await repository.demandCommit(request.bad)]
  if (!(await repository.isAncestor(good, bad))) {
    const hint = repository.shallow
      ? 'the history is cut off here: git fetch --unshallow'
      : `take an older good commit: git merge-base ${good.slice(0, 12)} ${bad.slice(0, 12)}`
    refuse('logic', 'the good commit is not an ancestor of the bad one', hint)
  }
  const args = ['log', '-z', '--first-parent', '--no-patch', '--no-decorate', '--format=%H%x00%s']
  const first = request.withGood === true ? fields(await repository.git([...args, '--max-count=1', good, '--'])) : []
  const after = ['--reverse', `--max-count=${COMMITS_MAX}`, bad, `^${good}`, '--']
  const flat = [...first, ...fields(await repository.git([...args, ...after]))]
  const found: CommitLine[] = []
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const subject = oneLine(Buffer.from(flat[at + 1]!, 'latin1').toString('utf8'))
    found.push({ commit: flat[at]!, subject })
  }
  return found
}

async function diffstat(
  repository: Repository,
  request: { readonly from: string; readonly to: string },
): Promise<readonly FileStat[]> {
  const [from, to] = [await repository.demandCommit(request.from), await repository.demandCommit(request.to)]
  const args = ['diff-tree', '-r', '-z', '--numstat', '--no-renames', '--no-ext-diff', '--no-textconv']
  return fields(await repository.git([...args, from, to, '--'])).map(entry => {
    const [added = '', removed = '', ...path] = entry.split('\t')
    const count = (text: string) => (text === '-' ? null : Number(text))
    return { path: pathText(path.join('\t')), added: count(added), removed: count(removed) }
  })
}

// May plans of this folder write to the repository that its `.git` names? A `.git` folder is the repository itself. A `.git` *file* (or
// link) names a repository elsewhere, and someone who provides a folder can put any path into it. Git's own tools leave a reference back: a
// linked worktree in `gitdir`, a submodule in `core.worktree`. Without it, nothing is written until a person names the repository in
// PLANFOLD_GIT_DIR. This also applies to `git clone --separate-git-dir`, which leaves no reference.

/** A repository that may be written although nothing in it names this folder. */
const GIT_DIR_VARIABLE = 'PLANFOLD_GIT_DIR'

async function demandBackReference(repository: Repository, environment: Variables): Promise<void> {
  const { top, gitDir } = repository
  const dotGit = join(top, '.git')
  if ((await lstat(dotGit)).isDirectory()) return
  if ((await worktreeNames(gitDir, dotGit)) || (await configNames(repository))) return
  const named = environment[GIT_DIR_VARIABLE]
  if (named !== undefined && (await real(resolve(top, named))) === (await real(gitDir))) return
  refuse(
    'policy',
    `the file ${JSON.stringify(dotGit)} names the repository ${JSON.stringify(gitDir)}, and nothing in that repository names this folder; nothing was written there`,
    `if it is yours (git clone --separate-git-dir leaves no reference), say so: ${GIT_DIR_VARIABLE}=${quoted(gitDir)} planfold …; for a worktree that was moved: git worktree repair`,
  )
}

/** A linked worktree: the repository stores the path of its `.git` file. */
async function worktreeNames(gitDir: string, dotGit: string): Promise<boolean> {
  const text = await ignoring(['ENOENT', 'ENOTDIR'], () => readFile(join(gitDir, 'gitdir'), 'utf8'))
  if (text === null) return false
  const named = text.replace(/\n$/, '')
  return (await real(isAbsolute(named) ? named : resolve(gitDir, named))) === (await real(dotGit))
}

/** A submodule: the configuration of the repository names its working tree. */
async function configNames(repository: Repository): Promise<boolean> {
  const { gitDir, top } = repository
  const args = ['config', '--file', join(gitDir, 'config'), '--get', 'core.worktree']
  const output = await repository.git(args, { codes: [0, 1] })
  if (output.code !== 0) return false
  return (await real(resolve(gitDir, line(output)))) === top
}

const real = (path: string): Promise<string | null> => ignoring(['ENOENT', 'ENOTDIR'], () => realpath(path))

const quoted = (path: string): string => (/^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)

export function openGit(options: RepositoryOptions): Git {
  const known = new KnownSettings()
  const ask = <T>(work: (repository: Repository) => Promise<T>) =>
    answered(async () => await work(await Repository.open(options, known)))
  /** Every write first checks that the repository belongs to this folder. */
  const write = <T>(work: (repository: Repository) => Promise<T>) =>
    ask(async repository => {
      await demandBackReference(repository, options.environment)
      return await work(repository)
    })
  const answered = async <T>(work: () => Promise<T>): Promise<GitAnswer<T>> => {
    try {
      return { ok: true, value: await work() }
    } catch (error) {
      const failure = failureOf('git', error)
      if (failure === null) throw error
      if (!(error instanceof InTheWay)) return { ok: false, failure }
      return { ok: false, failure, list: [...error.files.keys()], files: error.files }
    }
  }
  const standing = openStateReader(options, known)
  return {
    ground: () => ask(async repository => ({ top: repository.top, commit: await repository.commitOf('HEAD') })),
    standing: () => answered(standing),
    mayWrite: () => write(async () => null),
    ensureBranch: request => write(repository => ensureBranch(repository, request)),
    commitPaths: request => write(repository => commitPaths(repository, request)),
    createTag: request => write(repository => createTag(repository, request)),
    addWorktree: request => write(repository => addWorktree(repository, request)),
    listWorktrees: plan => ask(repository => listWorktrees(repository, plan)),
    removeWorktree: request => write(repository => removeWorktree(repository, request)),
    checkOutScratch: request => write(repository => checkOutScratch(repository, request)),
    removeScratch: request => write(repository => removeScratch(repository, request)),
    mergeBack: request => write(repository => mergeBack(repository, request)),
    beginTask: request => write(repository => beginTask(repository, request)),
    landTask: request => write(repository => mergeTask(repository, request)),
    previewRollback: request => ask(repository => planRollback(repository, request)),
    rollback: async (request): Promise<RolledBack> => {
      const answer = await write(repository => rollback(repository, request))
      return answer.ok ? answer.value : { ok: false, failure: answer.failure, done: [], steps: [] }
    },
    commitsBetween: request => ask(repository => commitsBetween(repository, request)),
    blame: request => ask(repository => blame(repository, request)),
    diffstat: request => ask(repository => diffstat(repository, request)),
  }
}
