// The file in which a repository notes what changed for its users: a change that leaves it out comes back from the review.

import { type Limit, sparedParts } from '../goal-limits.ts'
import type { PastChange } from '../planner.ts'
import { roleOf } from '../ranking/file-role.ts'
import type { WorkStep } from '../work-steps.ts'

const NAME = /(?:^|\/)(?:CHANGE(?:LOG|S)|HISTORY|NEWS|RELEASE[_-]?NOTES)(?:\.(?:md|rst|txt|markdown|adoc))?$/i
/** Of the earlier changes of the source, so many have to note theirs. */
const HABIT = 0.25
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
  const logs = paths.filter(path => NAME.test(path))
  const changes = history.filter(({ files }) => files.some(path => roleOf(path) === 'source'))
  const [best] = logs
    .map(path => ({ path, times: changes.filter(({ files }) => files.includes(path)).length }))
    .sort((a, b) => b.times - a.times)
  if (best === undefined || changes.length < CHANGES_MIN) return null
  return best.times / changes.length >= HABIT ? best.path : null
}

/** Users notice what is fixed, added, removed or faster; not how the code is cut, nor tests and texts. */
export const isNoted = ({ kind, scope, id }: WorkStep, goalKind: string): boolean =>
  kind === 'implement' &&
  id !== 'tidy' &&
  (id === 'remove' || goalKind !== 'refactor') &&
  !['failing-test', 'failing-command', 'flaky-test', 'docs', 'empty-repository'].includes(goalKind) &&
  (scope === 'both' || scope === 'holding')
