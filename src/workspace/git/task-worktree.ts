// The worktree of one task, in a plan whose tasks work in parallel. Each attempt begins with the current files of the plan's branch.
// Changes of an earlier attempt, committed or not, get a backup ref first; ignored files stay. Made in steps that may be interrupted and
// repeated.
//
//   plan/<plan>          ●──────────────●  merged
//                         \            /
//   plan/<plan>+<task>     ●  the work     then the branch is deleted

import { access, mkdir, realpath } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { failureOf, ignoring, refuse } from '../../safety/safety-refusal.ts'
import { ensureBranch } from './branch.ts'
import { branchesOf, commitWithKey, createCommit, demandOurs } from './commit.ts'
import type {
  BegunTask,
  GitOperation,
  LandedTask,
  LandRequest,
  Oid,
  RefOperation,
  TaskOwner,
  TaskRequest,
} from './git.ts'
import { mergeBack } from './merge.ts'
import { backupRef, branchOf, checkedOutIn, gitDirAt, madeRef, refTarget, swapRef } from './refs.ts'
import { removeWorktree } from './remove-worktree.ts'
import type { Repository } from './repository.ts'
import { underWay } from './repository-state.ts'
import { allWorktrees, checkOutNew, fill, isOurs, type ListedWorktree, noteFilled } from './worktree.ts'

export async function beginTask(repository: Repository, request: TaskRequest): Promise<BegunTask> {
  const { plan, name, task, base, key, folder, at } = request
  if (!isAbsolute(folder)) refuse('logic', 'the folder for worktrees must be absolute', 'pass its full path')
  const into = await ensureBranch(repository, { plan, name, base, at })
  await mkdir(folder, { recursive: true })
  const path = join(await realpath(folder), task.replaceAll('/', '+'))
  const commit = request.again ? null : await findWork(repository, request, key)
  if (commit === null) return { status: 'ready', ...(await takeWorktree(repository, request, path, into.tip)) }
  const result = await resultOf(repository, commit)
  return { status: 'found', result, path: (await exists(path)) ? path : null }
}

export async function mergeTask(repository: Repository, request: LandRequest): Promise<LandedTask> {
  const { plan, name, task, base, path, at } = request
  const branch = await ensureBranch(repository, { plan, name, base, at })
  const merged = await mergeBack(repository, { ...request, whenGone: 'already' })
  if (merged.status === 'conflict') return { status: 'conflict', paths: merged.paths }
  const merge = merged.status === 'already' ? null : merged.operation
  const operations: GitOperation[] = []
  const landed = { status: 'landed', branch, merge, operations } as const
  try {
    if (path !== null) operations.push(...(await removeWorktree(repository, { plan, name, task, path, at })).operations)
    const dropped = await droppedBranch(repository, request, { own: [], unless: 'unmerged' })
    if (dropped !== null) operations.push(dropped)
    return { ...landed, kept: null }
  } catch (error) {
    const kept = failureOf('the worktree', error)
    if (kept === null) throw error
    return { ...landed, kept }
  }
}

async function findWork(repository: Repository, request: TaskOwner, key: string): Promise<Oid | null> {
  const { plan, name } = request
  for (const seen of await branchesOf(repository, { plan, name }, request)) {
    if (seen.tip === null) continue
    const { tip, base } = demandOurs(seen)
    const found = await commitWithKey(repository, base, tip, key)
    if (found !== null) return found.commit
  }
  return null
}

async function takeWorktree(repository: Repository, request: TaskRequest, path: string, target: Oid) {
  const { plan, name, task, at } = request
  const known = await knownAt(repository, request, path)
  const aside = known === null ? [] : await emptied(repository, request, path, target)
  const operations: GitOperation[] = []
  const old = await droppedBranch(repository, request, { own: known === null ? [] : [path] })
  if (old !== null) operations.push(old)
  if (old?.backup !== undefined) aside.push(old.backup)
  const { branch, ref, tip, operation } = await ensureBranch(repository, { plan, name, task, base: target, at })
  operations.push(operation)
  if (known === null) {
    await checkOutNew(repository, { plan, path, branch, tip })
    await fill(repository, path, plan)
    operations.push({ type: 'worktree.added', plan, task, path, ref, commit: tip, at })
  } else {
    await repository.git(['symbolic-ref', 'HEAD', ref], { cwd: path })
    await noteFilled(repository, path, plan)
  }
  const workspace = join(path, repository.prefix)
  await mkdir(workspace, { recursive: true })
  return { path, workspace, operations, aside }
}

/** Null when there is none; one of others is refused. Unregisters a worktree that was deleted by hand. */
async function knownAt(repository: Repository, request: TaskRequest, path: string): Promise<ListedWorktree | null> {
  const { plan } = request
  const branch = branchOf(request)
  const found = (await allWorktrees(repository)).find(each => each.path === path)
  if (found === undefined) return null
  const isForeign = found.branch !== null && found.branch !== branch
  if (isForeign || !(await isOurs(repository, found, plan))) {
    const hint = 'move it away: git worktree move'
    refuse('policy', `there is another worktree in ${path}, or it is on another branch than ${branch}`, hint)
  }
  if (!(await exists(path))) {
    await repository.git(['worktree', 'remove', '--force', '--force', '--', path])
    return null
  }
  const gitDir = await gitDirAt(repository, path)
  const busy = await underWay(gitDir)
  if (busy.length > 0) refuse('policy', `a ${busy.join(' and ')} is under way in ${path}`, 'finish or abort it first')
  return found
}

/** Resets the files to the target, without a branch. Differences from HEAD are committed under a backup ref first. */
async function emptied(
  repository: Repository,
  { name, at, ...rest }: TaskRequest,
  path: string,
  target: Oid,
): Promise<string[]> {
  const head = await repository.line(['rev-parse', '--verify', 'HEAD'], { cwd: path })
  const tree = await repository.inScratch(async folder => {
    const env = { GIT_INDEX_FILE: join(folder, 'index') }
    await repository.git(['read-tree', '--no-sparse-checkout', head], { cwd: path, env })
    await repository.git(['add', '--all', '--', '.'], { cwd: path, env })
    return await repository.line(['write-tree'], { cwd: path, env })
  })
  const branch = branchOf({ ...rest, name })
  const isClean = tree === (await repository.line(['rev-parse', '--verify', `${head}^{tree}`]))
  const message = 'planfold: what an attempt left\n'
  const left = isClean ? head : await createCommit(repository, { tree, parents: [head], message, at })
  const aside: string[] = []
  if (left !== (await refTarget(repository, `refs/heads/${branch}`)) && !(await repository.isAncestor(left, target))) {
    const ref = backupRef(name, at, `refs/left/${branch}`)
    await swapRef(repository, { ref, before: null, after: left, why: 'what an attempt left' })
    aside.push(ref)
  }
  // The index has all saved files now, also the untracked ones, so the checkout removes these and nothing else.
  await repository.git(['read-tree', '--no-sparse-checkout', tree], { cwd: path })
  await repository.git(['checkout', '--quiet', '--force', '--no-recurse-submodules', '--detach', target], {
    cwd: path,
    timeoutMs: CHECKOUT_TIMEOUT_MS,
  })
  return aside
}

async function droppedBranch(
  repository: Repository,
  request: TaskOwner & { readonly at: number },
  { own, unless }: { readonly own: readonly string[]; readonly unless?: 'unmerged' },
): Promise<RefOperation | null> {
  const { plan, name, task, at } = request
  const branch = branchOf(request)
  const ref = `refs/heads/${branch}`
  const [mine, into] = await branchesOf(repository, request, { plan, name })
  if (mine.tip === null) return null
  const { tip, base } = demandOurs(mine)
  const isMerged = await repository.isAncestor(tip, demandOurs(into).tip)
  if (!isMerged && unless === 'unmerged') return null
  const places = (await checkedOutIn(repository, ref)).filter(place => !own.includes(place))
  if (places.length > 0)
    refuse('policy', `${branch} is checked out in ${places.join(', ')}`, 'switch to another branch there: git switch -')
  const backup = isMerged ? undefined : backupRef(name, at, ref)
  if (backup !== undefined) await swapRef(repository, { ref: backup, before: null, after: tip, why: 'backup' })
  await swapRef(repository, { ref, before: tip, after: null, why: isMerged ? 'merged' : 'set aside' })
  await swapRef(repository, { ref: madeRef(plan, branch), before: base, after: null, why: 'branch is gone' })
  const deleted: RefOperation = { type: 'branch.deleted', plan, task, ref, before: tip, after: null, at }
  return backup === undefined ? deleted : { ...deleted, backup }
}

async function resultOf(repository: Repository, commit: Oid): Promise<string | null> {
  const format = '%(trailers:key=Planfold-Result,valueonly,separator=%x2C)'
  const line = await repository.line([
    'log',
    '--max-count=1',
    '--no-patch',
    '--no-decorate',
    `--format=${format}`,
    commit,
  ])
  return /^[0-9a-f]{64}$/.test(line.trim()) ? line.trim() : null
}

const exists = async (path: string): Promise<boolean> =>
  (await ignoring(['ENOENT'], () => access(path).then(() => true))) ?? false

const CHECKOUT_TIMEOUT_MS = 600_000
