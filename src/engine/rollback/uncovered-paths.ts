// What a task changed and nobody could store: too big, too many, no regular file. It is named when the task ends and when it is rolled back, because
// a rollback leaves it as it is.

import { lstatSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import type { Millis } from '../../domain/id.ts'
import type { Result, Uncovered, UncoveredPath } from '../../domain/result.ts'
import type { LeftOut } from '../../workspace/workspace.ts'
import type { Rooms } from '../rooms.ts'

const NAMED_MAX = 100
/** File systems mark changes by a clock that is a little late. */
const MARK_LATE_MS = 10

export function uncoveredOf(all: readonly UncoveredPath[]): { readonly uncovered?: Uncovered } {
  const more = all.length - NAMED_MAX
  const paths = all.slice(0, NAMED_MAX)
  return all.length === 0 ? {} : { uncovered: { paths, ...(more > 0 ? { more } : {}) } }
}

/** Of what could not be stored: that which was changed since then, or is gone. */
export function changedUnstored({ root }: Rooms, left: readonly LeftOut[], since: Millis): readonly UncoveredPath[] {
  return left.flatMap(({ path, reason }): readonly UncoveredPath[] => {
    const stat = statOf(root, path)
    if (stat === undefined) return [{ path, reason, gone: true }]
    return stat === null || stat.ctimeMs >= since - MARK_LATE_MS ? [{ path, reason }] : []
  })
}

/** What an attempt named, as far as it is still there, or was there before. */
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

/** Undefined where nothing stands; null for a name that is no text, or cannot be looked at, of which nobody can say. */
export function statOf(root: string, path: string): Stats | null | undefined {
  if (/\p{Surrogate}/u.test(path)) return null
  try {
    return lstatSync(join(root, path), { throwIfNoEntry: false })
  } catch {
    return null
  }
}
