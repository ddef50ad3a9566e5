// Commits what a completed task wrote, on the plan's branch. Contents come from the content store, so later edits in the workspace are not
// included. The user's HEAD, index and files stay unchanged. A failed commit is recorded in the journal; the plan continues, and a `git`
// task may commit it later.

import type { Turn } from '../../domain/command.ts'
import { advise, quoted } from '../../domain/hint.ts'
import type { Actor, Millis, PlanId, Sha256, TaskName } from '../../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import type { GitOperation, RefOperation } from '../../domain/plan-rules/git-operation.ts'
import type { Failure } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { isRefRecorded } from '../../domain/views/git-operations.ts'
import { failure, failureOf, refuse } from '../../safety/safety-refusal.ts'
import { type Committed, commitMessage, type Git, type PathContent, type PlanBranch } from '../../workspace/git/git.ts'
import type { TreeEntry } from '../../workspace/workspace.ts'
import { MissingChanges, readChanges } from '../rollback/attempt-changes.ts'
import { entriesAfter } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'

const ENGINE = 'engine' as Actor
/** Another git process may lock the repository for a moment. */
const WAITS_MS = [100, 400, 1_500]

export interface CommitOptions {
  readonly actor: Actor
  readonly now: Millis
}

export async function commit(
  rooms: Rooms,
  state: PlanState,
  { task, visit, changes }: PlanState['uncommitted'][number],
  { actor, now }: CommitOptions = { actor: ENGINE, now: rooms.clock.now() },
): Promise<NonNullable<Turn['committed']>[number]> {
  // The state is live; read it before the first await.
  const { definition } = state
  const current = state.tasks.get(task)
  const message = messageFor(definition, task, current?.definition)
  const attempt = current?.visit === visit ? current.attempt : undefined
  const done = await guarded(rooms, async () => {
    const paths = new Map((await readChanges(rooms, changes)).map(({ path, after }) => [path, after] as const))
    const made = await commitEntries(rooms, state, {
      entries: paths,
      message,
      actor,
      at: now,
      task,
      key: `${state.id}/${task}/${visit}`,
      attempt,
    })
    return made.operations
  })
  return done.ok
    ? { task, visit, operations: done.value }
    : { task, visit, operations: done.done, failure: done.failure }
}

export function messageFor(
  { git }: PlanDefinition,
  task: TaskName,
  { title = task, kind }: Pick<TaskDefinition, 'title' | 'kind'> = {},
): string {
  return commitMessage({
    title,
    kind,
    template: git?.message,
  })
}

export interface EntriesToCommit {
  readonly entries: Iterable<readonly [path: string, entry: TreeEntry | null]>
  readonly message: string
  readonly actor: Actor
  readonly at: Millis
  readonly task?: TaskName
  readonly key: string
  readonly attempt?: number | undefined
}

export interface MadeCommit {
  readonly committed: Committed
  readonly branch: string
  readonly operations: readonly GitOperation[]
}

/** Throws `Refused` with the error of git; `CutShort` also holds what was done before it. */
export async function commitEntries(rooms: Rooms, state: PlanState, wanted: EntriesToCommit): Promise<MadeCommit> {
  const git = demandGit(rooms)
  const owner = { plan: state.id, name: state.definition.name }
  const { base = 'HEAD' } = state.definition.git ?? {}
  const paths = contents(rooms, wanted.entries)
  const branch = taken(await git.ensureBranch({ ...owner, base, at: wanted.at }))
  const answered = await git.commitPaths({
    ...owner,
    paths,
    message: wanted.message,
    actor: wanted.actor,
    at: wanted.at,
    for: wanted.task,
    key: wanted.key,
    attempt: wanted.attempt,
    // Ignored files, such as build results, are not committed.
    ignored: 'leave',
    // In the plan's own worktree the branch is checked out, and the index is ours.
    whenCheckedOut: state.place === null ? 'refuse' : 'stage',
  })
  if (!answered.ok) {
    const made = await unrecorded(rooms, state.id, branch, branch.tip)
    throw new CutShort(answered.failure, made)
  }
  const committed = answered.value
  const parent = committed.status === 'unchanged' ? committed.commit : committed.operation.before
  const operations = [
    ...(await unrecorded(rooms, state.id, branch, parent)),
    ...(committed.status === 'unchanged' ? [] : [committed.operation]),
  ]
  return { committed, branch: branch.branch, operations }
}

/** Git refused after some operations were done, which must be recorded. */
export class CutShort extends Error {
  override readonly name = 'CutShort'
  readonly failure: Failure
  readonly done: readonly GitOperation[]
  constructor(why: Failure, done: readonly GitOperation[]) {
    super(why.message)
    this.failure = why
    this.done = done
  }
}

export type Guarded<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: Failure; readonly done: readonly GitOperation[] }

/** Runs work on the repository and returns a value; retries a few times if another git process holds a lock. */
export async function guarded<T>(rooms: Rooms, work: () => Promise<T>): Promise<Guarded<T>> {
  for (let tries = 0; ; tries++) {
    try {
      return { ok: true, value: await work() }
    } catch (error) {
      const no = noOf(error)
      const waitMs = WAITS_MS[tries]
      // Only a refusal before any operation is retried, so that none is recorded twice.
      if (no.failure.class !== 'transient' || no.done.length > 0 || waitMs === undefined) return { ok: false, ...no }
      await new Promise<void>(resolve => void rooms.clock.after(waitMs, resolve))
    }
  }
}

function noOf(error: unknown): { readonly failure: Failure; readonly done: readonly GitOperation[] } {
  if (error instanceof CutShort) return { failure: error.failure, done: error.done }
  if (error instanceof MissingChanges)
    return { failure: failure('resource', error.message, advise`run ${quoted('check', { readData: true })}`), done: [] }
  const known = failureOf('git', error)
  if (known !== null) return { failure: known, done: [] }
  const message = error instanceof Error ? error.message : String(error)
  return { failure: failure('unknown', `bug: committing threw: ${message}`, 'please report this'), done: [] }
}

export function demandGit({ git }: Rooms): Git {
  return git ?? refuse('logic', 'git is not used here', 'take `git` out of the plan, or open the engine with git')
}

/** The value of an answer of git; a failure is thrown as `CutShort`. */
export function taken<T>(
  answer: { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure },
): T {
  if (answer.ok) return answer.value
  throw new CutShort(answer.failure, [])
}

/** The creation of the branch, if the journal does not have it yet. Only for a branch without commits of ours. */
export async function unrecorded(
  rooms: Rooms,
  plan: PlanId,
  branch: PlanBranch,
  parent: string | null,
): Promise<readonly RefOperation[]> {
  if (branch.made === 'now') return [branch.operation]
  if (parent !== branch.operation.after) return []
  return isRefRecorded(await entriesAfter(rooms.store, plan, 0), branch.ref) ? [] : [branch.operation]
}

/** Git does not store directories, and files of a nested repository belong to that one. */
export function contents(rooms: Rooms, entries: EntriesToCommit['entries']): ReadonlyMap<string, PathContent> {
  const paths = new Map<string, PathContent>()
  for (const [path, entry] of entries) {
    if (path.split('/').includes('.git')) continue
    if (entry === null || entry.type === 'directory') paths.set(path, { from: 'nothing' })
    else if (entry.type === 'link') paths.set(path, { from: 'link', target: entry.target })
    else {
      const mode = (entry.mode & 0o100) !== 0 ? '100755' : '100644'
      paths.set(path, { from: 'stored', mode, read: async () => await stored(rooms, path, entry.sha256) })
    }
  }
  return paths
}

async function stored({ store }: Rooms, path: string, id: Sha256): Promise<Uint8Array> {
  const bytes = await store.blobs.get(id)
  if (bytes !== null) return bytes
  return refuse('resource', `what was written to ${JSON.stringify(path)} is missing from the content store`, CHECK)
}

const CHECK = advise`run ${quoted('check', { readData: true })}`
