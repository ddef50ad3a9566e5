// Finds edits of people that a task overwrote, so that they are reported and can be restored. A second visit starts with the files as they
// are, without a restore, and a person may have edited them since the first visit. A retry of the first visit starts with the edits that a
// person chose to keep.

import type { Wrote } from '../../domain/result.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import { type Look, readChanges } from '../rollback/attempt-changes.ts'
import { isSame } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'
import { changesOf, entriesAfter } from './other-plans.ts'

const PATHS_NAMED_MAX = 100

type Tried = Pick<TaskState, 'definition' | 'visit' | 'attempt'>

/** Adds to the result the overwritten paths that a person had edited before the visit, or before the retry. */
export async function withOverwritten(
  rooms: Rooms,
  state: PlanState,
  task: Tried,
  look: Look | null,
  wrote: Wrote | null,
): Promise<Wrote | null> {
  if (wrote === null || wrote.changes === null || look === null || isFirst(task)) return wrote
  const replaced = (await readChanges(rooms, wrote.changes)).filter(isReplaced)
  if (replaced.length === 0) return wrote
  const edited = await editedBetween(rooms, state, task, look)
  const paths = replaced.map(({ path }) => path).filter(path => edited.has(path))
  if (paths.length === 0) return wrote
  const more = paths.length - PATHS_NAMED_MAX
  return { ...wrote, overwrote: { paths: paths.slice(0, PATHS_NAMED_MAX), ...(more > 0 ? { more } : {}) } }
}

/** The overwritten versions; if there were too many to list, all replaced versions. */
export const overwrittenIn = (changes: readonly Change[], { paths, more }: NonNullable<Wrote['overwrote']>) =>
  changes.filter(change => isReplaced(change) && (more !== undefined || paths.includes(change.path)))

const isFirst = ({ visit, attempt }: Tried): boolean => visit < 2 && attempt < 2

const isReplaced = ({ before }: Change): boolean => before !== null && before.type !== 'directory'

/** Paths that differed, when the visit or the retry began, from what the plan had left. */
async function editedBetween(rooms: Rooms, state: PlanState, task: Tried, look: Look): Promise<ReadonlySet<string>> {
  const { earlier, left } = await leftSince(rooms, state, task)
  const found =
    look.preimage !== undefined && earlier.preimage !== undefined
      ? await rooms.workspace.compare(earlier.preimage, look.preimage)
      : look.before !== undefined && earlier.before !== undefined
        ? await rooms.snapshots?.diff(earlier.before, look.before)
        : undefined
  if (found?.ok !== true) return new Set()
  const isEdit = ({ path, after }: Change) => !left.has(path) || !isSame(left.get(path) ?? null, after)
  return new Set(found.changes.filter(isEdit).map(({ path }) => path))
}

/** Files before the last attempt of an earlier visit (for the first visit: before its first attempt), and what the plan left since. */
async function leftSince(
  rooms: Rooms,
  { id: plan }: PlanState,
  { definition: { id: task }, visit, attempt }: Tried,
): Promise<{ readonly earlier: Look; readonly left: ReadonlyMap<string, TreeEntry | null> }> {
  let earlier: Look = {}
  let isLookedAt = false
  const left = new Map<string, TreeEntry | null>()
  for (const { events } of await entriesAfter(rooms.store, plan, 0)) {
    for (const event of events) {
      if (event.type === 'attempt.started' && event.task === task) {
        if (event.visit >= visit && (visit > 1 || event.attempt >= attempt)) return { earlier, left }
        const { preimage, before } = event
        // With snapshots of all files, a retry is compared with the first snapshot of the visit.
        if (preimage === undefined && before === undefined) continue
        if (visit > 1 || !isLookedAt) {
          earlier = { preimage, before }
          left.clear()
        }
        isLookedAt = true
      }
      // A restored path is as before the attempt.
      if (event.type === 'workspace.restored') for (const path of event.files ?? []) left.delete(path)
      const changes = event.type === 'files.restored' ? event.changes : changesOf(event)
      if (changes !== null) for (const { path, after } of await readChanges(rooms, changes)) left.set(path, after)
    }
  }
  return { earlier, left }
}
