// When a task is done once more, by hand or because an outcome leads back to it, it begins with the files as they stand: nothing is
// set back. Somebody may have worked on them since its visit before. A later attempt of its first visit begins with the edits that
// somebody chose to keep. Where the task writes over either, it is found here, so that it is told and can be restored.

import type { Wrote } from '../../domain/result.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import { type Look, readChanges } from '../rollback/attempt-changes.ts'
import { isSame } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'
import { changesOf, entriesAfter } from './other-plans.ts'

const PATHS_TOLD_MAX = 100

type Tried = Pick<TaskState, 'definition' | 'visit' | 'attempt'>

/** What was written, with the paths that somebody had changed since the visit before, or since the first attempt began. */
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
  const more = paths.length - PATHS_TOLD_MAX
  return { ...wrote, overwrote: { paths: paths.slice(0, PATHS_TOLD_MAX), ...(more > 0 ? { more } : {}) } }
}

/** The versions that were written over; where there were too many to name them, all that were replaced. */
export const overwrittenIn = (changes: readonly Change[], { paths, more }: NonNullable<Wrote['overwrote']>) =>
  changes.filter(change => isReplaced(change) && (more !== undefined || paths.includes(change.path)))

const isFirst = ({ visit, attempt }: Tried): boolean => visit < 2 && attempt < 2

const isReplaced = ({ before }: Change): boolean => before !== null && before.type !== 'directory'

/** The paths that stood otherwise when the visit, or the later attempt of the first one, began than the plan had left them. */
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

/** How the files stood before the last attempt of an earlier visit (of the first visit, its first), and what the plan left since. */
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
        // A later attempt of a visit around which all files are compared is held against the first look.
        if (preimage === undefined && before === undefined) continue
        if (visit > 1 || !isLookedAt) {
          earlier = { preimage, before }
          left.clear()
        }
        isLookedAt = true
      }
      // What was set back stands as it stood before.
      if (event.type === 'workspace.restored') for (const path of event.files ?? []) left.delete(path)
      const changes = event.type === 'files.restored' ? event.changes : changesOf(event)
      if (changes !== null) for (const { path, after } of await readChanges(rooms, changes)) left.set(path, after)
    }
  }
  return { earlier, left }
}
