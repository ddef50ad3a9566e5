// Rolls back git operations. Either every step is allowed or none begins. A backup ref keeps every commit that a branch gives up; then the
// branch moves by compare-and-swap. After an interruption, a second run with the same time finds what was done and returns the same
// operations.

import { numberOf } from '../../domain/phrases.ts'
import type { Failure } from '../../domain/result.ts'
import { failure, failureOf, refuse } from '../../safety/safety-refusal.ts'
import { createCommit, trailersOf } from './commit.ts'
import type { Oid, RollbackRequest, RollbackStep, RolledBack } from './git.ts'
import { revertedTree } from './merge.ts'
import { commitMessage, withTrailers } from './message.ts'
import { chainOf, type GitOperation, type RefOperation } from './operation-list.ts'

import { backupRef, markOf, refTarget, swapRef } from './refs.ts'

import { removeWorktree } from './remove-worktree.ts'
import type { Repository } from './repository.ts'
import { isRevert, planRollback } from './rollback-plan.ts'
import { listed } from './tree-content.ts'
import { stageInOurs } from './worktree.ts'

export async function rollback(repository: Repository, request: RollbackRequest): Promise<RolledBack> {
  const done: GitOperation[] = []
  let steps: readonly RollbackStep[] = []
  const no = (why: Failure): RolledBack => ({ ok: false, failure: why, done, steps })
  try {
    steps = await planRollback(repository, request)
    const refused = steps.filter(step => step.do === 'refuse')
    if (refused.length > 0) {
      const message = `git effects were not rolled back: ${refused.map(({ target, why }) => `${target}: ${why}`).join('; ')}`
      const run = refused.flatMap(step => step.run)
      return no(failure('policy', message, `nothing was changed; you may run: ${run.join(' ; ')}`))
    }
    for (const step of steps) done.push(...(await carryOut(repository, request, step)))
    return { ok: true, done, steps }
  } catch (error) {
    const found = failureOf('the rollback of git effects', error)
    if (found === null) throw error
    return no(found)
  }
}

async function carryOut(
  repository: Repository,
  request: RollbackRequest,
  step: RollbackStep,
): Promise<readonly GitOperation[]> {
  const { plan, name, at } = request
  const { target: ref, from, to } = step
  const isTag = ref.startsWith('refs/tags/')
  const backup = backupRef(name, at, ref)
  switch (step.do) {
    case 'move':
    case 'delete': {
      await swapRef(repository, { ref: backup, before: null, after: from!, why: 'backup' })
      if (to !== null && !isTag) await stageInOurs(repository, plan, { ref, from: from!, to })
      await swapRef(repository, { ref, before: from, after: to, why: 'rollback' })
      // Last: the mark identifies the branch as ours until it is gone.
      if (to === null) await putAwayMark(repository, request, ref)
      const type = to !== null ? 'branch.moved' : isTag ? 'tag.deleted' : 'branch.deleted'
      return [{ type, plan, ref, before: from, after: to, backup, at }]
    }
    case 'restore': {
      await takeOutMark(repository, request, ref)
      await swapRef(repository, { ref, before: null, after: to!, why: 'undo of a rollback' })
      return [{ type: isTag ? 'tag.created' : 'branch.created', plan, ref, before: null, after: to, at }]
    }
    case 'revert':
      return [await revert(repository, request, step)]
    case 'remove-worktree': {
      const added = request.operations.findLast(each => each.type === 'worktree.added' && each.path === ref)
      const task = added === undefined || !('task' in added) || added.task === undefined ? {} : { task: added.task }
      return (await removeWorktree(repository, { plan, name, ...task, path: ref, at })).operations
    }
    case 'nothing':
      return await foundDone(repository, request, step)
    case 'refuse':
      return refuse('policy', step.why, step.run.join(' ; '))
    default:
      step.do satisfies never
      return []
  }
}

/** What an interrupted run of this rollback did to the ref of this step, without reporting it. */
async function foundDone(
  repository: Repository,
  request: RollbackRequest,
  step: RollbackStep,
): Promise<readonly GitOperation[]> {
  const { target: ref, from } = step
  const previous = lastShown(request, ref)
  if (previous === null) return []
  const { plan, name, at } = request
  const isTag = ref.startsWith('refs/tags/')
  const record = (type: RefOperation['type']): RefOperation => ({
    type,
    plan,
    ref,
    before: previous.after,
    after: from,
    at,
  })
  if (previous.after === null) return from === null ? [] : [record(isTag ? 'tag.created' : 'branch.created')]
  if (from !== null && (await isRevert(repository, request, ref, from))) return [record('commit.reverted')]
  const backup = backupRef(name, at, ref)
  if ((await refTarget(repository, backup)) !== previous.after) return []
  const type = from !== null ? 'branch.moved' : isTag ? 'tag.deleted' : 'branch.deleted'
  if (type !== 'branch.moved') await putAwayMark(repository, request, ref)
  return [{ ...record(type), backup }]
}

function lastShown(request: RollbackRequest, ref: string): RefOperation | null {
  return chainOf(request.operations, ref).at(-1) ?? null
}

/** The mark of a deleted branch is backed up too, so that a later branch of that name is not taken for ours. */
async function putAwayMark(repository: Repository, request: RollbackRequest, ref: string): Promise<void> {
  const mark = markOf(request.plan, ref)
  const made = await refTarget(repository, mark)
  if (made === null) return
  const backup = backupRef(request.name, request.at, mark)
  await swapRef(repository, { ref: backup, before: null, after: made, why: 'backup' })
  await swapRef(repository, { ref: mark, before: made, after: null, why: 'rollback' })
}

async function takeOutMark(repository: Repository, request: RollbackRequest, ref: string): Promise<void> {
  const mark = markOf(request.plan, ref)
  const backup = lastShown(request, ref)?.backup
  if (backup === undefined || (await refTarget(repository, mark)) !== null) return
  const kept = `${backup.slice(0, -ref.replace('refs/', '').length)}${mark.replace('refs/', '')}`
  const made = await refTarget(repository, kept)
  if (made !== null) await swapRef(repository, { ref: mark, before: null, after: made, why: 'undo of a rollback' })
}

async function revert(repository: Repository, request: RollbackRequest, step: RollbackStep): Promise<RefOperation> {
  const { plan, name, actor, at } = request
  const [ref, tip, before] = [step.target, step.from!, step.to!]
  const after = lastShown(request, ref)!.after!
  const reverted = await revertedTree(repository, { before, after, tip })
  if (reverted.status === 'conflict') {
    const hint = `revert manually: git revert --no-edit ${before.slice(0, 12)}..${after.slice(0, 12)}`
    refuse('logic', `reverting conflicts with later changes in ${listed(reverted.paths)}`, hint)
  }
  const list = chainOf(request.operations, ref).filter(each => each.before !== null)
  const body = list.map(each => `This reverts commit ${each.after}.`).join('\n')
  const text = commitMessage({ kind: 'fix', title: `take back ${numberOf(list.length, 'commit')}`, body })
  const message = withTrailers(text, trailersOf({ plan, name, actor }))
  const commit: Oid = await createCommit(repository, { tree: reverted.tree, parents: [tip], message, at })
  await stageInOurs(repository, plan, { ref, from: tip, to: commit })
  await swapRef(repository, { ref, before: tip, after: commit, why: 'revert' })
  return { type: 'commit.reverted', plan, ref, before: tip, after: commit, at }
}
