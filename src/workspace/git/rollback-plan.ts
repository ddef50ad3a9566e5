// Previews a rollback of recorded operations, ref by ref. Changes nothing. One rule for all:
//
//   before ──(our operations)──► after        restore `before` if the ref is still at `after`
//
//   at `before`                        nothing to do: already done
//   at `after`, nobody else has it     move back, or delete what we created, after a backup ref
//   at `after`, and it was pushed      a reverting commit on top, which a person may push; or refuse, as requested
//   others committed between or on top refuse, with the command to run; on top, a reverting commit if a revert was asked for (`prefer`)
//   checked out somewhere              refuse
//   elsewhere                          refuse: a person has rebased or reset it

import type { PlanId } from '../../domain/id.ts'
import type { GitOperation, Oid, RollbackRequest, RollbackStep } from './git.ts'
import { chainOf, type RefChain, refChains } from './operation-list.ts'
import { checkedOutIn, madeRef, refTarget } from './refs.ts'

import { demandOid, isOid, type Repository } from './repository.ts'
import { isPushed } from './repository-state.ts'
import { fields } from './run-git.ts'
import { allWorktrees, isOurs as isOurWorktree } from './worktree.ts'

// Might others have a commit? Checks remote-tracking branches, recorded pushes, and remotes that are folders of this machine. Other remotes
// are not queried: that needs a network and credentials.

const ASK_TIMEOUT_MS = 10_000

/** The evidence that others have one of these commits, which are given oldest first; null for none. */
async function whoHas(
  repository: Repository,
  ref: string,
  commits: readonly Oid[],
  operations: readonly GitOperation[],
): Promise<string | null> {
  const [oldest] = commits
  if (oldest === undefined) return null
  const recorded = operations.find(each => each.type === 'branch.pushed' && commits.includes(each.commit))
  if (recorded?.type === 'branch.pushed') return `it was pushed to ${recorded.remote}`
  if (await isPushed(repository, oldest)) return 'a remote-tracking branch contains it'
  for (const { name, url } of repository.settings.remotes) {
    if (!isFolder(url)) continue
    const theirs = await advertised(repository, url)
    const same = theirs.find(([, name]) => name === ref)
    if (same !== undefined && (await repository.commitOf(same[0])) === null) {
      return `${name} has this branch, with commits we have not seen`
    }
    if (await isHeldBy(repository, oldest, theirs)) return `${name} has it`
  }
  return null
}

async function whoHasRef(repository: Repository, ref: string): Promise<string | null> {
  for (const { name, url } of repository.settings.remotes) {
    if (!isFolder(url)) continue
    if ((await advertised(repository, url)).some(([, theirs]) => theirs === ref)) return `${name} has it`
  }
  return null
}

async function isHeldBy(
  repository: Repository,
  commit: Oid,
  theirs: readonly (readonly [Oid, string])[],
): Promise<boolean> {
  if (theirs.length === 0) return false
  const stdin = [commit, ...theirs.map(([oid]) => `^${oid}`)].map(row => `${row}\n`).join('')
  const args = ['rev-list', '--max-count=1', '--ignore-missing', '--stdin']
  return (await repository.line(args, { stdin })) === ''
}

const isFolder = (url: string): boolean => url.startsWith('/') || url.startsWith('file:///')

async function advertised(repository: Repository, url: string): Promise<readonly (readonly [Oid, string])[]> {
  // By address, because a named remote may configure a program to run (`uploadpack`, `vcs`).
  const args = ['ls-remote', '--quiet', '--refs', '--upload-pack=git-upload-pack', '--', url]
  const output = await repository.git(args, {
    env: { GIT_ALLOW_PROTOCOL: 'file' },
    timeoutMs: ASK_TIMEOUT_MS,
    outputMaxBytes: 8 * 1024 * 1024,
    cutOff: 'keep',
    codes: [0, 1, 2, 128],
  })
  return output.stdout
    .toString('utf8')
    .split('\n')
    .map(row => row.split('\t') as [string, string])
    .filter(([oid, ref]) => isOid(oid) && ref !== undefined)
}

export async function planRollback(repository: Repository, request: RollbackRequest): Promise<readonly RollbackStep[]> {
  const worktrees = leftWorktrees(request.operations)
  const steps: RollbackStep[] = worktrees.map(({ path, commit }) => {
    return { do: 'remove-worktree', target: path, from: commit, to: null, why: 'this plan made it', run: [] }
  })
  const going = new Set(worktrees.map(({ path }) => path))
  // Last created first, because a task's branch is created after that of its plan.
  for (const chain of [...refChains(request.operations)].reverse()) {
    steps.push(await planRef(repository, request, chain, going))
  }
  for (const each of request.operations) {
    if (each.type !== 'worktree.removed' || steps.some(({ target }) => target === each.path)) continue
    const run = [`git worktree add ${quoted(each.path)} ${short(each.ref)}`]
    steps.push({ do: 'nothing', target: each.path, from: each.commit, to: null, why: 'it is made when needed', run })
  }
  return steps
}

async function planRef(
  repository: Repository,
  request: RollbackRequest,
  { ref, operations }: RefChain,
  going: ReadonlySet<string>,
): Promise<RollbackStep> {
  const [before, after] = [operations[0]!.before, operations.at(-1)!.after]
  for (const oid of [before, after]) if (oid !== null) demandOid(oid)
  const tip = await refTarget(repository, ref)
  const step = (what: RollbackStep['do'], to: Oid | null, why: string, ...run: string[]): RollbackStep => {
    return { do: what, target: ref, from: tip, to, why, run }
  }
  const name = short(ref)
  if (tip === before || before === after) return step('nothing', tip, 'it is already where it was before')
  const gap = operations.findIndex((each, index) => index > 0 && each.before !== operations[index - 1]!.after)
  if (gap > 0) {
    const why = 'somebody else committed or moved it between our operations'
    return step('refuse', tip, why, `git log ${name}`, `git revert <the commits of the plan>`)
  }
  if (tip === null && after === null) return step('restore', before, 'we deleted it')
  if (tip === null) return step('nothing', null, 'somebody deleted it; nothing is left to take back')
  if (after === null) {
    return step(
      'refuse',
      tip,
      'somebody made one of this name since',
      `git log ${name}`,
      `git branch -m ${name} mine/${name}`,
    )
  }
  if (ref.startsWith('refs/tags/')) return await planTag(repository, step, { ref, tip, after })
  if (!(await isOurs(repository, request, ref))) {
    return step('refuse', tip, 'this plan did not make the branch', `git log ${name}`)
  }
  if (await isRevert(repository, request, ref, tip)) return step('nothing', tip, 'a revert stands on top already')
  const isOnTop = tip !== after && (await repository.isAncestor(after, tip))
  if (tip !== after && !isOnTop) {
    return step(
      'refuse',
      tip,
      'somebody moved it elsewhere, by rebase, amend or reset',
      `git log ${name}`,
      `git reflog ${name}`,
    )
  }
  const base = before ?? operations[0]!.after!
  const leaving = await commitsOf(repository, base, after)
  const recorded = new Set(operations.map(each => each.after))
  if (leaving.some(commit => !recorded.has(commit))) {
    return step('refuse', tip, 'commits of others stand between ours', `git log ${short(base)}..${name}`)
  }
  if (isOnTop && request.prefer !== 'revert') {
    const log = `git log ${after.slice(0, 12)}..${name}`
    return step(
      'refuse',
      tip,
      'there are commits of others on top of it',
      log,
      `git revert --no-edit ${base.slice(0, 12)}..${after.slice(0, 12)}`,
    )
  }
  const places = (await checkedOutIn(repository, ref)).filter(place => !going.has(place))
  const has = await whoHas(repository, ref, leaving, request.operations)
  if (leaving.length > 0 && has !== null && request.pushed === 'refuse') {
    const range = `${base.slice(0, 12)}..${after.slice(0, 12)}`
    const why = `${has}: what others may have is not taken away`
    return step('refuse', tip, why, `git switch ${name} && git revert --no-edit ${range}`, `git push <remote> ${name}`)
  }
  const reverts = leaving.length > 0 && (has !== null || request.prefer === 'revert')
  if (places.length > 0 && (request.whenCheckedOut !== 'leave-files' || (before === null && !reverts))) {
    const why = `it is checked out in ${places.map(quoted).join(', ')}`
    return step('refuse', tip, why, `git switch - (there), then roll back again`)
  }
  const theirs = await placesOfOthers(repository, request.plan, places)
  const note = theirs.length > 0 ? '; the files and the index there stay, so git shows the difference as staged' : ''
  if (reverts) {
    const why = `${has ?? 'asked for a revert'}: a commit on top takes it back${note}`
    return step('revert', base, why, ...(has === null ? [] : [`git push <remote> ${name}`]))
  }
  if (before === null) return step('delete', null, `this plan made it, and nobody else has it${note}`)
  return step(
    'move',
    before,
    leaving.length > 0 ? `nobody else has its commits${note}` : `puts its commits back${note}`,
  )
}

async function planTag(
  repository: Repository,
  step: (what: RollbackStep['do'], to: Oid | null, why: string, ...run: string[]) => RollbackStep,
  { ref, tip, after }: { readonly ref: string; readonly tip: Oid; readonly after: Oid },
): Promise<RollbackStep> {
  const name = short(ref)
  if (tip !== after) return step('refuse', tip, 'somebody moved the tag', `git show ${name}`)
  const has = await whoHasRef(repository, ref)
  if (has === null) return step('delete', null, 'this plan made it', `git push <remote> :${ref} (if you pushed it)`)
  return step('refuse', tip, `${has}: others may rely on it`, `git push <remote> :${ref}`, `git tag -d ${name}`)
}

/** Without the worktrees of this plan, where the index moves with the branch. */
async function placesOfOthers(
  repository: Repository,
  plan: PlanId,
  places: readonly string[],
): Promise<readonly string[]> {
  if (places.length === 0) return places
  const ours: string[] = []
  for (const each of await allWorktrees(repository)) {
    if (places.includes(each.path) && (await isOurWorktree(repository, each, plan))) ours.push(each.path)
  }
  return places.filter(path => !ours.includes(path))
}

/** Is this commit our revert: on top of our last commit, with the content before our first? */
export async function isRevert(
  repository: Repository,
  request: RollbackRequest,
  ref: string,
  tip: Oid,
): Promise<boolean> {
  const ours = chainOf(request.operations, ref)
  const [base, after] = [ours[0]?.before ?? ours[0]?.after, ours.at(-1)?.after]
  if (base == null || after == null || tip === after) return false
  const look = async (commit: Oid) => {
    const args = [
      'log',
      '-z',
      '--max-count=1',
      '--no-patch',
      '--no-decorate',
      '--format=%P%x00%T',
      demandOid(commit),
      '--',
    ]
    return fields(await repository.git(args))
  }
  const [[, tree], [parents, same]] = [await look(base), await look(tip)]
  return parents === after && same === tree
}

async function isOurs(repository: Repository, request: RollbackRequest, ref: string): Promise<boolean> {
  if (!ref.startsWith('refs/heads/plan/')) return false
  return (await refTarget(repository, madeRef(request.plan, short(ref)))) !== null
}

/** The commits that would leave the branch, oldest first, along first parents: merged commits stay on their branch. */
async function commitsOf(repository: Repository, base: Oid, end: Oid): Promise<readonly Oid[]> {
  const args = ['rev-list', '--first-parent', '--reverse', '--max-count=100000', end, `^${base}`, '--']
  return (await repository.line(args)).split('\n').filter(isOid)
}

function leftWorktrees(operations: readonly GitOperation[]) {
  const left = new Map<string, { readonly path: string; readonly commit: string; readonly ref: string }>()
  for (const each of operations) {
    if (each.type === 'worktree.added') left.set(each.path, each)
    else if (each.type === 'worktree.removed') left.delete(each.path)
  }
  return [...left.values()]
}

const short = (ref: string): string => (isOid(ref) ? ref.slice(0, 12) : ref.replace(/^refs\/(?:heads|tags)\//, ''))
const quoted = (path: string): string => (/^[\w./+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)
