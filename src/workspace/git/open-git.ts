// Git as the door shows it, on the real git program. Every call opens the repository anew and answers with a value.

import { lstat, mkdir, readFile, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { isPlanId, type PlanId } from '../../domain/id.ts'
import type { Variables } from '../../safety/environment.ts'
import { failureOf, ignoring, refuse } from '../../safety/safety-refusal.ts'
import { pathText } from '../files/path-text.ts'
import { createTag, ensureBranch } from './branch.ts'
import { commitPaths } from './commit.ts'
import type { CommitLine, FileStat, Git, GitAnswer, Oid, RolledBack, ScratchRequest } from './git.ts'
import { mergeBack } from './merge.ts'
import { oneLine } from './message.ts'
import { InTheWay, removeWorktree } from './remove-worktree.ts'
import { Repository, type RepositoryOptions } from './repository.ts'
import { openStanding } from './repository-position.ts'
import { describe } from './repository-state.ts'
import { rollback } from './rollback.ts'
import { planRollback } from './rollback-plan.ts'
import { fields, line } from './run-git.ts'
import { beginTask, landTask } from './task-worktree.ts'
import { addWorktree, allWorktrees, demandNoFilters, listWorktrees } from './worktree.ts'

// A scratch worktree: a folder of ours with one commit checked out and no branch, in which commits are tried one after the other.
// It holds nobody's work, so what stands there is written over when the next commit comes, and it goes without a question. It is
// known as ours by the reason of its lock; any other worktree or folder is refused.

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
    // Without --force: a folder that holds anything is refused by git.
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
  // Twice: once for what stands in it, once for the lock.
  await repository.git(['worktree', 'remove', '--force', '--force', '--', path])
  return { removed: true }
}

const CHECKOUT_TIMEOUT_MS = 600_000
const reasonOf = (plan: PlanId): string => `planfold scratch ${plan}`

async function ours(repository: Repository, plan: PlanId, path: string): Promise<boolean> {
  if (!isPlanId(plan)) refuse('logic', 'The id of the plan is none.', 'Pass the UUID of the plan.')
  if (!isAbsolute(path)) refuse('logic', 'The folder of a scratch worktree must be absolute.', 'Pass its full path.')
  const known = (await allWorktrees(repository)).find(each => each.path === path)
  if (known === undefined) return false
  if (known.reason === reasonOf(plan) && known.branch === null) return true
  const hint = 'Move it away: git worktree move, or choose another folder.'
  return refuse('policy', `There is another worktree in ${path}, which is no scratch of this plan.`, hint)
}

// Questions to history: the commits a bisection searches, and how much two commits differ.

const COMMITS_MAX = 100_000

/**
 * The commits after `good` up to and with `bad`, oldest first, along the first parents: on that line one commit follows
 * the other, so everything before the culprit is good and everything after it is bad. A merge stands for its side branch.
 */
async function commitsBetween(
  repository: Repository,
  request: { readonly good: string; readonly bad: string },
): Promise<readonly CommitLine[]> {
  const [good, bad] = [await repository.demandCommit(request.good), await repository.demandCommit(request.bad)]
  if (!(await repository.isAncestor(good, bad))) {
    const hint = repository.shallow
      ? 'The history is cut off here: git fetch --unshallow.'
      : `Take an older good commit: git merge-base ${good.slice(0, 12)} ${bad.slice(0, 12)}.`
    refuse('logic', 'The good commit is no ancestor of the bad one.', hint)
  }
  const args = ['log', '-z', '--first-parent', '--reverse', '--no-patch', '--no-decorate', `--max-count=${COMMITS_MAX}`]
  const flat = fields(await repository.git([...args, '--format=%H%x00%s', bad, `^${good}`, '--']))
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

// May this folder's plans write into the repository that its `.git` names? A `.git` folder is the repository itself. A `.git` *file*
// (or link) names a repository somewhere else, and anybody who hands us a folder can put any name into it. Git's own tools leave a
// reference back: a linked worktree in `gitdir`, a submodule in `core.worktree`. Where it is missing or names another folder,
// nothing is written until a person names the repository in PLANFOLD_GIT_DIR. `git clone --separate-git-dir` leaves no reference, so
// such a clone has to be named, too.

/** The repository that may be written although nothing in it names this folder. */
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
    `The file ${JSON.stringify(dotGit)} names the repository ${JSON.stringify(gitDir)}, and nothing in that repository names this folder. Nothing was written there.`,
    `If it is yours (git clone --separate-git-dir leaves no reference), say so: ${GIT_DIR_VARIABLE}=${quoted(gitDir)} planfold …. For a worktree that was moved: git worktree repair.`,
  )
}

/** A linked worktree: the repository keeps the path of its `.git` file. */
async function worktreeNames(gitDir: string, dotGit: string): Promise<boolean> {
  const text = await ignoring(['ENOENT', 'ENOTDIR'], () => readFile(join(gitDir, 'gitdir'), 'utf8'))
  if (text === null) return false
  const named = text.replace(/\n$/, '')
  return (await real(isAbsolute(named) ? named : resolve(gitDir, named))) === (await real(dotGit))
}

/** A submodule: the configuration of the repository says where its working tree is. */
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
  const ask = <T>(work: (repository: Repository) => Promise<T>) =>
    answered(async () => await work(await Repository.open(options)))
  /** Whatever writes into the repository asks first whether it is that of this folder. */
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
  const standing = openStanding(options)
  return {
    describe: () => ask(describe),
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
    landTask: request => write(repository => landTask(repository, request)),
    previewRollback: request => ask(repository => planRollback(repository, request)),
    rollback: async (request): Promise<RolledBack> => {
      const answer = await write(repository => rollback(repository, request))
      return answer.ok ? answer.value : { ok: false, failure: answer.failure, done: [], steps: [] }
    },
    commitsBetween: request => ask(repository => commitsBetween(repository, request)),
    diffstat: request => ask(repository => diffstat(repository, request)),
  }
}
