// Finds the change log for users; in repositories with one, a change without an entry would not pass the review.

import { isChangeLog, type Limit, sparedParts } from '../goal-limits.ts'
import type { PastChange } from '../planner.ts'
import { roleOf } from '../ranking/file-role.ts'
import type { WorkStep } from '../work-steps.ts'

/** At least this many log changes per source change, */
const HABIT = 0.25
/** and this many made together with source: a log written only by releases or bots does not count. */
const TOGETHER = 0.08
const CHANGES_MIN = 4

/** Null if there is none, if most changes omit it, or if the goal excludes it. */
export function changeLog({
  paths,
  history,
  limits,
}: {
  readonly paths: readonly string[]
  readonly history: readonly PastChange[]
  readonly limits: readonly Limit[]
}): string | null {
  if (sparedParts(limits).some(part => part === 'changelog' || part === 'docs')) return null
  const logs = paths.filter(isChangeLog)
  const changes = history.filter(({ files }) => files.some(path => roleOf(path) === 'source'))
  const share = (path: string, of: readonly PastChange[]): number =>
    of.filter(({ files }) => files.includes(path)).length / Math.max(changes.length, CHANGES_MIN)
  const best = logs.toSorted((a, b) => share(b, history) - share(a, history))[0]
  if (best === undefined) return null
  return share(best, history) >= HABIT && share(best, changes) >= TOGETHER ? best : null
}

/** Fixes, features, removals and speed are noted; refactoring, tests and docs are not. */
export const isNoted = ({ kind, scope, id }: WorkStep, goalKind: string): boolean =>
  kind === 'implement' &&
  id !== 'tidy' &&
  (id === 'remove' || goalKind !== 'refactor') &&
  !['failing-test', 'failing-command', 'flaky-test', 'docs', 'empty-repository'].includes(goalKind) &&
  (scope === 'both' || scope === 'holding')
