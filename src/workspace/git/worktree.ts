// Worktrees of ours: a folder with the branch of a plan or task, locked with the plan's id as the reason, which identifies it and protects
// it from `git worktree prune`. Made in steps that may be interrupted and repeated.

import { access, mkdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { isPlanId, type PlanId } from '../../domain/id.ts'
import { ignoring, refuse } from '../../safety/safety-refusal.ts'
import { pathText } from '../files/path-text.ts'
import { ensureBranch } from './branch.ts'
import type { Oid, Worktree, WorktreeRequest } from './git.ts'
import type { GitOperation } from './operation-list.ts'
import { branchOf, checkedOutIn, gitDirAt, workTrees } from './refs.ts'

import { isOid, type Repository } from './repository.ts'
import { statusLines } from './repository-state.ts'
import { fields } from './run-git.ts'
import { changesBetween, filteredPaths, indexChanges, indexInfo, listed } from './tree-content.ts'

export async function addWorktree(
  repository: Repository,
  request: WorktreeRequest,
): Promise<{ readonly worktree: Worktree; readonly operations: readonly GitOperation[] }> {
  const { plan, task, folder, at } = request
  if (!isAbsolute(folder)) refuse('logic', 'the folder for worktrees must be absolute', 'pass its full path')
  const name = branchOf(request).replace('plan/', '')
  const { branch, ref, tip, operation } = await ensureBranch(repository, request)
  await mkdir(folder, { recursive: true })
  const path = join(await realpath(folder), name)
  const known = (await allWorktrees(repository)).find(each => each.path === path)
  if (known !== undefined && (known.branch !== branch || !(await isOurs(repository, known, plan)))) {
    const hint = 'move it away: git worktree move, or choose another folder'
    refuse('policy', `there is another worktree in ${path}, which this plan did not make`, hint)
  }
  if (known === undefined) {
    const places = await checkedOutIn(repository, ref)
    if (places.length > 0) {
      refuse('policy', `${branch} is checked out in ${listed(places)}`, 'switch to another branch there: git switch -')
    }
    await checkOutNew(repository, { plan, path, branch, tip })
  }
  await fill(repository, path, plan)
  const head = await repository.line(['rev-parse', '--verify', 'HEAD'], { cwd: path })
  const added: GitOperation = {
    type: 'worktree.added',
    plan,
    task,
    path,
    ref,
    commit: head,
    at,
  }
  return { worktree: { path, branch, head }, operations: [operation, added] }
}

/** Adds a worktree, without files yet, for a branch that is checked out nowhere. */
export async function checkOutNew(
  repository: Repository,
  {
    plan,
    path,
    branch,
    tip,
  }: { readonly plan: PlanId; readonly path: string; readonly branch: string; readonly tip: Oid },
): Promise<void> {
  await demandNoFilters(repository, tip)
  // Without --force, git refuses a folder that is not empty.
  const how = ['worktree', 'add', '--quiet', '--no-checkout', '--lock', '--reason', reasonOf(plan)]
  await repository.git([...how, '--', path, branch])
}

export async function listWorktrees(repository: Repository, plan: PlanId): Promise<readonly Worktree[]> {
  if (!isPlanId(plan)) refuse('logic', 'the id of the plan is none', 'pass the UUID of the plan')
  const found: Worktree[] = []
  for (const each of await allWorktrees(repository)) {
    if (!(await isOurs(repository, each, plan))) continue
    found.push({ path: each.path, branch: each.branch ?? '', head: each.head })
  }
  return found
}

/** By the reason of its lock; if interrupted between unlocking and removal, by the note in its git folder. */
export async function isOurs(repository: Repository, worktree: ListedWorktree, plan: PlanId): Promise<boolean> {
  if (worktree.reason === reasonOf(plan)) return true
  const gitDir = (await workTrees(repository)).find(({ path }) => path === worktree.path)?.gitDir
  if (gitDir === undefined) return false
  const note = await ignoring(['ENOENT'], () => readFile(join(gitDir, FILLED), 'utf8'))
  return note === plan && worktree.reason === ''
}

/** Updates the index of a worktree of this plan with its branch. Other staged content and all files stay. */
export async function stageInOurs(
  repository: Repository,
  plan: PlanId,
  { ref, from, to }: { readonly ref: string; readonly from: Oid; readonly to: Oid },
): Promise<void> {
  const branch = ref.replace('refs/heads/', '')
  for (const each of await allWorktrees(repository)) {
    if (each.branch !== branch || !(await isOurs(repository, each, plan))) continue
    const others = new Set((await indexChanges(repository, each.path, from)).map(({ path }) => path))
    const moved = (await changesBetween(repository, from, to)).filter(({ path }) => !others.has(path))
    if (moved.length > 0)
      await repository.git(['update-index', '-z', '--index-info'], { cwd: each.path, stdin: indexInfo(moved) })
  }
}

export const reasonOf = (plan: PlanId): string => `planfold ${plan}`

export interface ListedWorktree {
  readonly path: string
  readonly branch: string | null
  readonly head: Oid
  readonly reason: string
}

export async function allWorktrees(repository: Repository): Promise<readonly ListedWorktree[]> {
  const found: ListedWorktree[] = []
  let row: { [key: string]: string } = {}
  for (const field of [...fields(await repository.git(['worktree', 'list', '--porcelain', '-z'])), '']) {
    const text = Buffer.from(field, 'latin1').toString('utf8')
    const space = text.indexOf(' ')
    if (text !== '') {
      row[space < 0 ? text : text.slice(0, space)] = space < 0 ? '' : text.slice(space + 1)
      continue
    }
    const { worktree, HEAD = '', branch, locked = '' } = row
    row = {}
    if (worktree === undefined || !isOid(HEAD)) continue
    found.push({ path: worktree, head: HEAD, branch: branch?.replace('refs/heads/', '') ?? null, reason: locked })
  }
  return found
}

/** A checkout would run a smudge filter for these, or leave pointers. */
export async function demandNoFilters(repository: Repository, commit: Oid): Promise<void> {
  if (repository.settings.filters.size === 0) return
  await repository.inScratch(async folder => {
    const env = { GIT_INDEX_FILE: join(folder, 'index') }
    await repository.git(['read-tree', '--no-sparse-checkout', commit], { env })
    const paths = fields(await repository.git(['ls-files', '-z'], { env }))
    const [first] = await filteredPaths(repository, paths, { args: ['--cached'], env })
    if (first === undefined) return
    const [path, filter] = first
    const hint = 'work without a worktree for this plan; git itself may run the filter: git worktree add'
    refuse(
      'policy',
      `${JSON.stringify(pathText(path))} goes through the filter ${filter}, a command we never run`,
      hint,
    )
  })
}

/** Checks out missing files only; an existing file is never overwritten. */
export async function fill(repository: Repository, path: string, plan: PlanId): Promise<void> {
  const gitDir = await gitDirAt(repository, path)
  const begun = await ignoring(['ENOENT'], () => access(join(gitDir, 'index')).then(() => true))
  // After the first fill, missing files are deletions by a person or task.
  if (await ignoring(['ENOENT'], () => access(join(gitDir, FILLED)).then(() => true))) return
  if (begun === null) await repository.git(['read-tree', '--no-sparse-checkout', 'HEAD'], { cwd: path })
  await repository.git(['checkout-index', '--all', '--quiet', '--index'], { cwd: path, codes: [0, 1, 128] })
  const args = ['status', '--porcelain=v1', '-z', '--no-renames', '--untracked-files=no', '--ignore-submodules=all']
  const odd = statusLines(await repository.git(args, { cwd: path })).map(line => pathText(line.path))
  if (odd.length > 0) {
    const hint = `if nobody worked there, delete these files in ${path} and try again`
    refuse('logic', `the worktree was left half made: ${listed(odd)} are not as committed`, hint)
  }
  await writeFile(join(gitDir, FILLED), plan)
}

export async function noteFilled(repository: Repository, path: string, plan: PlanId): Promise<void> {
  const gitDir = await gitDirAt(repository, path)
  await writeFile(join(gitDir, FILLED), plan)
}

/** In the worktree's own git folder, which is deleted with the worktree. */
const FILLED = 'planfold-filled'
