// How earlier attempts of a task ended and what they left, for the next attempt or claimant.

import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { type EarlierAttempt, trialsIn } from '../../domain/views/board.ts'
import { entriesAfter } from '../files/other-plans.ts'
import { readOthersChanges } from '../rollback/attempt-changes.ts'
import type { Rooms } from '../rooms.ts'

const LEFT_MAX = 20

/** Most tasks have no earlier attempt; then nothing is read. */
export async function earlierOf(rooms: Rooms, { id }: PlanState, task: TaskState): Promise<readonly EarlierAttempt[]> {
  if (task.visit === 1 && task.attempt <= 1 && task.failures + task.lost + task.refused === 0) return []
  const entries = await entriesAfter(rooms.store, id, 0)
  const trials = trialsIn(
    entries.flatMap(({ events }) => events),
    task.definition.id,
  )
  const earlier: EarlierAttempt[] = []
  for (const { changes, paths, ...trial } of trials) {
    const known = changes === null ? [] : await readOthersChanges(rooms, changes)
    const all = known?.map(({ path }) => path) ?? []
    const left = paths === null || known === null ? null : { paths: all.slice(0, LEFT_MAX) }
    earlier.push({ ...trial, left: left === null ? null : { ...left, more: Math.max(0, all.length - LEFT_MAX) } })
  }
  return earlier
}
