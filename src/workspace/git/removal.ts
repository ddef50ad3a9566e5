// The removal of a worktree, which must never take the only copy of anybody's work with it. Everything is compared with
// the commit by content, in an index of its own: flags like assume-unchanged and cleverly set times hide nothing. Files
// that are not committed, staged content, commits no ref holds and ignored files nobody vouched for all stop it.

import { join } from 'node:path'
import { failure, Refused, refuse } from '../../safety/refused.ts'
import type { BytePath } from '../manifest.ts'
import { pathBytes, pathText } from '../path-text.ts'
import { indexChanges, told } from './content.ts'
import { statusLines, underWay } from './describe.ts'
import type { GitOperation, Oid, RemovalRequest } from './git.ts'
import { backupRef, branchOf, swapRef } from './refs.ts'
import { isOid, type Repository } from './repository.ts'
import { allWorktrees, isOurs, reasonOf } from './worktree.ts'

/** A refusal that names everything that stands in the way. */
export class InTheWay extends Refused {
  readonly list: readonly string[]
  constructor(message: string, hint: string, list: readonly string[]) {
    super(failure('policy', message, hint))
    this.list = list
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
    const hint = 'Remove it yourself if you no longer need it: git worktree remove.'
    refuse('policy', `This plan did not make the worktree ${path}.`, hint)
  }
  if (found.branch !== branch) {
    const hint = `Go back to ${branch} there: git switch ${branch}.`
    refuse('policy', `The worktree ${path} is on ${found.branch ?? 'no branch'}, not on ${branch}.`, hint)
  }
  const gitDir = await repository.line(['rev-parse', '--absolute-git-dir'], { cwd: path })
  const busy = await underWay(gitDir)
  if (busy.length > 0) refuse('policy', `A ${busy.join(' and ')} is under way in ${path}.`, 'Finish or abort it first.')
  await demandCommitted(repository, path, found.head, request.expendable ?? [])
  await keepReflog(repository, request, path)
  if (found.reason !== '') await repository.git(['worktree', 'unlock', '--', path])
  // Without --force git looks once more and refuses what has changed since.
  const output = await repository.git(['worktree', 'remove', '--', path], { codes: [0, 128] })
  if (output.code !== 0) {
    await repository.git(['worktree', 'lock', '--reason', reasonOf(plan), '--', path])
    refuse('logic', `git did not remove ${path}: ${output.stderr.trim().slice(0, 300)}`, 'Look what has changed there.')
  }
  const ref = `refs/heads/${branch}`
  const operation = {
    type: 'worktree.removed',
    plan,
    ...(task === undefined ? {} : { task }),
    path,
    ref,
    commit: found.head,
    at,
  } as const
  return { operations: [operation] }
}

async function demandCommitted(
  repository: Repository,
  path: string,
  head: Oid,
  expendable: readonly string[],
): Promise<void> {
  const staged = (await indexChanges(repository, path, head)).map(change => pathText(change.path))
  const lines = await repository.inScratch(async folder => {
    const env = { GIT_INDEX_FILE: join(folder, 'index') }
    await repository.git(['read-tree', '--no-sparse-checkout', head], { cwd: path, env })
    const args = ['status', '--porcelain=v1', '-z', '--no-renames', '--untracked-files=all', '--ignored=matching']
    return statusLines(await repository.git([...args, '--ignore-submodules=dirty'], { cwd: path, env }))
  })
  const spared = expendable.map(each => pathBytes(each.replace(/\/+$/, '')))
  const isSpared = (each: BytePath) =>
    spared.some(prefix => each.replace(/\/$/, '') === prefix || each.startsWith(`${prefix}/`))
  // A missing file is no loss: its content is committed.
  const open = lines.filter(({ code, path: each }) => !/^ D$/.test(code) && !(code === '!!' && isSpared(each)))
  const list = [...new Set([...staged, ...open.map(line => pathText(line.path))])]
  if (list.length === 0) return
  const hint =
    'Commit them on the branch, copy them elsewhere, or name ignored ones that can be made again as expendable.'
  throw new InTheWay(`The worktree ${path} holds the only copy of ${told(list)}.`, hint, list)
}

/** Commits that only the worktree's own log remembers, such as amended ones, get a ref before the log goes. */
async function keepReflog(repository: Repository, request: RemovalRequest, path: string): Promise<void> {
  const logged = await repository.git(['rev-list', '--walk-reflogs', '--max-count=1000', 'HEAD', '--'], {
    cwd: path,
    codes: [0, 128],
  })
  const commits = [...new Set(logged.stdout.toString('utf8').split('\n').filter(isOid))]
  if (commits.length === 0) return
  const stdin = commits.map(commit => `${commit}\n`).join('')
  const args = ['rev-list', '--no-walk=unsorted', '--ignore-missing', '--stdin', '--not', '--all']
  const lonely = (await repository.line(args, { stdin })).split('\n').filter(isOid)
  for (const commit of lonely) {
    const ref = backupRef(request.name, request.at, `refs/lost/${commit}`)
    await swapRef(repository, { ref, before: null, after: commit, why: 'kept from a removed worktree' })
  }
}
