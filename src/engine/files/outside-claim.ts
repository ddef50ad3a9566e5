// What changed outside the write scope of a claimed task since it was claimed: all files are compared around the claim. What lies in the
// scope of another task that worked meanwhile, of this plan or of another one, or is what such a task recorded, is that task's affair.

import type { Event } from '../../domain/event.ts'
import { reservedScope } from '../../domain/reservation.ts'
import type { Beside } from '../../domain/result.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { inScope } from '../../safety/scope.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import { readChanges } from '../rollback/attempt-changes.ts'
import { foldersAbove } from '../rollback/unclaimed-paths.ts'
import { isSame } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'
import { besideOf } from './beyond-scope.ts'
import { changesOf, entriesAfter, otherPlans } from './other-plans.ts'

export interface OutsideClaim {
  /** Part of the task: the plan was revised meanwhile, or a person said so. With the folders that were made for it. */
  readonly own: readonly Change[]
  /** Said to be somebody else's. */
  readonly others: readonly Change[]
  /** Nobody has said whose it is. */
  readonly unexplained: readonly Change[]
}

/** `notMine`: patterns of what the reporter says is not its work. Null where nobody looked before. */
export async function outsideClaim(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  notMine: readonly string[] = [],
): Promise<OutsideClaim | null> {
  const { around, outside = {} } = task.prepared ?? {}
  const { write = [] } = task.definition
  if (around === undefined || rooms.snapshots === undefined) return null
  const found = await rooms.snapshots.diff(around, 'now')
  if (!found.ok) return null
  const isOthers = await workedMeanwhile(rooms, state, task)
  const files = found.changes.filter(change => !isFolder(change) && !isOthers(change))
  const isOwn = ({ path }: Change) => inScope(write, path) || (Object.hasOwn(outside, path) && outside[path] === 'task')
  const isDisclaimed = ({ path }: Change) =>
    (Object.hasOwn(outside, path) && outside[path] === 'other') || inScope(notMine, path)
  const own = files.filter(isOwn)
  const folders = new Set(own.flatMap(({ path }) => [...foldersAbove(path)]))
  const rest = files.filter(change => !isOwn(change))
  return {
    own: [...own, ...found.changes.filter(change => isFolder(change) && folders.has(change.path))],
    others: rest.filter(isDisclaimed),
    unexplained: rest.filter(change => !isDisclaimed(change)),
  }
}

/** `disclaimed`: somebody said that it is not its work. */
export function besideClaim(changes: readonly Change[], disclaimed: boolean): { readonly beside?: Beside } {
  if (changes.length === 0) return {}
  const paths = (isNew: boolean) => changes.filter(({ before }) => (before === null) === isNew).map(({ path }) => path)
  return { beside: { ...besideOf(paths(true), paths(false)), ...(disclaimed ? { disclaimed } : {}) } }
}

const isFolder = ({ before, after }: Change): boolean => (after ?? before)?.type === 'directory'

/** Is a change the affair of another task that was at work at some time since the files were looked at? */
async function workedMeanwhile(
  rooms: Rooms,
  state: PlanState,
  { definition: { id }, prepared }: TaskState,
): Promise<(change: Change) => boolean> {
  const entries = await entriesAfter(rooms.store, state.id, 0)
  const isLook = (event: Event) => event.type === 'attempt.started' && event.around === prepared?.around
  const since = entries.find(({ events }) => events.some(isLook))?.now ?? 0
  const scopes = state.order
    .filter(({ definition, attempt, status, endedAt }) => {
      const isAtWork = status === 'running' || (endedAt ?? 0) >= since
      return definition.id !== id && attempt > 0 && isAtWork
    })
    .map(({ definition }) => reservedScope(state.definition, definition))
  const beside = await otherPlans(rooms, { plan: state.id, place: state.place, since })
  const all = [...scopes, ...beside.reserved(since)]
  const told = new Map<string, (TreeEntry | null)[]>()
  const tell = ({ path, after }: Change) => told.set(path, [...(told.get(path) ?? []), after])
  for (const change of beside.changes) tell(change)
  for (const { now, events } of entries)
    for (const event of now < since ? [] : events) {
      const changes = event.type === 'files.restored' ? event.changes : changesOf(event)
      if (changes !== null) for (const change of await readChanges(rooms, changes)) tell(change)
    }
  return ({ path, after }) =>
    all.some(scope => inScope(scope, path)) || told.get(path)?.some(entry => isSame(entry, after)) === true
}
