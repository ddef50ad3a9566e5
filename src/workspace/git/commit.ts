// Commits on our branches, made without a working tree: the tree is built in a separate index on top of the branch, and the branch moves
// only if it is unchanged.

import { refuse } from '../../safety/safety-refusal.ts'
import { pathText } from '../files/path-text.ts'
import type { CommitRequest, Committed, Oid, Owner } from './git.ts'
import { oneLine, type Trailers, withTrailers } from './message.ts'
import type { RefOperation } from './operation-list.ts'
import { branchOf, checkedOutIn, madeRef, swapRef, tipsOf } from './refs.ts'

import type { Repository } from './repository.ts'
import { fields } from './run-git.ts'
import { buildTree, indexChanges, indexInfo, listed, type TreeChange } from './tree-content.ts'

export async function commitPaths(repository: Repository, request: CommitRequest): Promise<Committed> {
  const { ref, tip, base } = await ourBranch(repository, request)
  const found = request.key === undefined ? null : await commitWithKey(repository, base, tip, request.key)
  if (found !== null) {
    const operation = record(request, ref, found.before, found.commit)
    return { status: 'found', commit: found.commit, operation }
  }
  const places = await checkedOutIn(repository, ref)
  if (places.length > 0 && request.whenCheckedOut !== 'stage') refuseCheckedOut(ref, places)
  if (request.paths.size === 0) return { status: 'unchanged', commit: tip, left: [] }
  const { tree, changes, left } = await buildTree(repository, tip, request.paths, {
    ignored: request.ignored ?? 'commit',
  })
  if (changes.length === 0) return { status: 'unchanged', commit: tip, left }
  const message = withTrailers(request.message, trailersOf(request))
  const commit = await createCommit(repository, { tree, parents: [tip], message, at: request.at })
  // The index first: an interruption here leaves the same content staged but not committed, which is harmless.
  for (const place of places) await stage(repository, place, tip, changes)
  await swapRef(repository, { ref, before: tip, after: commit, why: oneLine(message.split('\n')[0] ?? '') })
  return { status: 'committed', commit, operation: record(request, ref, tip, commit), paths: changes.length, left }
}

export interface OurBranch {
  readonly branch: string
  readonly ref: string
  readonly tip: Oid
  readonly base: Oid
}

export async function ourBranch(repository: Repository, owner: Owner): Promise<OurBranch> {
  const [seen] = await branchesOf(repository, owner)
  return demandOurs(seen!)
}

export interface SeenBranch {
  readonly owner: Owner
  readonly branch: string
  readonly tip: Oid | null
  readonly base: Oid | null
}

export async function branchesOf<T extends readonly Owner[]>(
  repository: Repository,
  ...owners: T
): Promise<{ readonly [K in keyof T]: SeenBranch }> {
  const branches = owners.map(branchOf)
  const refs = owners.flatMap(({ plan }, at) => [`refs/heads/${branches[at]!}`, madeRef(plan, branches[at]!)])
  const tips = await tipsOf(repository, refs)
  const seen = owners.map((owner, at): SeenBranch => {
    const [tip = null, base = null] = tips.slice(2 * at)
    return { owner, branch: branches[at]!, tip, base }
  })
  return seen as { readonly [K in keyof T]: SeenBranch }
}

export function demandOurs({ owner, branch, tip, base }: SeenBranch): OurBranch {
  if (tip === null) refuse('logic', `there is no branch ${branch}`, 'it is made when the plan starts; resume the plan')
  if (base === null) {
    const hint = `rename it (git branch -m ${branch} mine/${owner.name}) or rename the plan`
    refuse('policy', `the branch ${branch} was not made by this plan`, hint)
  }
  return { branch, ref: `refs/heads/${branch}`, tip, base }
}

export interface NewCommit {
  readonly tree: Oid
  readonly parents: readonly Oid[]
  readonly message: string
  readonly at: number
}

/** Creates a commit object that no branch refers to yet. The same request creates the same commit. */
export async function createCommit(repository: Repository, wanted: NewCommit): Promise<Oid> {
  const { user } = repository.settings
  const [name, email] = [user.name ?? 'planfold', user.email ?? 'planfold@localhost']
  const date = `@${Math.floor(wanted.at / 1000)} +0000`
  const env = {
    ...{ GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: date },
    ...{ GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email, GIT_COMMITTER_DATE: date },
  }
  const parents = wanted.parents.flatMap(parent => ['-p', parent])
  return await repository.line(['commit-tree', ...parents, '-F', '-', wanted.tree], { env, stdin: wanted.message })
}

export function trailersOf(
  request: Owner & Pick<CommitRequest, 'actor' | 'key' | 'attempt' | 'for' | 'result'>,
): Trailers {
  const { plan, name, actor, key, attempt, result } = request
  const task = request.for ?? request.task
  return {
    plan,
    name,
    actor,
    task,
    key,
    attempt,
    result,
  }
}

export function refuseCheckedOut(ref: string, places: readonly string[]): never {
  const branch = ref.replace('refs/heads/', '')
  const hint = `switch to another branch there (git switch -), or finish the rebase or bisect, and try again`
  refuse('policy', `${branch} is checked out in ${listed(places)}; moving it would confuse the files there`, hint)
}

function record(request: CommitRequest, ref: string, before: Oid, after: Oid): RefOperation {
  const { plan, at } = request
  const task = request.for ?? request.task
  return { type: 'commit.created', plan, task, ref, before, after, at }
}

/** A commit with this key, made by a process that died before it could report it. */
export async function commitWithKey(
  repository: Repository,
  base: Oid,
  tip: Oid,
  key: string,
): Promise<{ readonly commit: Oid; readonly before: Oid } | null> {
  if (tip === base) return null
  const format = '%H%x00%P%x00%(trailers:key=Planfold-Key,valueonly,separator=%x2C)'
  const args = ['log', '-z', '--first-parent', '--no-patch', '--no-decorate', '--max-count=1000', `--format=${format}`]
  const flat = fields(await repository.git([...args, tip, `^${base}`, '--']))
  for (let at = 0; at + 2 < flat.length; at += 3) {
    const value = Buffer.from(flat[at + 2]!, 'latin1')
      .toString('utf8')
      .trim()
    if (value === oneLine(key)) return { commit: flat[at]!, before: flat[at + 1]!.split(' ')[0]! }
  }
  return null
}

/** Records the committed paths in the index of a working tree; refuses when other content is staged for one of them. */
async function stage(repository: Repository, place: string, tip: Oid, changes: readonly TreeChange[]): Promise<void> {
  const staged = await indexChanges(repository, place, tip)
  const wanted = new Map(changes.map(change => [change.path, change]))
  const others = staged.filter(({ path, oid }) => wanted.has(path) && wanted.get(path)!.oid !== oid)
  if (others.length > 0) {
    const hint = 'commit or unstage them first: git restore --staged'
    refuse(
      'policy',
      `other content is staged in ${place} for ${listed(others.map(({ path }) => pathText(path)))}`,
      hint,
    )
  }
  await repository.git(['update-index', '-z', '--index-info'], { cwd: place, stdin: indexInfo(changes) })
}
