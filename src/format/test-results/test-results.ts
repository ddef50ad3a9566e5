// What a test runner printed, read as results: each test by its name, and whether it passed. Knows the usual runners of JavaScript,
// Python, Go, Rust and Ruby, TAP and JUnit's XML. What is printed is other people's text: all that is read of it is bounded.

import { readGo, readGoEvents, readMocha, readNodeSpec, readRspec } from './indented-output.ts'
import { readCargo, readJest, readPytest, readUnittest, readVitest } from './line-output.ts'
import { countOf, type Found, TESTS_MAX, type TestResults, type TestSeen } from './seen-tests.ts'
import { readJunit, readTap } from './tap-and-junit.ts'

export type { TestCounts, TestResults, TestSeen, TestStatus } from './seen-tests.ts'

const LINE_MAX = 2_000
const NAME_MAX = 300
/** Of each stream; a runner of ours hands over no more than a megabyte. */
const TEXT_MAX = 1_100_000

/** Null when no results can be read. `root`: where it was run; paths below it are told without it. */
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

/** The first that recognises its own output reads it. */
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
]

/** Without the colours of a terminal, and with one kind of line end. */
const plain = (text: string): string => text.replace(COLOURS, '').replace(/\r+\n/g, '\n')
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours of a terminal begin with one.
const COLOURS = /\u001b\[[0-9;?]{0,30}[A-Za-z]/g

/** What the runner counts is believed: what a test itself prints may look like results. */
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
