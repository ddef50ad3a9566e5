// Changes outside the write scope of a claimed task since its claim, found by comparing all files. Changes recorded by another task, of any
// plan, are left out; so are changes in the scope of a task that is running.

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
  /** Belongs to the task, because a revision widened its scope or a person said so. Includes folders created for it. */
  readonly own: readonly Change[]
  /** Belongs to the task too, but could not be stored, so a rollback leaves it. */
  readonly unstored: readonly UncoveredPath[]
  /** The reporter, or a person who was asked, said that it is not the task's work. */
  readonly others: readonly Change[]
  /** Nobody has said whose it is: a report of success is refused. */
  readonly unexplained: readonly Change[]
}

/** `notMine`: patterns of paths that the reporter disclaims. Null if there is no snapshot of the claim, or files cannot be compared now. */
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
  // Large and newly ignored files have no stored version to compare, so a later change time (ctime) counts as a change.
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

/** `disclaimed`: the reporter, or a person who was asked, said that it is not the task's work. */
export function besideClaim(changes: readonly Change[], disclaimed: boolean): { readonly beside?: OutsideChanges } {
  if (changes.length === 0) return {}
  const paths = (isNew: boolean) =>
    changes.filter(one => (one.before === null && isStored(one)) === isNew).map(({ path }) => path)
  return { beside: { ...besideOf(paths(true), paths(false)), ...(disclaimed ? { disclaimed } : {}) } }
}

/** An unstored file has neither version. */
const isStored = ({ before, after }: Change): boolean => before !== null || after !== null

/** Tools write a file into their own new cache folder to make git ignore it, such as `.pytest_cache/.gitignore`. */
const isCacheMark = ({ path }: Change, isNewFolder: ReadonlySet<string>): boolean =>
  /\/\.(?:git|planfold)ignore$/.test(path) && isNewFolder.has(path.slice(0, path.lastIndexOf('/')))

const isFolder = ({ before, after }: Change): boolean => (after ?? before)?.type === 'directory'

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
  const recorded = new Map<string, (TreeEntry | null)[]>()
  const record = ({ path, after }: Change) => recorded.set(path, [...(recorded.get(path) ?? []), after])
  for (const change of beside.changes) record(change)
  for (const { now, events } of entries)
    for (const event of now < since ? [] : events) {
      const changes = event.type === 'files.restored' ? event.changes : changesOf(event)
      if (changes !== null) for (const change of (await readOthersChanges(rooms, changes)) ?? []) record(change)
    }
  // A running task has recorded nothing yet; changes in its scope since its start will be in its record.
  const isInHand = (path: string) =>
    atWork.some(({ from, scope }) => inScope(scope, path) && changedAt(rooms.root, path) >= from - MARK_LATE_MS)
  return {
    since,
    isOthers: ({ path, after }) => isInHand(path) || recorded.get(path)?.some(entry => isSame(entry, after)) === true,
  }
}

/** Timestamps of file systems lag slightly behind the clock. */
const MARK_LATE_MS = 50

/** The change time (ctime), which programs cannot set; for a deleted path, that of its nearest folder. */
function changedAt(root: string, path: string): Millis {
  for (const at of [path, ...foldersAbove(path), '.']) {
    const stat = statOf(root, at)
    if (stat != null) return stat.ctimeMs
  }
  return 0
}
