// The file in which a repository notes what changed for its users: a change that leaves it out comes back from the review.

import { isChangeLog, type Limit, sparedParts } from '../goal-limits.ts'
import type { PastChange } from '../planner.ts'
import { roleOf } from '../ranking/file-role.ts'
import type { WorkStep } from '../work-steps.ts'

/** To so many changes of the source there has to be one of the log, */
const HABIT = 0.25
/** and so many have to be made with the source: a log that only a release or a robot writes is left to them. */
const TOGETHER = 0.08
const CHANGES_MIN = 4

/** Null where there is none, where most changes leave it out, or where the goal wants it left alone. */
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

/** Users notice what is fixed, added, removed or faster; not how the code is cut, nor tests and texts. */
export const isNoted = ({ kind, scope, id }: WorkStep, goalKind: string): boolean =>
  kind === 'implement' &&
  id !== 'tidy' &&
  (id === 'remove' || goalKind !== 'refactor') &&
  !['failing-test', 'failing-command', 'flaky-test', 'docs', 'empty-repository'].includes(goalKind) &&
  (scope === 'both' || scope === 'holding')
