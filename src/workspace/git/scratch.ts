// A scratch worktree: a folder of ours with one commit checked out and no branch, in which commits are tried one after the other.
// It holds nobody's work, so what stands there is written over when the next commit comes, and it goes without a question. It is
// known as ours by the reason of its lock; any other worktree or folder is refused.

import { mkdir } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { isPlanId, type PlanId } from '../../domain/id.ts'
import { refuse } from '../../safety/refused.ts'
import type { Oid, ScratchRequest } from './git.ts'
import type { Repository } from './repository.ts'
import { allWorktrees, demandNoFilters } from './worktree.ts'

export async function checkOutScratch(
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

export async function removeScratch(
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
