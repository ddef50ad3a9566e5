// Applies the commands' results of today to the draft: a goal about checks becomes one about the failing commands and their
// files; other goals only get a note of what already fails.

import { shellLine } from '../end-checks.ts'
import type { GoalWords } from '../goal.ts'
import type { JudgedGoal } from '../goal-kind.ts'
import type { EndCheck } from '../kinds/end-check.ts'
import { failingToday, type Looked, type LookedCommand, lookedLine, lookedText } from '../look-result.ts'
import type { FoundCommand, FoundCommands, RankedFile } from '../planner.ts'
import { roleOf } from '../ranking/file-role.ts'
import type { Ranking } from '../ranking/rank-files.ts'
import { commandLine, namedCommands } from '../toolchain/named-commands.ts'

const ABOUT_CHECKS =
  /\b(green|red|ci|pipeline|workflow|lint\w*|builds?|types?|typecheck\w*|checks?|compil\w+|(?:tests?|suite) (?:fail\w*|pass\w*|broken)|(?:failing|broken) (?:tests?|suite))\b/i

const CHECKS_GREEN =
  /\b(?:ci|checks?|lint(?:er|s)?|builds?|types?|tests?|suite|pipeline|jobs?)\b.{0,30}\b(?:green|pass(?:es|ing)?|clean|happy)\b/i

/** `make it green` is specific once at least one of the possible commands fails. */
export function judgedToday(
  judged: JudgedGoal,
  goal: GoalWords,
  looked: Looked | undefined,
  commands: FoundCommands,
): JudgedGoal {
  const { wanted, files, symbols, quoted } = goal
  const isOpen = judged.kind === 'vague' && ABOUT_CHECKS.test(wanted)
  const isOther = ['bug', 'feature'].includes(judged.kind) && files.length + symbols.length + quoted.length === 0
  if (looked === undefined || (!isOpen && !(isOther && CHECKS_GREEN.test(wanted)))) return judged
  const candidates = new Set(namedCommands(goal, commands).map(commandLine))
  const first = failingToday(looked).find(one => candidates.has(commandLine(one)))
  if (first === undefined) return judged
  return { ...judged, kind: 'failing-command', because: `'${lookedLine(first)}' fails today`, rival: null }
}

/** Of the commands that may be meant, those that fail or whose result is unknown; all of them if none is known to fail. */
export function endsToday(ends: readonly EndCheck[], looked: Looked | undefined): readonly EndCheck[] {
  const statusOf = ({ command }: EndCheck) => (command === undefined ? undefined : lookedAt(command, looked)?.status)
  if (!ends.some(end => statusOf(end) === 'fails')) return ends
  const first = ends.filter(end => statusOf(end) === 'fails')
  return [...first, ...ends.filter(end => !['fails', 'passes'].includes(statusOf(end) ?? 'unknown'))]
}

const lookedAt = (command: FoundCommand, looked: Looked | undefined): LookedCommand | undefined =>
  looked?.commands.find(one => commandLine(one) === commandLine(command)) ??
  looked?.commands.find(({ run, in: folder }) => commandLine({ run, in: folder }) === commandLine(command))

export function causesToday(
  { kind }: JudgedGoal,
  ends: readonly EndCheck[],
  looked: Looked | undefined,
): readonly LookedCommand[] {
  const failing = failingToday(looked)
  if (kind === 'failing-test') return failing.filter(({ purpose }) => purpose === 'test')
  if (kind !== 'failing-command') return []
  const lines = new Set(ends.flatMap(({ command }) => (command === undefined ? [] : [commandLine(command)])))
  return failing.filter(one => lines.has(commandLine(one)))
}

/** Files named in failures come first. */
export function placedToday(ranking: Ranking, causes: readonly LookedCommand[], paths: readonly string[]): Ranking {
  if (causes.length === 0) return ranking
  const known = new Set(paths)
  const named = new Map<string, RankedFile>()
  for (const cause of causes)
    for (const { file: path, line } of cause.places) {
      const reason = `'${lookedLine(cause)}' fails ${line === null ? 'in it' : `at line ${line}`} today`
      if (known.has(path) && !named.has(path)) named.set(path, { path, score: ranking.files[0]?.score ?? 1, reason })
    }
  const first = [...named.values()]
  const others = ({ path }: RankedFile): boolean => !named.has(path)
  // If only tests fail, the fault is in the code they test.
  const isTest = ({ path }: RankedFile): boolean => roleOf(path) === 'test'
  const isOfTests = causes.every(({ purpose }) => purpose === 'test')
  return {
    ...ranking,
    files: [...first.filter(one => !(isOfTests && isTest(one))), ...ranking.files.filter(others)],
    tests: [...(isOfTests ? first.filter(isTest) : []), ...ranking.tests.filter(others)],
  }
}

/** A linter names the files to change; other checks may fail far from the cause. */
export function scopeToday(causes: readonly LookedCommand[], ends: readonly EndCheck[]): readonly string[] | null {
  const isAll = causes.length > 0 && causes.length === ends.length
  if (!isAll || causes.some(({ purpose, places }) => purpose !== 'lint' || places.length >= NAMED_MAX)) return null
  return [...new Set(causes.flatMap(({ places }) => places.map(({ file }) => file)))]
}

/** A list of this length may have been truncated. */
const NAMED_MAX = 40

/** A note for goals about something else. */
export const redToday = (looked: Looked | undefined, causes: readonly LookedCommand[]): readonly string[] =>
  failingToday(looked)
    .filter(one => !causes.includes(one))
    .map(one => `red before this plan: ${lookedText(one)}`)

const TOLD_MAX = 12

/** The output of the commands, each line quoted. */
export const printedToday = (causes: readonly LookedCommand[]): readonly string[] =>
  causes.flatMap(cause => [
    '',
    `When this was drafted, \`${shellLine(cause.run)}\` printed:`,
    ...cause.lines.slice(0, TOLD_MAX).map(line => `> ${line}`),
  ])
