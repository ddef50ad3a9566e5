// Compares a test run with an earlier one. Green: nothing fails that did not fail before, no test is missing, and at least one new
// test passes if new ones are wanted. Red: a new test fails, and the others are as before.

import type { TestsCriterion } from '../../domain/plan-values.ts'
import { matchesPattern, matchesWord } from '../../domain/policy/pattern.ts'
import type { TestChanges } from '../../domain/result.ts'
import type { TestResults } from './seen-tests.ts'

/** The result of a test command; `results` is null if its output cannot be parsed into tests. */
export interface TestOutcome {
  readonly exit: number | null
  readonly results: TestResults | null
}

export interface Compared {
  /** Null: unknown. */
  readonly holds: boolean | null
  readonly evidence: string
  readonly changed: TestChanges
  /** A new failure, worth a second run. */
  readonly isDoubtful: boolean
}

export interface Others {
  /** Null if there is no baseline: then no test may fail. */
  readonly before: TestOutcome | null
  /** The second run, if there was one. */
  readonly again: TestOutcome | null
  /** Names of new tests that failed when the plan required a failing test. */
  readonly proven: readonly string[]
  /** The command itself failed in that run. */
  readonly wasRed: boolean
}

type Wanted = Pick<TestsCriterion, 'new' | 'red' | 'fewer'>

export function compareTests(wanted: Wanted, now: TestOutcome, others: Others): Compared {
  if (now.results === null) return comparedWhole(wanted, now, others)
  const before = others.before?.results ?? null
  const wasWhole = others.before !== null && before === null
  const [is, was, again] = [tally(now.results), tally(before), tally(others.again?.results ?? null)]
  const worse = (one: Tally): string[] =>
    [...one].flatMap(([name, { failed }]) => (failed > (was.get(name)?.failed ?? 0) ? [name] : []))
  const failing = worse(is)
  const still = others.again?.results == null ? failing : failing.filter(name => worse(again).includes(name))
  const flaky = failing.filter(name => !still.includes(name))
  const isNew = (name: string): boolean => !was.has(name) && matchesNew(is.get(name)!, name, wanted.new)
  const passes = (name: string): boolean => (is.get(name)?.passed ?? 0) > 0 && is.get(name)!.failed === 0
  // A file without tests counts as one passing test, e.g. if it exits early; only accepted where tests are written that way.
  const runsFiles =
    before === null ? false : before.tests.some(({ isFile, status }) => isFile === true && status === 'passed')
  const added = [...is.keys()].filter(name => isNew(name) && is.get(name)!.isUnnamed === false)
  const newPassing = [
    ...added.filter(name => passes(name) && !flaky.includes(name) && (!is.get(name)!.isFile || runsFiles)),
    ...grown(now.results, is, was, before, wanted.new),
  ]
  const newFailing = still.filter(isNew)
  const isNamed = ![is, was].some(one => [...one.values()].some(({ isUnnamed }) => isUnnamed))
  const lost = [...was].flatMap(([name, { passed, failed, isBroken }]) => {
    const seen = is.get(name)
    return passed + failed > 0 && !isBroken && (seen === undefined || seen.passed + seen.failed === 0) ? [name] : []
  })
  const skipped = lost.filter(name => (is.get(name)?.skipped ?? 0) > 0)
  const changed = changesOf({
    failing: still,
    passing: [...was].flatMap(([name, { failed }]) => (failed > 0 && passes(name) ? [name] : [])),
    new: before === null ? [] : [...is.keys()].filter(name => !was.has(name) && !is.get(name)!.isUnnamed),
    gone: isNamed ? lost : [],
    flaky,
  })
  const ran = ({ counts }: TestResults): number => counts.passed + counts.failed
  const ofNew = added.reduce(
    (sum, name) => sum + is.get(name)!.passed + is.get(name)!.failed - (is.get(name)!.isBroken ? 1 : 0),
    0,
  )
  const left = ran(now.results) - ofNew
  // A compilation error can keep other files from running, so nothing is concluded about those.
  const isStopped = wanted.red === true && newFailing.some(name => is.get(name)!.isBroken)
  const fewer =
    wanted.fewer === 'allowed' || isStopped || before === null
      ? []
      : [
          ...(left < ran(before)
            ? [`${left} of ${ran(before)} tests are left${isNamed && lost.length > 0 ? `; gone: ${listed(lost)}` : ''}`]
            : []),
          ...(skipped.length > 0 ? [`skipped now: ${listed(skipped)}`] : []),
        ]
  const bad = wanted.red === true ? still.filter(name => !isNew(name)) : still
  const weaker = wanted.red === true ? [] : others.proven.filter(name => !passes(name) && !flaky.includes(name))
  const where = wanted.new === undefined || wanted.new === '**' ? '' : ` in ${wanted.new}`
  const isUnexplained =
    now.exit !== 0 && now.results.counts.failed + now.results.broken.length === 0 && (others.before?.exit ?? 0) === 0
  const faults = [
    ...(bad.length === 0 ? [] : [`${counted(bad)} and did not fail before: ${listed(bad)}`]),
    ...fewer,
    ...(weaker.length === 0 ? [] : [`the test that failed without the change does not pass: ${listed(weaker)}`]),
    ...(wanted.red === true && newFailing.length === 0
      ? [`no new test fails${where}${newPassing.length > 0 ? `; a new one passes already: ${listed(newPassing)}` : ''}`]
      : []),
    ...(wanted.red !== true && wanted.new !== undefined && newPassing.length === 0
      ? [`no new test passes${where}`]
      : []),
    ...(wanted.red !== true && isUnexplained
      ? [`it ended with exit ${now.exit ?? 'none'} although no test failed`]
      : []),
  ]
  const { passed, failed } = now.results.counts
  const details = [
    `${passed} passed, ${failed + now.results.broken.length} failed`,
    ...(flaky.length === 0 ? [] : [`flaky, failed only once in two runs: ${listed(flaky)}`]),
  ]
  const isUnknown = wasWhole && others.before.exit !== 0 && bad.length > 0 && faults.length === 1
  return {
    holds: isUnknown ? null : faults.length === 0,
    evidence: [...faults, ...(isUnknown ? [NAMELESS] : []), ...details].join('; '),
    changed,
    isDoubtful: bad.length > 0 && others.again === null,
  }
}

/** Treats the whole command as one test. */
function comparedWhole({ new: where, red }: Wanted, { exit }: TestOutcome, { before, wasRed }: Others): Compared {
  const ended = `exit ${exit ?? 'none'}`
  const result = (holds: boolean | null, evidence: string): Compared => ({
    holds,
    evidence,
    changed: {},
    isDoubtful: false,
  })
  if (before !== null && before.results !== null && before.results.tests.length > 0)
    return result(false, `${ended}, and no results can be read, where ${before.results.tests.length} tests ran before`)
  const failedBefore = before !== null && before.exit !== 0
  if (red === true) {
    if (exit === 0) return result(false, `no new test fails: ${ended}`)
    return failedBefore
      ? result(null, `${ended}, as before; ${NAMELESS}`)
      : result(true, `${ended}, and it passed before`)
  }
  if (exit !== 0) return failedBefore ? result(null, `${ended}, as before; ${NAMELESS}`) : result(false, ended)
  return where === undefined || failedBefore || wasRed ? result(true, ended) : result(null, `${ended}; ${NAMELESS}`)
}

const NAMELESS =
  'it does not print its tests by name, so this cannot be told: let it print them (a verbose, TAP or JUnit reporter), or judge it yourself'

interface NamedTally {
  passed: number
  failed: number
  skipped: number
  readonly file: string | null
  readonly isFile: boolean
  readonly isBroken: boolean
  readonly isUnnamed: boolean
}
type Tally = ReadonlyMap<string, NamedTally>

/** Counts tests by name. */
function tally(results: TestResults | null): Tally {
  const all = new Map<string, NamedTally>()
  const broken = (results?.broken ?? []).map(name => ({ name, file: name, status: 'failed' as const, isBroken: true }))
  for (const test of [...(results?.tests ?? []), ...broken]) {
    const {
      name,
      file,
      status,
      isFile = false,
      isUnnamed = false,
      isBroken = false,
    } = { isBroken: false, ...test } as typeof test & Partial<NamedTally>
    const entry = all.get(name) ?? { passed: 0, failed: 0, skipped: 0, file, isFile, isBroken, isUnnamed }
    entry[status]++
    all.set(name, entry)
  }
  return all
}

/** Files with more passing tests than before, for runners that do not name passing tests. */
function grown(
  results: TestResults,
  is: Tally,
  was: Tally,
  before: TestResults | null,
  where: string | undefined,
): readonly string[] {
  const named = [...is].flatMap(([name, { isUnnamed, passed, file }]) =>
    isUnnamed &&
    passed > (was.get(name)?.passed ?? 0) &&
    (file !== null || results.passedFiles.length === 0) &&
    matchesNew({ file }, name, where)
      ? [name]
      : [],
  )
  const more = results.counts.passed > (before?.counts.passed ?? 0)
  const files = more
    ? results.passedFiles.filter(
        file => is.get('a test without a name') !== undefined && matchesNew({ file }, file, where),
      )
    : []
  return [...named, ...files]
}

function matchesNew({ file }: Pick<NamedTally, 'file'>, name: string, where = '**'): boolean {
  if (!/[/*]|\.\w+$/.test(where)) return name.includes(where)
  // Many runners do not report the file of a test.
  if (file === null || where === '**') return true
  const [pattern, path] = [where.replace(/^\.\//, ''), file.replace(/^\.\//, '')]
  if (path.endsWith(`/${pattern}`) || pattern.endsWith(`/${path}`)) return true
  return matchesPattern(pattern.split('/'), path.split('/'), '**', matchesWord)
}

const LISTED_MAX = 3
const CHANGED_MAX = 20

const listed = (names: readonly string[]): string =>
  `${names.slice(0, LISTED_MAX).join(', ')}${names.length > LISTED_MAX ? ` and ${names.length - LISTED_MAX} more` : ''}`
const counted = (names: readonly string[]): string =>
  names.length === 1 ? '1 test fails' : `${names.length} tests fail`

function changesOf(all: { readonly [K in Exclude<keyof TestChanges, 'more'>]-?: readonly string[] }): TestChanges {
  const lists = Object.entries(all).filter(([, names]) => names.length > 0)
  const more = lists.reduce((sum, [, names]) => sum + Math.max(0, names.length - CHANGED_MAX), 0)
  return {
    ...Object.fromEntries(lists.map(([key, names]) => [key, names.slice(0, CHANGED_MAX)])),
    ...(more > 0 ? { more } : {}),
  }
}
