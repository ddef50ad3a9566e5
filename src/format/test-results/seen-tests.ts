// What is read of a test runner's output, whichever runner it is.

export type TestStatus = 'passed' | 'failed' | 'skipped'

export interface TestSeen {
  /** As the runner calls it: with its groups, and with its file where the runner prints it for every test. */
  readonly name: string
  readonly file: string | null
  readonly status: TestStatus
  /** A file that was run as if it were one test. */
  readonly isFile?: true
  /** The runner printed only that it is there, e.g. as a dot; `name` is made up. */
  readonly isUnnamed?: true
}

export interface TestCounts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export interface TestResults {
  readonly tests: readonly TestSeen[]
  readonly counts: TestCounts
  /** Files that could not be loaded or compiled. */
  readonly broken: readonly string[]
  /** Files that are said to have passed as a whole, without the names of their tests. */
  readonly passedFiles: readonly string[]
}

/** What one runner's output says. */
export interface Found {
  readonly tests: readonly TestSeen[]
  /** As printed. */
  readonly counts?: TestCounts | null
  readonly broken?: readonly string[]
  readonly passedFiles?: readonly string[]
  /** Groups of tests that the runner may have counted as tests. */
  readonly groups?: number
}

export const TESTS_MAX = 20_000

export function countOf(tests: readonly Pick<TestSeen, 'status'>[]): TestCounts {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const { status } of tests) counts[status]++
  return counts
}

/** The sum of what a pattern with one group finds in all lines; null when it finds nothing. */
export function summed(lines: readonly string[], pattern: RegExp): number | null {
  const found = lines.flatMap(line => pattern.exec(line)?.[1] ?? [])
  return found.length === 0 ? null : found.reduce((sum, count) => sum + Number(count), 0)
}

/** Tests of a file that the runner only counts. */
export const unnamed = (status: TestStatus, count: number, file: string): readonly TestSeen[] =>
  Array.from({ length: Math.min(Math.max(0, count), TESTS_MAX) }, () => ({
    name: `a test of ${file}`,
    file,
    status,
    isUnnamed: true as const,
  }))
