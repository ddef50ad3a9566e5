// Merges the branch of a task into the branch of its plan without a working tree. A clean merge becomes a merge commit; a conflict leaves
// both branches unchanged. Conflicts are never resolved automatically.

import { refuse } from '../../safety/safety-refusal.ts'
import { pathText } from '../files/path-text.ts'
import { branchesOf, commitWithKey, createCommit, demandOurs, refuseCheckedOut, trailersOf } from './commit.ts'
import type { Merged, MergeRequest, Oid } from './git.ts'
import { withTrailers } from './message.ts'
import { checkedOutIn, swapRef } from './refs.ts'
import type { Repository } from './repository.ts'

export async function mergeBack(repository: Repository, request: MergeRequest): Promise<Merged> {
  const { plan, name, task, at } = request
  const [target, source] = await branchesOf(repository, { plan, name }, request)
  const into = demandOurs(target)
  const found = request.key === undefined ? null : await commitWithKey(repository, into.base, into.tip, request.key)
  const record = (before: Oid, after: Oid) => {
    return { type: 'branch.merged', plan, task, ref: into.ref, before, after, at } as const
  }
  if (found !== null) return { status: 'found', commit: found.commit, operation: record(found.before, found.commit) }
  if (source.tip === null && request.whenGone === 'already') return { status: 'already', commit: into.tip }
  const from = demandOurs(source)
  if (await repository.isAncestor(from.tip, into.tip)) return { status: 'already', commit: into.tip }
  const places = await checkedOutIn(repository, into.ref)
  if (places.length > 0 && request.whenCheckedOut !== 'leave-files') refuseCheckedOut(into.ref, places)
  const merged = await mergeTrees(repository, into.tip, from.tip)
  if (merged.status === 'conflict') {
    const hint = `merge manually: git switch ${into.branch} && git merge ${from.branch}; both branches are as they were`
    return { status: 'conflict', paths: merged.paths, hint }
  }
  const message = withTrailers(request.message, trailersOf(request))
  const commit = await createCommit(repository, { tree: merged.tree, parents: [into.tip, from.tip], message, at })
  await swapRef(repository, { ref: into.ref, before: into.tip, after: commit, why: `merge ${from.branch}` })
  return { status: 'merged', commit, operation: record(into.tip, commit) }
}

export type MergedTrees =
  | { readonly status: 'clean'; readonly tree: Oid }
  | { readonly status: 'conflict'; readonly paths: readonly string[] }

/** The tree of a merge. The repository's merge drivers do not run; their files count as conflicts. */
export async function mergeTrees(repository: Repository, ours: Oid, theirs: Oid): Promise<MergedTrees> {
  const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', ours, theirs]
  const output = await repository.git(args, { codes: [0, 1, 128, 129] })
  if (output.code > 1) {
    const old = output.code === 129
    const hint = old ? 'install git 2.38 or newer, or merge manually' : 'merge manually: git merge'
    refuse('logic', old ? 'this git cannot merge without a working tree' : mergeFault(output.stderr), hint)
  }
  const [tree = '', ...paths] = output.stdout.toString('latin1').split('\0')
  if (output.code === 0) return { status: 'clean', tree }
  return { status: 'conflict', paths: [...new Set(paths.filter(path => path !== ''))].map(pathText) }
}

/**
 * The tree of `tip` without the changes between `before` and `after`: the three-way merge of a revert, with `after` as the base. Merges
 * in between are reverted towards their first parent. Three temporary commits replace the option that names a base, which older gits lack.
 */
export async function revertedTree(
  repository: Repository,
  range: { readonly before: Oid; readonly after: Oid; readonly tip: Oid },
): Promise<MergedTrees> {
  const { before, after, tip } = range
  const treeOf = async (commit: Oid) => await repository.line(['rev-parse', '--verify', `${commit}^{tree}`])
  if (tip === after) return { status: 'clean', tree: await treeOf(before) }
  const bare = async (commit: Oid, parents: readonly Oid[]) => {
    return await createCommit(repository, {
      tree: await treeOf(commit),
      parents,
      message: 'planfold: for a merge\n',
      at: 0,
    })
  }
  const base = await bare(after, [])
  return await mergeTrees(repository, await bare(tip, [base]), await bare(before, [base]))
}

const mergeFault = (stderr: string): string => `git did not merge: ${stderr.trim().split('\n')[0]?.slice(0, 300) ?? ''}`
