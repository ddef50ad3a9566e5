// Which files a visit of a task changed, found by comparing them before and after. With a declared scope only the scope is compared,
// otherwise all files. The change set is stored as a blob, and the result of the attempt names it.

import type { Sha256 } from '../../domain/id.ts'
import { isA } from '../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { isWatched, keepsToScope, scopeOf } from '../../domain/plan-rules/effect.ts'
import type { Failure, GitStanding, Prepared, Uncovered, WorkspaceStamp, Wrote } from '../../domain/result.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { orElseAsync } from '../../safety/safety-refusal.ts'
import type { Change, LeftOut } from '../../workspace/workspace.ts'
import { ShortageMet, throwIfShort } from '../loop/shortage.ts'
import type { Rooms } from '../rooms.ts'
import { changedUnstored, uncoveredOf } from './uncovered-paths.ts'

export type Look = Pick<Prepared, 'preimage' | 'before' | 'around' | 'unwatched'>

/** A snapshot of all files before a task without a scope, or `taken` if one was made just now; empty if its files are not watched. */
export async function snapshotBefore(rooms: Rooms, state: PlanState, task: TaskState, taken?: Sha256): Promise<Look> {
  if (rooms.snapshots === undefined || !isWatched(state, task.definition)) return {}
  return taken === undefined ? await lookAtAll(rooms, state) : { before: taken }
}

/** Before work in a worktree: the scope of a task that keeps to it, else all files. */
export async function snapshotWorktree(
  rooms: Rooms,
  state: PlanState,
  definition: TaskDefinition | null,
): Promise<Look> {
  if (definition === null || !keepsToScope(state.definition, definition)) return await lookAtAll(rooms, state)
  const captured = throwIfShort(await rooms.workspace.capture(scopeOf(state.definition, definition) ?? []))
  return captured.ok ? { preimage: captured.manifest } : { unwatched: captured.failure.message }
}

async function lookAtAll(rooms: Rooms, state: PlanState): Promise<Look> {
  if (rooms.snapshots === undefined) return { unwatched: 'this engine was opened without file snapshots' }
  const taken = throwIfShort(await rooms.snapshots.snapshot({ scopes: scopesOf(state) }))
  return taken.ok ? { before: taken.manifest } : { unwatched: taken.failure.message }
}

/** Captures the files before an agent works on a claimed task. */
export async function captureBeforeClaim(rooms: Rooms, state: PlanState, task: TaskState): Promise<Look> {
  const { write } = task.definition
  if (!isWatched(state, task.definition)) return {}
  if (write === undefined)
    return await snapshotBefore(rooms, state, task).catch((error: unknown): Look => {
      if (!(error instanceof ShortageMet)) throw error
      return { unwatched: error.message }
    })
  const captured = await rooms.workspace.capture(write)
  if (!captured.ok) return { unwatched: captured.failure.message }
  const around = await rooms.snapshots?.snapshot({ scopes: scopesAround(state) })
  return { preimage: captured.manifest, ...(around?.ok === true ? { around: around.manifest } : {}) }
}

/** Ignore files are included even if they ignore themselves, so that a new one cannot hide anything. */
export const scopesAround = (state: PlanState): readonly string[] => [...scopesOf(state), ...IGNORE_FILES]

const IGNORE_FILES = ['.gitignore', '.planfoldignore', '*/.gitignore', '*/.planfoldignore']

/** Null if nothing was captured before, or the files cannot be read now. Throws a shortage, so that it can be retried. */
export async function changesSince(rooms: Rooms, state: PlanState, look: Look | null): Promise<Wrote | null> {
  return (await writtenSince(rooms, state, look, null)).wrote
}

/** Like `changesSince`, plus changes that could not be stored. */
export async function writtenSince(
  rooms: Rooms,
  state: PlanState,
  look: Look | null,
  task: Pick<TaskState, 'definition' | 'startedAt'> | null,
): Promise<{ readonly wrote: Wrote | null; readonly uncovered?: Uncovered }> {
  const { preimage, before } = look ?? {}
  if (preimage === undefined && before === undefined) return { wrote: null }
  const [found, git] = await Promise.all([
    preimage === undefined ? snapshotSince(rooms, state, before!) : rooms.workspace.changesSince(preimage),
    gitStanding(rooms),
  ])
  // If files cannot be read now, the changes can be computed later: the earlier snapshot is kept and named in the journal.
  if (!throwIfShort(found).ok) {
    const reason = found.ok ? undefined : found.failure?.message
    const scope = preimage === undefined || task === null ? null : scopeOf(state.definition, task.definition)
    return { wrote: null, ...uncoveredOf(reason === undefined ? [] : [{ path: scope?.join(', ') ?? '.', reason }]) }
  }
  const { changes, left } = found as Extract<typeof found, { ok: true }>
  const wrote = {
    changes: await keepChanges(rooms, changes),
    paths: changes.length,
    ...(left.length === 0 ? {} : { left: left.length }),
    ...('snapshot' in found ? { snapshot: found.snapshot } : {}),
    ...(git === null ? {} : { git }),
  }
  return { wrote, ...uncoveredOf(changedUnstored(rooms, left, task?.startedAt ?? 0)) }
}

export async function keepChanges(rooms: Rooms, changes: readonly Change[]): Promise<Sha256 | null> {
  return changes.length === 0 ? null : await rooms.store.blobs.put(Buffer.from(JSON.stringify(changes)))
}

/** Throws if the change set is missing, since nothing can be decided without it. */
export async function readChanges(rooms: Rooms, id: Sha256): Promise<readonly Change[]> {
  const stored = await rooms.store.blobs.get(id)
  if (stored === null) throw new MissingChanges(id)
  return JSON.parse(Buffer.from(stored).toString()) as readonly Change[]
}

/** A change set of another plan; null if it is missing, so that one plan's loss does not stop another. */
export const readOthersChanges = (rooms: Rooms, id: Sha256): Promise<readonly Change[] | null> =>
  orElseAsync(() => readChanges(rooms, id), null, isA(MissingChanges))

/** A change set that the journal names is missing from the content store. */
export class MissingChanges extends Error {
  override readonly name = 'MissingChanges'
  constructor(id: Sha256) {
    super(`the list of changes ${id} is missing from the content store`)
  }
}

/** The files and the commit as they are now, for a checkpoint. `short`: what to do if there is no space to store the files. */
export async function standingNow(
  rooms: Rooms,
  state: PlanState,
  short: 'report' | 'throw' = 'report',
): Promise<WorkspaceStamp> {
  const [taken, git] = await Promise.all([
    rooms.snapshots?.snapshot({ scopes: scopesOf(state) }) ?? null,
    gitStanding(rooms),
  ])
  if (taken !== null && short === 'throw') throwIfShort(taken)
  const files =
    taken === null
      ? { lacks: 'this engine was opened without file snapshots' }
      : taken.ok
        ? {
            snapshot: taken.manifest,
            files: taken.files,
            ...(taken.left.length === 0 ? {} : { left: taken.left.length }),
          }
        : { lacks: taken.failure.message }
  return { ...files, ...(git === null ? {} : { git }), about: rooms.about }
}

/** Declared scopes are captured even if they are ignored. */
const scopesOf = ({ definition }: Pick<PlanState, 'definition'>): readonly string[] => declaredScopes(definition)

export function declaredScopes(definition: PlanDefinition): readonly string[] {
  const scopes = new Set(definition.policy?.write ?? [])
  for (const { write } of definition.tasks) if (write !== undefined) for (const one of write) scopes.add(one)
  return [...scopes]
}

async function snapshotSince(
  { snapshots }: Rooms,
  state: PlanState,
  before: Sha256,
): Promise<
  | { ok: true; changes: readonly Change[]; left: readonly LeftOut[]; snapshot: Sha256 }
  | { ok: false; failure?: Failure }
> {
  const taken = await snapshots?.snapshot({ scopes: scopesOf(state) })
  if (snapshots === undefined || taken === undefined) return { ok: false }
  if (!taken.ok) return { ok: false, failure: taken.failure }
  const found = await snapshots.diff(before, taken.manifest)
  return found.ok ? { ok: true, changes: found.changes, left: found.left, snapshot: taken.manifest } : found
}

export async function gitStanding({ git }: Rooms): Promise<GitStanding | null> {
  const found = await git?.standing()
  return found?.ok === true ? found.value : null
}
