// Parses the output of test runners into named results. Supports the usual runners of JavaScript, Python, Go, Rust and Ruby, TAP
// and JUnit XML. The output is untrusted, so everything is bounded.

import { readGo, readGoEvents, readMocha, readNodeSpec, readRspec } from './indented-output.ts'
import { readCargo, readJest, readPytest, readUnittest, readVitest } from './line-output.ts'
import { countOf, type Found, TESTS_MAX, type TestResults, type TestSeen } from './seen-tests.ts'
import { readJunit, readTap } from './tap-and-junit.ts'

export type { TestCounts, TestResults, TestSeen, TestStatus } from './seen-tests.ts'

const LINE_MAX = 2_000
const NAME_MAX = 300
/** Per stream; our runners pass at most a megabyte. */
const TEXT_MAX = 1_100_000

/** Null if no format matches. `root`: the working folder; paths below it are made relative. */
export function readTestResults(
  { stdout, stderr }: { readonly stdout: string; readonly stderr: string },
  root = '',
): TestResults | null {
  const text = plain(`${stdout.slice(-TEXT_MAX)}\n${stderr.slice(-TEXT_MAX)}`)
  const lines = text.split('\n').map(line => line.slice(0, LINE_MAX).trimEnd())
  for (const read of READERS) {
    const found = read(lines, text)
    if (found !== null) return finished(found, root)
  }
  return null
}

type Reader = (lines: readonly string[], text: string) => Found | null

/** Tried in order; the first that recognises its format wins. */
const READERS: readonly Reader[] = [
  readJunit,
  readGoEvents,
  readNodeSpec,
  readTap,
  readVitest,
  readJest,
  readCargo,
  readPytest,
  readUnittest,
  readRspec,
  readMocha,
  readGo,
  readNone,
]

/** The runner found no test at all. It may end with a failure (pytest with exit 5, jest with 1), but no test has failed. */
export const ranNoTest = (text: string): boolean => NO_TEST.test(text.replace(COLOURS, ''))
const NO_TEST =
  /^(?:=+ )?no tests ran in [\d.]+s|^(?:NO TESTS RAN|No tests? (?:files? )?found\b.*|No tests executed!|No examples found\.|Error: No test files found\b.*|collected 0 items(?: \/ \d+ deselected)?)\s*$/im

/** The last reader, so that any result that can be read comes first. */
function readNone(_: readonly string[], text: string): Found | null {
  return ranNoTest(text) ? { tests: [] } : null
}

const plain = (text: string): string => text.replace(COLOURS, '').replace(/\r+\n/g, '\n')
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours of a terminal begin with one.
const COLOURS = /\u001b\[[0-9;?]{0,30}[A-Za-z]/g

/** The runner's own totals take precedence, because a test may print text that looks like results. */
function finished(
  { tests: listed, counts: printed = null, broken = [], passedFiles = [], groups = 0 }: Found,
  root: string,
): TestResults {
  const local = (text: string): string =>
    shown(root === '' ? text : text.replaceAll(`file://${root}/`, '').replaceAll(`${root}/`, ''))
  const files = (paths: readonly string[]): readonly string[] => [
    ...new Set(paths.map(path => local(path).replace(/^\.\//, ''))),
  ]
  let tests = listed.slice(0, TESTS_MAX).map(
    (test): TestSeen => ({
      ...test,
      name: local(test.name),
      file: test.file === null ? null : files([test.file])[0]!,
    }),
  )
  const seen = countOf(tests)
  const counts = printed ?? seen
  if (seen.passed > counts.passed + groups) tests = tests.filter(({ status }) => status !== 'passed')
  const rest: TestSeen[] = []
  for (const status of ['passed', 'failed', 'skipped'] as const) {
    const missing = Math.min(counts[status] - (status === 'passed' ? groups : 0), TESTS_MAX) - countOf(tests)[status]
    for (let at = 0; at < missing; at++)
      rest.push({ name: 'a test without a name', file: null, status, isUnnamed: true })
  }
  return { tests: [...tests, ...rest], counts, broken: files(broken), passedFiles: files(passedFiles) }
}

const shown = (text: string): string =>
  text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, ' ').slice(0, NAME_MAX)
