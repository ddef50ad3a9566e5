// Task worktrees (`git: {worktree: task}`). A task that may write has a worktree of its own, which starts each attempt at the plan's
// branch. Its changes are committed on its own branch and merged into the plan's, and then the worktree is removed. A read-only task gets
// a detached checkout of the plan's branch. The user's workspace is never written.
//
//   take worktree ─► snapshot ─► perform ─► compare ─► commit, with the result ─► merge ─► remove worktree ─► the result is journaled
//                                                        └─ after a crash from here on: the next attempt finds the commit and goes on

import { existsSync } from 'node:fs'
import { mkdir, realpath } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { worksInFolder } from '../../domain/actions/actions.ts'
import type { Interrupted } from '../../domain/command.ts'
import { advise, type Hint, joinHints, next } from '../../domain/hint.ts'
import type { Actor, PlanId, Sha256 } from '../../domain/id.ts'
import type { Action, TaskDefinition } from '../../domain/plan.ts'
import { commandOf } from '../../domain/plan-rules/criterion-text.ts'
import { effectOf, mayRunAgain } from '../../domain/plan-rules/effect.ts'
import type { GitOperation } from '../../domain/plan-rules/git-operation.ts'
import type { Failed, Failure, Result, Succeeded, Wrote } from '../../domain/result.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { checkEffects } from '../attempts/expected-effects.ts'
import { failedBeforeStart } from '../loop/shortage.ts'
import { changesSince, readChanges, snapshotWorktree } from '../rollback/attempt-changes.ts'
import type { Rooms } from '../rooms.ts'
import { contents, demandGit, guarded, messageFor, taken, unrecorded } from './task-commits.ts'

const ENGINE = 'engine' as Actor
const NAMED_MAX = 20

interface ApartOptions {
  readonly isHeld: () => true | Promise<boolean>
  readonly action?: Action
}

type Work = (rooms: Rooms) => Promise<Result | Interrupted>

/** Performs an attempt in the right folder. `rooms` are those of the workspace. */
export async function performInWorktree(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  options: ApartOptions,
  say: (text: string) => void,
  work: Work,
): Promise<Result | Interrupted> {
  const { definition } = task
  const action = options.action ?? definition.action
  const mayWrite =
    worksInFolder(action) && (options.action !== undefined || effectOf(state.definition, definition) !== 'pure')
  if (!mayWrite) {
    if (!looksAtFiles(definition, action.type)) return await work(rooms)
    const read = await reading(rooms, state, definition.id, work)
    return read.ok ? read.value : failedBeforeStart(read.failure)
  }
  // The state is live; read it before the first await.
  const about = aboutOf(rooms, state, task, options)
  if (!(await options.isHeld())) return GIVEN_UP
  const first = await guarded(rooms, () => begin(about, 'find', say))
  if (!first.ok) return failedBeforeStart(first.failure)
  const earlier = 'result' in first.value ? await mergeWork(about, first.value, say) : null
  if (earlier !== null && earlier.status !== 'conflict') return earlier
  const begun = 'result' in first.value ? await guarded(rooms, () => begin(about, 'again', say)) : first
  if (!begun.ok) return failedBeforeStart(begun.failure)
  if ('result' in begun.value) throw new Error('bug: what was to be begun anew was found')
  const { at, path, operations } = begun.value
  const look = await snapshotWorktree(at, state, options.action === undefined ? definition : null)
  if (look.unwatched !== undefined) return withGit(failedFor(look.unwatched), operations)
  const result = await work(at)
  if (result.status === 'interrupted') return result
  if (result.status === 'failed') return withGit(withPlace(result, path), operations)
  const wrote = await changesSince(at, state, look)
  if (wrote === null) return withGit(failedFor(`look at ${path}`), operations)
  const checked = options.action === undefined ? await checkWorktreeChanges(at, state, task, result, wrote) : result
  if (checked.status === 'failed') return withGit(withPlace(checked, path), operations)
  if (!(await options.isHeld())) return GIVEN_UP
  const merged = await mergeWork(about, { at, path, operations, result: checked, changes: wrote.changes }, say)
  return merged.status === 'conflict' ? { ...merged, status: 'failed' } : merged
}

/** It was alone in the worktree, so every change is its own. The commit, not the result, tells what it wrote. */
async function checkWorktreeChanges(
  at: Rooms,
  state: PlanState,
  task: TaskState,
  result: Succeeded,
  wrote: Wrote,
): Promise<Result> {
  const { snapshot: _, ...alone } = wrote
  const checked = await checkEffects(at, state, task, { ...result, wrote: alone })
  const { wrote: __, ...bare } = checked
  return bare as Result
}

/** Runs a read-only function where it sees the plan's branch. */
export async function reading<T>(
  rooms: Rooms,
  state: PlanState,
  name: string,
  work: (rooms: Rooms) => Promise<T>,
): Promise<{ readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure }> {
  const { id: plan, definition } = state
  const opened = await guarded(rooms, async () => {
    const git = demandGit(rooms)
    const branch = taken(
      await git.ensureBranch({
        plan,
        name: definition.name,
        base: definition.git?.base ?? 'HEAD',
        at: rooms.clock.now(),
      }),
    )
    const folder = join(rooms.stateDir, 'work', definition.name)
    await mkdir(folder, { recursive: true })
    const path = join(await realpath(folder), `${name.replaceAll('/', '+')}~look`)
    // Leftovers of an interrupted reader are discarded.
    if (existsSync(path)) taken(await git.removeScratch({ plan, path }))
    const { workspace } = taken(await git.checkOutScratch({ plan, path, commit: branch.tip }))
    await mkdir(workspace, { recursive: true })
    return { git, path, at: roomsAt(rooms, workspace) }
  })
  if (!opened.ok) return opened
  const { git, path, at } = opened.value
  try {
    return { ok: true, value: await work(at) }
  } finally {
    await git.removeScratch({ plan, path })
  }
}

interface About {
  readonly rooms: Rooms
  readonly owner: { readonly plan: PlanId; readonly name: PlanState['definition']['name'] }
  readonly task: TaskDefinition['id']
  readonly base: string
  readonly key: string
  readonly attempt: number
  readonly message: string
  readonly title: string
  readonly mayRunAgain: boolean
}

interface Done {
  /** Where it ran; null if an earlier attempt did it. */
  readonly at: Rooms | null
  readonly path: string | null
  readonly operations: readonly GitOperation[]
  readonly result: Succeeded
  readonly changes: Sha256 | null
}

function aboutOf(rooms: Rooms, state: PlanState, task: TaskState, { action }: Pick<ApartOptions, 'action'>): About {
  const { id: plan, definition } = state
  const undone = action === undefined ? undefined : state.tasks.get(state.compensation ?? task.definition.id)
  const key =
    undone === undefined
      ? `${plan}/${task.definition.id}/${task.visit}`
      : `${plan}/${undone.definition.id}/${undone.visit}/undo`
  return {
    rooms,
    owner: { plan, name: definition.name },
    task: task.definition.id,
    base: definition.git?.base ?? 'HEAD',
    key,
    attempt: task.attempt,
    message: messageFor(definition, task.definition.id, task.definition),
    title: messageFor(definition, task.definition.id, { title: `merge the work of ${task.definition.id}` }),
    mayRunAgain: mayRunAgain(effectOf(definition, task.definition)),
  }
}

/** Finds the commit of an attempt that was interrupted before its result was recorded. Without a recorded result it runs again. */
async function begin(about: About, how: 'find' | 'again', say: (text: string) => void): Promise<Done | Begun> {
  const { rooms, owner, task, base, key } = about
  const git = demandGit(rooms)
  const folder = join(rooms.stateDir, 'work', owner.name)
  const at = rooms.clock.now()
  const begun = taken(await git.beginTask({ ...owner, task, base, key, again: how === 'again', folder, at }))
  if (begun.status === 'found') {
    const stored = begun.result === null ? null : await rooms.store.blobs.get(begun.result as Sha256)
    if (stored === null) return await begin(about, 'again', say)
    say('planfold: the work of an attempt before this one is committed, so it is not done again\n')
    const result = JSON.parse(Buffer.from(stored).toString()) as Succeeded
    return { at: null, path: begun.path, operations: [], result, changes: null }
  }
  for (const ref of begun.aside) say(`planfold: what an attempt before this one left is kept in ${ref}\n`)
  return { at: roomsAt(rooms, begun.workspace), path: begun.path, operations: begun.operations }
}

interface Begun {
  readonly at: Rooms
  readonly path: string
  readonly operations: readonly GitOperation[]
}

function roomsAt(rooms: Rooms, folder: string): Rooms {
  if (rooms.at === undefined) throw new Error('bug: these rooms cannot be moved')
  return rooms.at(relative(rooms.root, folder))
}

async function mergeWork(about: About, done: Done, say: (text: string) => void): Promise<Result | Conflict> {
  const { rooms, owner } = about
  const { log: _, ...result } = done.result
  const stored = await rooms.store.blobs.put(Buffer.from(JSON.stringify(result)))
  const committed = done.at === null ? NOTHING_NEW : await guarded(rooms, () => commit(about, done, stored))
  const operations = [...done.operations, ...(committed.ok ? committed.value : committed.done)]
  const no = (failure: Failure): Failed => withGit(withPlace({ status: 'failed', failure }, done.path), operations)
  if (!committed.ok) return no(committed.failure)
  // The journal must record merges in their order, so one at a time.
  return await oneByOne(rooms, owner.plan, async () => {
    const landed = await guarded(rooms, () => merge(about, done.path, stored))
    if (!landed.ok) return no(landed.failure)
    if (landed.value.status === 'conflict') return { ...no(conflict(about, landed.value.paths)), status: 'conflict' }
    const { branch, merge: merged, operations: cleared, kept } = landed.value
    if (merged !== null) operations.push(...(await unrecorded(rooms, owner.plan, branch, merged.before)), merged)
    operations.push(...cleared)
    if (kept !== null) say(`planfold: its worktree stays. ${kept.message}\n`)
    return withGit(result, operations)
  })
}

/** Its work conflicts with other merged work; neither was changed. */
type Conflict = Omit<Failed, 'status'> & { readonly status: 'conflict' }

const NOTHING_NEW = { ok: true, value: [] } as const

async function commit(
  { owner, task, key, attempt, message }: About,
  { at: rooms, changes }: Done,
  result: Sha256,
): Promise<readonly GitOperation[]> {
  if (rooms === null || changes === null) return []
  const written = (await readChanges(rooms, changes)).map(({ path, after }) => [path, after] as const)
  const committed = taken(
    await demandGit(rooms).commitPaths({
      ...owner,
      task,
      paths: contents(rooms, written),
      message,
      actor: ENGINE,
      at: rooms.clock.now(),
      key,
      attempt,
      result,
      ignored: 'leave',
      whenCheckedOut: 'stage',
    }),
  )
  return committed.status === 'unchanged' ? [] : [committed.operation]
}

const merge = async ({ rooms, owner, task, key, base, title }: About, path: string | null, result: Sha256) =>
  taken(
    await demandGit(rooms).landTask({
      ...owner,
      task,
      message: title,
      actor: ENGINE,
      at: rooms.clock.now(),
      key,
      result,
      base,
      path,
    }),
  )

function conflict({ owner, task, mayRunAgain: retryable }: About, paths: readonly string[]): Failure {
  const more = paths.length > NAMED_MAX ? ` and ${paths.length - NAMED_MAX} more` : ''
  const shown = paths.slice(0, NAMED_MAX).map(path => JSON.stringify(path))
  const [into, from] = [`plan/${owner.name}`, `plan/${owner.name}+${task.replaceAll('/', '+')}`]
  return {
    class: 'logic',
    message: `its work on ${from} conflicts with what is in ${into} by now: ${shown.join(', ')}${more}`,
    hint: advise`do it again on top of that: ${next('retry')}; or merge manually (git switch ${into} && git merge ${from} && git switch -), then ${next('skip')}`,
    retryable,
  }
}

const lines = new WeakMap<object, Map<PlanId, Promise<unknown>>>()

async function oneByOne<T>({ store }: Rooms, plan: PlanId, work: () => Promise<T>): Promise<T> {
  const line = lines.get(store) ?? new Map<PlanId, Promise<unknown>>()
  lines.set(store, line)
  const turn = (line.get(plan) ?? Promise.resolve()).then(work, work)
  line.set(plan, turn)
  try {
    return await turn
  } finally {
    if (line.get(plan) === turn) line.delete(plan)
  }
}

function withPlace(failed: Failed, path: string | null): Failed {
  if (path === null) return failed
  const { failure } = failed
  const hints: readonly Hint[] = [...(failure.hint === undefined ? [] : [failure.hint]), `what it left is in ${path}`]
  return { ...failed, failure: { ...failure, hint: joinHints(hints, '; ') } }
}

const withGit = <T extends Result>(result: T, git: readonly GitOperation[]): T =>
  git.length === 0 ? result : { ...result, git }

const failedFor = (message: string): Failed => ({
  status: 'failed',
  failure: { class: 'resource', message: `what it writes cannot be seen: ${message}`, retryable: true },
})

/** Does it run a command or read a file, so that it must see the plan's branch? */
function looksAtFiles({ accept = [], postconditions = [], outputs }: TaskDefinition, action: string): boolean {
  if (action === 'run' || action === 'verify') return true
  const checks = [...accept, ...postconditions].some(one => commandOf(one) !== null)
  return checks || Object.values(outputs ?? {}).some(({ from }) => from === 'file')
}

const GIVEN_UP: Interrupted = { status: 'interrupted', reason: 'another process took over the plan' }
