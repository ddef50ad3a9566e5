// Finds the change log for users, a file or a folder with an entry per change; in repositories with one, a change without an entry
// would not pass the review.

import { isChangeLog, type Limit, sparedParts } from '../goal-limits.ts'
import type { PastChange } from '../planner.ts'
import { roleOf } from '../ranking/file-role.ts'
import { holds } from '../ranking/scope-entries.ts'
import type { WorkStep } from '../work-steps.ts'

/** At least this many log changes per source change, */
const HABIT = 0.25
/** and this many made together with source: a log written only by releases or bots does not count. */
const TOGETHER = 0.08
const CHANGES_MIN = 4
/** How many changes count as the last ones. */
const LAST = 20

interface LogInput {
  readonly paths: readonly string[]
  readonly history: readonly PastChange[]
  readonly limits: readonly Limit[]
}

/** Null if there is none, if most changes omit it, or if the goal excludes it. */
export function changeLog({ paths, history: all, limits }: LogInput): string | null {
  if (isSpared(limits)) return null
  const logs = logsIn(paths, all)
  const history = all.filter(({ message }) => !RELEASE.test(message))
  const changes = history.filter(({ files }) => files.some(path => roleOf(path) === 'source'))
  const share = (log: string, of: readonly PastChange[]): number =>
    of.filter(({ files }) => files.some(path => isIn(log, path))).length / Math.max(changes.length, CHANGES_MIN)
  const best = logs.toSorted((a, b) => share(b, history) - share(a, history))[0]
  if (best === undefined) return null
  return share(best, history) >= HABIT && share(best, changes) >= TOGETHER ? best : null
}

/** The logs around `file` that one of the last changes touched, releases aside: an entry may be written there, though not all do. */
export function openLogs({ paths, history, limits, file }: LogInput & { readonly file: string }): readonly string[] {
  if (isSpared(limits)) return []
  const last = history.slice(0, LAST).filter(({ message }) => !RELEASE.test(message) && !UPKEEP.test(message))
  const isAround = (log: string): boolean => file.startsWith(log.replace(/\/\*\*$/, '').replace(/[^/]*$/, ''))
  return logsIn(paths, history).filter(
    log => isAround(log) && last.some(({ files }) => files.some(path => isIn(log, path))),
  )
}

const RELEASE =
  /^\W*(?:chore\(?release|(?:chore|build)?\W*(?:prepare |publish |cut )?(?:a |new )?(?:release|version)|v?\d+\.\d+|bump (?:the )?(?:version:? )?(?:to )?v?\d|(?:bump|update|set) version)/i

/** Such a change may format every file. */
const UPKEEP = /^(?:chore|style|build|ci)\b/i

const isSpared = (limits: readonly Limit[]): boolean =>
  sparedParts(limits).some(part => part === 'changelog' || part === 'docs')

const isIn = (log: string, path: string): boolean => path === log || holds(log, path)

/** Folders as `changelog.d/**`; their files are removed by each release, so the history tells as well. */
function logsIn(paths: readonly string[], history: readonly PastChange[]): readonly string[] {
  const past = history.slice(0, LAST).flatMap(({ files }) => files)
  const folders = [...paths, ...past].flatMap(path => FRAGMENT.exec(path)?.[1] ?? [])
  return [
    ...paths.filter(path => isChangeLog(path) && !FRAGMENT.test(path)),
    ...new Set(folders.map(one => `${one}/**`)),
  ]
}

const FRAGMENT =
  /^((?:[\w@.-]+\/)*(?:\.changeset|\.changes|\.chronus\/changes|change(?:log|s)?\.d|changelogs?\/(?:unreleased|next|fragments)|news\.d|newsfragments?|releasenotes\/notes))\/(?!README|config)[^/]+\.(?:md|rst|txt|ya?ml)$/i

/** Fixes, features, removals and speed are noted; refactoring, tests and docs are not. */
export const isNoted = ({ kind, scope, id }: WorkStep, goalKind: string): boolean =>
  kind === 'implement' &&
  id !== 'tidy' &&
  (id === 'remove' || goalKind !== 'refactor') &&
  !['failing-test', 'failing-command', 'flaky-test', 'docs', 'empty-repository'].includes(goalKind) &&
  (scope === 'both' || scope === 'holding')
