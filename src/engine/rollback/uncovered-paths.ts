// Changes of a task that could not be stored: files that are too big, too many, or not regular. They are listed when the task ends and when
// it is rolled back, because a rollback leaves them.

import { lstatSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import type { Millis } from '../../domain/id.ts'
import { orElse } from '../../domain/json.ts'
import type { Result, Uncovered, UncoveredPath } from '../../domain/result.ts'
import type { LeftOut } from '../../workspace/workspace.ts'
import type { Rooms } from '../rooms.ts'

const NAMED_MAX = 100
/** Timestamps of file systems lag slightly behind the clock. */
const MARK_LATE_MS = 10

export function uncoveredOf(all: readonly UncoveredPath[]): { readonly uncovered?: Uncovered } {
  const more = all.length - NAMED_MAX
  const paths = all.slice(0, NAMED_MAX)
  return all.length === 0 ? {} : { uncovered: { paths, ...(more > 0 ? { more } : {}) } }
}

/** Unstored files that were changed since then, are gone, or cannot be read. */
export function changedUnstored({ root }: Rooms, left: readonly LeftOut[], since: Millis): readonly UncoveredPath[] {
  return left.flatMap(({ path, reason }): readonly UncoveredPath[] => {
    const stat = statOf(root, path)
    if (stat === undefined) return [{ path, reason, gone: true }]
    return stat === null || stat.ctimeMs >= since - MARK_LATE_MS ? [{ path, reason }] : []
  })
}

/** Unstored files of an attempt that still exist, or existed before it. */
export function unstoredBy({ root }: Rooms, { uncovered }: Result): readonly UncoveredPath[] {
  const { paths = [], more } = uncovered ?? {}
  return [
    ...paths.filter(({ path, gone }) => gone === true || statOf(root, path) !== undefined),
    ...(more === undefined ? [] : [{ path: '…', reason: `${more} more paths` }]),
  ]
}

export const leftUncovered = ({ path, reason, gone }: UncoveredPath): LeftOut => ({
  path,
  reason: `${reason}; it was not saved, so it ${gone === true ? 'cannot be restored' : 'stays as it is'}`,
  uncovered: true,
})

/** Undefined if nothing exists there; null if it cannot be read, or its name is not valid text. */
export function statOf(root: string, path: string): Stats | null | undefined {
  if (/\p{Surrogate}/u.test(path)) return null
  return orElse(() => lstatSync(join(root, path), { throwIfNoEntry: false }), null)
}
