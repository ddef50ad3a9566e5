// The removal of a worktree, which must never delete the only copy of anyone's work. Everything is compared with the commit by content, in
// a separate index, so that flags like assume-unchanged and manipulated times hide nothing. Uncommitted files, staged content and ignored
// files prevent the removal, unless they are expendable or stored elsewhere. Commits that only its reflog knows get a ref.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { failure, Refused, refuse } from '../../safety/safety-refusal.ts'
import { deleteAside, setAside } from '../files/folder-removal.ts'
import { pathBytes, pathText } from '../files/path-text.ts'
import type { BytePath } from '../snapshots/manifest.ts'
import type { GitOperation, LoneFile, Oid, RemovalRequest } from './git.ts'
import { backupRef, branchOf, gitDirAt, swapRef } from './refs.ts'
import { isOid, type Repository } from './repository.ts'
import { type StatusLine, statusLines, underWay } from './repository-state.ts'
import { fields } from './run-git.ts'
import { indexChanges, listed } from './tree-content.ts'
import { allWorktrees, isOurs, type ListedWorktree, reasonOf } from './worktree.ts'

/** The removal would delete the only copy of these files. */
export class InTheWay extends Refused {
  readonly files: ReadonlyMap<string, LoneFile>
  constructor(message: string, hint: string, files: ReadonlyMap<string, LoneFile>) {
    super(failure('policy', message, hint))
    this.files = files
  }
}

export async function removeWorktree(
  repository: Repository,
  request: RemovalRequest,
): Promise<{ readonly operations: readonly GitOperation[] }> {
  const { plan, task, path, at } = request
  const branch = branchOf(request)
  const found = (await allWorktrees(repository)).find(each => each.path === path)
  if (found === undefined) return { operations: [] }
  if (!(await isOurs(repository, found, plan))) {
    const hint = 'remove it yourself if you no longer need it: git worktree remove'
    refuse('policy', `this plan did not make the worktree ${path}`, hint)
  }
  if (found.branch !== branch) {
    const hint = `go back to ${branch} there: git switch ${branch}`
    refuse('policy', `the worktree ${path} is on ${found.branch ?? 'no branch'}, not on ${branch}`, hint)
  }
  const operation = {
    type: 'worktree.removed',
    plan,
    task,
    path,
    ref: `refs/heads/${branch}`,
    commit: found.head,
    at,
  } as const
  if (request.stored !== undefined && !existsSync(path)) {
    await forgetAndDelete(repository, request, found)
    return { operations: [operation] }
  }
  const gitDir = await gitDirAt(repository, path)
  const busy = await underWay(gitDir)
  if (busy.length > 0) refuse('policy', `a ${busy.join(' and ')} is under way in ${path}`, 'finish or abort it first')
  await demandCommitted(repository, path, found.head, request)
  await keepReflog(repository, request, path)
  if (request.stored !== undefined) {
    const changed = await setAside(path, plan, request.stored.judged)
    if (changed.length > 0) {
      const hint = 'nothing was removed; try again when nobody works there'
      refuse('transient', `${listed(changed)} changed in ${path} while it was being removed`, hint)
    }
    await forgetAndDelete(repository, request, found)
    return { operations: [operation] }
  }
  if (found.reason !== '') await repository.git(['worktree', 'unlock', '--', path])
  // Without --force, git checks again and refuses what has changed since.
  const output = await repository.git(['worktree', 'remove', '--', path], { codes: [0, 128] })
  if (output.code !== 0) {
    await repository.git(['worktree', 'lock', '--reason', reasonOf(plan), '--', path])
    refuse('logic', `git did not remove ${path}: ${output.stderr.trim().slice(0, 300)}`, 'look what has changed there')
  }
  return { operations: [operation] }
}

/** The folder is set aside or gone: unregister the worktree, then delete the folder. */
async function forgetAndDelete(
  repository: Repository,
  { path, plan }: RemovalRequest,
  { reason }: ListedWorktree,
): Promise<void> {
  if (reason !== '') await repository.git(['worktree', 'unlock', '--', path])
  await repository.git(['worktree', 'remove', '--', path])
  await deleteAside(path, plan)
}

async function demandCommitted(
  repository: Repository,
  path: string,
  head: Oid,
  { expendable = [], stored: elsewhere }: Pick<RemovalRequest, 'expendable' | 'stored'>,
): Promise<void> {
  const staged = (await indexChanges(repository, path, head)).map(change => pathText(change.path))
  const lines = await repository.inScratch(async folder => {
    const env = { GIT_INDEX_FILE: join(folder, 'index') }
    await repository.git(['read-tree', '--no-sparse-checkout', head], { cwd: path, env })
    const args = ['status', '--porcelain=v1', '-z', '--no-renames', '--untracked-files=all', '--ignored=matching']
    return statusLines(await repository.git([...args, '--ignore-submodules=dirty'], { cwd: path, env }))
  })
  const ignorable = expendable.map(each => pathBytes(each.replace(/\/+$/, '')))
  const isExpendable = (each: BytePath) =>
    ignorable.some(prefix => each.replace(/\/$/, '') === prefix || each.startsWith(`${prefix}/`))
  // A missing file is no loss: its content is committed.
  const uncommitted = lines.filter(
    ({ code, path: each }) => !/^ D$/.test(code) && !(code === '!!' && isExpendable(each)),
  )
  const files = new Map<string, LoneFile>(uncommitted.map(line => [pathText(line.path), kindOf(line)]))
  for (const each of staged) files.set(each, 'staged')
  const stored = elsewhere === undefined ? NONE : await elsewhere.has([...files.keys()])
  // The staged version may differ from the file, and only the index has it.
  const changedSince = stored.size > 0 && staged.length > 0 ? await changedSinceStaged(repository, path) : NONE
  for (const [each, kind] of files)
    if (stored.has(each) && !(kind === 'staged' && changedSince.has(each))) files.delete(each)
  if (files.size === 0) return
  const hint =
    'commit them on the branch, copy them elsewhere, or name ignored ones that can be made again as expendable'
  throw new InTheWay(`the worktree ${path} contains the only copy of ${listed([...files.keys()])}`, hint, files)
}

const kindOf = ({ code }: StatusLine): LoneFile => (code === '!!' ? 'ignored' : code === '??' ? 'untracked' : 'changed')

const NONE: ReadonlySet<string> = new Set()

async function changedSinceStaged(repository: Repository, path: string): Promise<ReadonlySet<string>> {
  await repository.git(['update-index', '-q', '--refresh'], { cwd: path, codes: [0, 1] })
  return new Set(fields(await repository.git(['diff-files', '--name-only', '-z'], { cwd: path })).map(pathText))
}

/** Commits that only the worktree's own reflog has, such as amended ones, get a ref before it is deleted. */
async function keepReflog(repository: Repository, request: RemovalRequest, path: string): Promise<void> {
  const logged = await repository.git(['rev-list', '--walk-reflogs', '--max-count=1000', 'HEAD', '--'], {
    cwd: path,
    codes: [0, 128],
  })
  const commits = [...new Set(logged.stdout.toString('utf8').split('\n').filter(isOid))]
  if (commits.length === 0) return
  const stdin = commits.map(commit => `${commit}\n`).join('')
  const args = ['rev-list', '--no-walk=unsorted', '--ignore-missing', '--stdin', '--not', '--all']
  const unreachable = (await repository.line(args, { stdin })).split('\n').filter(isOid)
  for (const commit of unreachable) {
    const ref = backupRef(request.name, request.at, `refs/lost/${commit}`)
    await swapRef(repository, { ref, before: null, after: commit, why: 'kept from a removed worktree' })
  }
}
