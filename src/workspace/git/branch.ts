// Branches of plans and tasks, and tags. A mark is created before the branch: a mark without a branch is harmless, and a branch with a mark
// is known as ours after a crash, even before it is journaled.

import type { PlanId } from '../../domain/id.ts'
import { refuse } from '../../safety/safety-refusal.ts'
import type { BranchRequest, PlanBranch, TagRequest } from './git.ts'
import { oneLine } from './message.ts'
import type { RefOperation } from './operation-list.ts'
import { branchOf, isRef, madeRef, markOf, swapRef, tipsOf } from './refs.ts'

import type { Repository } from './repository.ts'

export async function ensureBranch(repository: Repository, request: BranchRequest): Promise<PlanBranch> {
  const branch = branchOf(request)
  const ref = `refs/heads/${branch}`
  const mark = madeRef(request.plan, branch)
  const { plan, task, at } = request
  const record = (after: string): RefOperation => {
    return { type: 'branch.created', plan, task, ref, before: null, after, at }
  }
  const [tip = null, made = null] = await tipsOf(repository, [ref, mark])
  if (tip !== null && made !== null && (await repository.isAncestor(made, tip))) {
    return { branch, ref, tip, made: 'before', operation: record(made) }
  }
  if (tip !== null) {
    const hint = `rename it (git branch -m ${branch} mine/${request.name}) or rename the plan`
    refuse('policy', `there is a branch ${branch} already, and this plan did not make it`, hint)
  }
  const base = await repository.demandCommit(request.base)
  if (made !== base) await swapRef(repository, { ref: mark, before: made, after: base, why: `mark of ${branch}` })
  await swapRef(repository, { ref, before: null, after: base, why: `branch of plan ${request.name}` })
  return { branch, ref, tip: base, made: 'now', operation: record(base) }
}

export async function createTag(repository: Repository, request: TagRequest): Promise<RefOperation> {
  const ref = `refs/tags/${request.name}`
  if (!isRef(ref)) {
    const hint = 'use letters, digits, dots, dashes and slashes'
    refuse('logic', `${JSON.stringify(request.name.slice(0, 100))} cannot be the name of a tag`, hint)
  }
  const commit = await repository.demandCommit(request.target)
  const mark = markOf(request.plan, ref)
  const [tip = null, made = null] = await tipsOf(repository, [ref, mark])
  const isSame = (tip === commit) === (request.message === undefined) && (await repository.commitOf(ref)) === commit
  if (tip !== null && (tip !== made || !isSame)) {
    const hint = 'choose another name; a tag is never moved from here'
    const why = tip === made ? 'on another commit or of another kind' : 'which this plan did not make'
    refuse('policy', `there is a tag ${request.name} already, ${why}`, hint)
  }
  const after = tip ?? (request.message === undefined ? commit : await tagObject(repository, request, commit))
  if (made !== after) await swapRef(repository, { ref: mark, before: made, after, why: `mark of ${request.name}` })
  if (tip === null) await swapRef(repository, { ref, before: null, after, why: `tag ${request.name}` })
  return { type: 'tag.created', plan: request.plan as PlanId, ref, before: null, after, at: request.at }
}

async function tagObject(repository: Repository, request: TagRequest, commit: string): Promise<string> {
  const { user } = repository.settings
  const clean = (text: string) => oneLine(text).replace(/[<>]/g, '')
  const who = `${clean(user.name ?? 'planfold')} <${clean(user.email ?? 'planfold@localhost')}>`
  const when = `${Math.floor(request.at / 1000)} +0000`
  const head = `object ${commit}\ntype commit\ntag ${request.name}\ntagger ${who} ${when}\n`
  return await repository.line(['mktag'], { stdin: `${head}\n${oneLine(request.message ?? '')}\n` })
}
