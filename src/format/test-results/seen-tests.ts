// The common result of all test output parsers.

export type TestStatus = 'passed' | 'failed' | 'skipped'

export interface TestSeen {
  /** As the runner prints it, with groups, and with the file if the runner always includes it. */
  readonly name: string
  readonly file: string | null
  readonly status: TestStatus
  /** A whole file, or Go package, that the runner reports as one test. */
  readonly isFile?: true
  /** The runner printed only a mark such as a dot; `name` is generated. */
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
  /** Files that failed to load or compile. */
  readonly broken: readonly string[]
  /** Files reported as passed without the names of their tests. */
  readonly passedFiles: readonly string[]
}

export interface Found {
  readonly tests: readonly TestSeen[]
  /** The totals as printed. */
  readonly counts?: TestCounts | null
  readonly broken?: readonly string[]
  readonly passedFiles?: readonly string[]
  /** Test groups that the runner may have included in its counts. */
  readonly groups?: number
}

export const TESTS_MAX = 20_000

export function countOf(tests: readonly Pick<TestSeen, 'status'>[]): TestCounts {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const { status } of tests) counts[status]++
  return counts
}

/** Sums the captured numbers over all lines; null without a match. */
export function summed(lines: readonly string[], pattern: RegExp): number | null {
  const found = lines.flatMap(line => pattern.exec(line)?.[1] ?? [])
  return found.length === 0 ? null : found.reduce((sum, count) => sum + Number(count), 0)
}

export const unnamed = (status: TestStatus, count: number, file: string): readonly TestSeen[] =>
  Array.from({ length: Math.min(Math.max(0, count), TESTS_MAX) }, () => ({
    name: `a test of ${file}`,
    file,
    status,
    isUnnamed: true as const,
  }))
