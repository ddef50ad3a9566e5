// What changed outside the write scope of a claimed task since it was claimed: all files are compared around the claim. What another task, of
// this plan or of another one, recorded meanwhile is left out, and so is what changed in its scope while it is at work.

import type { Event } from '../../domain/event.ts'
import type { Millis } from '../../domain/id.ts'
import { reservedScope } from '../../domain/reservation.ts'
import type { OutsideChanges, UncoveredPath } from '../../domain/result.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { inScope } from '../../safety/scope.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import { readOthersChanges, scopesAround } from '../rollback/attempt-changes.ts'
import { foldersAbove } from '../rollback/unclaimed-paths.ts'
import { changedUnstored, statOf } from '../rollback/uncovered-paths.ts'
import { isSame } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'
import { besideOf } from './beyond-scope.ts'
import { changesOf, entriesAfter, otherPlans } from './other-plans.ts'

export interface OutsideClaim {
  /** Part of the task: the plan was revised meanwhile, or a person said so. With the folders that were made for it. */
  readonly own: readonly Change[]
  /** Part of the task as well, but it could not be stored: a rollback leaves it. */
  readonly unstored: readonly UncoveredPath[]
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
  const { around } = task
  const { outside = {} } = task.prepared ?? {}
  const { write = [] } = task.definition
  if (around === undefined || rooms.snapshots === undefined) return null
  const taken = await rooms.snapshots.snapshot({ scopes: scopesAround(state) })
  const found = taken.ok ? await rooms.snapshots.diff(around, taken.manifest) : taken
  if (!found.ok) return null
  const { since, isOthers } = await workedMeanwhile(rooms, state, task)
  // What is too big, or ignored by now, cannot be compared: what was touched since counts as changed.
  const unstored = changedUnstored(rooms, found.left, since)
  const isNewFolder = new Set(found.changes.filter(one => isFolder(one) && one.before === null).map(({ path }) => path))
  const files = [...found.changes, ...unstored.map(({ path }) => ({ path, before: null, after: null }))]
    .filter(change => !isFolder(change) && !isOthers(change) && !isCacheMark(change, isNewFolder))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
  const isOwn = ({ path }: Change) => inScope(write, path) || (Object.hasOwn(outside, path) && outside[path] === 'task')
  const isDisclaimed = ({ path }: Change) =>
    (Object.hasOwn(outside, path) && outside[path] === 'other') || inScope(notMine, path)
  const own = files.filter(change => isOwn(change) && isStored(change))
  const folders = new Set(own.flatMap(({ path }) => [...foldersAbove(path)]))
  const rest = files.filter(change => !isOwn(change))
  return {
    own: [...own, ...found.changes.filter(change => isFolder(change) && folders.has(change.path))],
    unstored: unstored.filter(({ path }) => Object.hasOwn(outside, path) && outside[path] === 'task'),
    others: rest.filter(isDisclaimed),
    unexplained: rest.filter(change => !isDisclaimed(change)),
  }
}

/** `disclaimed`: somebody said that it is not its work. */
export function besideClaim(changes: readonly Change[], disclaimed: boolean): { readonly beside?: OutsideChanges } {
  if (changes.length === 0) return {}
  const paths = (isNew: boolean) =>
    changes.filter(one => (one.before === null && isStored(one)) === isNew).map(({ path }) => path)
  return { beside: { ...besideOf(paths(true), paths(false)), ...(disclaimed ? { disclaimed } : {}) } }
}

/** Neither before nor after is known of what could not be stored. */
const isStored = ({ before, after }: Change): boolean => before !== null || after !== null

/** Tools put a file into a new folder of their own that makes it ignored, such as `.pytest_cache/.gitignore`. */
const isCacheMark = ({ path }: Change, isNewFolder: ReadonlySet<string>): boolean =>
  /\/\.(?:git|planfold)ignore$/.test(path) && isNewFolder.has(path.slice(0, path.lastIndexOf('/')))

const isFolder = ({ before, after }: Change): boolean => (after ?? before)?.type === 'directory'

/** Is a change the affair of another task that was at work meanwhile? Since the files were looked at. */
async function workedMeanwhile(
  rooms: Rooms,
  state: PlanState,
  { definition: { id }, around }: TaskState,
): Promise<{ readonly since: Millis; readonly isOthers: (change: Change) => boolean }> {
  const entries = await entriesAfter(rooms.store, state.id, 0)
  const isLook = (event: Event) => event.type === 'attempt.started' && event.around === around
  const since = entries.find(({ events }) => events.some(isLook))?.now ?? 0
  const beside = await otherPlans(rooms, { plan: state.id, place: state.place, since })
  const atWork = [
    ...state.order
      .filter(({ definition, status }) => definition.id !== id && status === 'running')
      .map(({ definition, startedAt }) => ({
        from: startedAt ?? 0,
        scope: reservedScope(state.definition, definition),
      })),
    ...beside.atWork,
  ]
  const told = new Map<string, (TreeEntry | null)[]>()
  const tell = ({ path, after }: Change) => told.set(path, [...(told.get(path) ?? []), after])
  for (const change of beside.changes) tell(change)
  for (const { now, events } of entries)
    for (const event of now < since ? [] : events) {
      const changes = event.type === 'files.restored' ? event.changes : changesOf(event)
      if (changes !== null) for (const change of (await readOthersChanges(rooms, changes)) ?? []) tell(change)
    }
  // Who is still at work has recorded nothing yet: what changed in its scope since it began is its affair, and will be in its record.
  const isInHand = (path: string) =>
    atWork.some(({ from, scope }) => inScope(scope, path) && changedAt(rooms.root, path) >= from - MARK_LATE_MS)
  return {
    since,
    isOthers: ({ path, after }) => isInHand(path) || told.get(path)?.some(entry => isSame(entry, after)) === true,
  }
}

/** File systems mark changes by a clock that is a little late. */
const MARK_LATE_MS = 50

/** By the file system's own mark, which no program sets; of a path that is gone, that of the nearest folder. */
function changedAt(root: string, path: string): Millis {
  for (const at of [path, ...foldersAbove(path), '.']) {
    const stat = statOf(root, at)
    if (stat != null) return stat.ctimeMs
  }
  return 0
}
