// What real runners print, recorded: the same small project in each language. One test passes, one has always failed, one is skipped;
// `broken` has one more file that cannot be loaded.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ranNoTest, readTestResults } from './test-results.ts'

const FOLDER = join(import.meta.dirname, '../../../test/fixtures/test-results')
const read = (name: string) =>
  readTestResults({ stdout: readFileSync(join(FOLDER, `${name}.txt`), 'utf8'), stderr: '' }, '/project')

const PYTEST = [
  'tests/test_calc.py::TestCalc::test_adds',
  'tests/test_calc.py::test_words[a b]',
  'tests/test_calc.py::test_words[c]',
  'tests/test_other.py::test_other',
]
const GO = ['Add', 'Parts', 'Parts/part_one', 'Parts/two'].map(name => `example.com/calc.Test${name}`)
const JAVASCRIPT = [
  'test/calc.test.js > calc > adds',
  'test/calc.test.js > stands alone',
  'test/other.test.js > other works',
]
const NODE = ['calc > adds', 'other # works', 'stands alone', 'with parts > part one']

test.each<[fixture: string, passed: readonly string[], failed: string, skipped: readonly string[], counts: string]>([
  [
    'node20-spec',
    [...NODE, 'test/empty.test.js'],
    'calc > subtracts',
    ['calc > divides', 'calc > multiplies'],
    '6 1 2',
  ],
  [
    'node24-spec',
    [...NODE, 'test/empty.test.js'],
    'calc > subtracts',
    ['calc > divides', 'calc > multiplies'],
    '6 1 2',
  ],
  [
    'node20-tap',
    [...NODE, 'test/empty.test.js', 'with parts'],
    'calc > subtracts',
    ['calc > divides', 'calc > multiplies'],
    '6 1 2',
  ],
  [
    'node24-tap',
    [...NODE, 'test/empty.test.js', 'with parts'],
    'calc > subtracts',
    ['calc > divides', 'calc > multiplies'],
    '6 1 2',
  ],
  [
    'node24-junit',
    [
      'calc > adds',
      'test > other # works',
      'test > stands alone',
      'test > test/empty.test.js',
      'with parts > part one',
    ],
    'calc > subtracts',
    ['calc > divides', 'calc > multiplies'],
    '5 1 2',
  ],
  [
    'vitest-verbose',
    JAVASCRIPT,
    'test/calc.test.js > calc > subtracts',
    ['test/calc.test.js > calc > divides', 'test/calc.test.js > calc > multiplies'],
    '3 1 2',
  ],
  [
    'vitest',
    ['a test of test/calc.test.js', 'a test of test/calc.test.js', 'a test of test/other.test.js'],
    'test/calc.test.js > calc > subtracts',
    ['a test of test/calc.test.js', 'a test of test/calc.test.js'],
    '3 1 2',
  ],
  [
    'jest-verbose',
    JAVASCRIPT,
    'test/calc.test.js > calc > subtracts',
    ['test/calc.test.js > calc > divides', 'test/calc.test.js > calc > multiplies'],
    '3 1 2',
  ],
  [
    'jest',
    Array(3).fill('a test without a name'),
    'test/calc.test.js > calc > subtracts',
    Array(2).fill('a test without a name'),
    '3 1 2',
  ],
  ['mocha', ['calc > adds', 'stands alone'], 'calc > subtracts', ['calc > divides', 'calc > multiplies'], '2 1 2'],
  [
    'mocha-xunit',
    ['calc > adds', 'stands alone'],
    'calc > subtracts',
    ['calc > divides', 'calc > multiplies'],
    '2 1 2',
  ],
  [
    'mocha-dot',
    Array(2).fill('a test without a name'),
    'calc > subtracts',
    Array(2).fill('a test without a name'),
    '2 1 2',
  ],
  [
    'pytest-v',
    PYTEST,
    'tests/test_calc.py::test_subtracts',
    ['tests/test_calc.py::test_divides', 'tests/test_calc.py::test_known'],
    '4 1 2',
  ],
  [
    'pytest-rA-q',
    PYTEST,
    'tests/test_calc.py::test_subtracts',
    ['a test without a name', 'tests/test_calc.py::test_known'],
    '4 1 2',
  ],
  [
    'pytest-q',
    Array(4).fill('a test without a name'),
    'tests/test_calc.py::test_subtracts',
    Array(2).fill('a test without a name'),
    '4 1 2',
  ],
  [
    'pytest-junit',
    [
      'tests.test_calc > test_words[a b]',
      'tests.test_calc > test_words[c]',
      'tests.test_calc.TestCalc > test_adds',
      'tests.test_other > test_other',
    ],
    'tests.test_calc > test_subtracts',
    ['tests.test_calc > test_divides', 'tests.test_calc > test_known'],
    '4 1 2',
  ],
  [
    'unittest-v',
    ['tests.test_calc.Calc.test_adds'],
    'tests.test_calc.Calc.test_subtracts',
    ['tests.test_calc.Calc.test_divides'],
    '1 1 1',
  ],
  ['unittest', ['a test without a name'], 'tests.test_calc.Calc.test_subtracts', ['a test without a name'], '1 1 1'],
  ['go-v', [...GO, 'example.com/calc/sub.TestTwo'], 'example.com/calc.TestSub', ['example.com/calc.TestSkip'], '5 1 1'],
  [
    'go-json',
    [...GO, 'example.com/calc/sub.TestTwo'],
    'example.com/calc.TestSub',
    ['example.com/calc.TestSkip'],
    '5 1 1',
  ],
  ['go', ['example.com/calc/sub'], 'example.com/calc.TestSub', [], '1 1 0'],
  [
    'cargo',
    ['outside', 'src/lib.rs - add', 'tests::adds', 'tests::panics'],
    'tests::subtracts',
    ['tests::divides'],
    '4 1 1',
  ],
  [
    'rspec-documentation',
    ['Calc adds'],
    'Calc with numbers subtracts',
    ['Calc multiplies', 'Calc with numbers divides'],
    '1 1 2',
  ],
  [
    'rspec-progress',
    ['a test without a name'],
    'Calc with numbers subtracts',
    Array(2).fill('a test without a name'),
    '1 1 2',
  ],
])('%s', (fixture, passed, failed, skipped, counts) => {
  const results = read(fixture)!
  const named = (wanted: string) =>
    results.tests.flatMap(({ name, status }) => (status === wanted ? [name] : [])).sort()
  expect(named('passed')).toEqual([...passed].sort())
  expect(named('failed')).toEqual([failed])
  expect(named('skipped')).toEqual([...skipped].sort())
  expect(Object.values(results.counts).join(' ')).toBe(counts)
})

test.each([
  ['node20-spec', 'test/week.test.js'],
  ['node20-tap', 'test/week.test.js'],
  ['node20-junit', 'test/week.test.js'],
  ['vitest', 'test/week.test.js'],
  ['jest', 'test/week.test.js'],
  ['mocha-broken', 'week.test.js'],
  ['pytest-broken', 'tests/test_week.py'],
  ['unittest', 'tests/test_week.py'],
  ['go-broken', 'week_test.go'],
  ['go-broken-json', 'week_test.go'],
  ['cargo-broken', 'tests/week.rs'],
  ['rspec-broken', 'spec/week_spec.rb'],
])('%s: a file that cannot be loaded is named, and is no test', (fixture, file) => {
  const results = read(fixture)!
  expect(results.broken).toEqual([file])
  expect(results.tests.filter(({ name }) => name.includes(file))).toEqual([])
})

describe('what is no result of a runner', () => {
  test.each(['', 'Error: nothing to do', 'ok', '✔ built in 2 s', '{"Action":5}'])('%j says nothing', stdout => {
    expect(readTestResults({ stdout, stderr: '' })).toBeNull()
  })

  test('what a test prints does not make more tests than the runner counts', () => {
    const stdout = ['✔ real (1ms)', '✔ made up (1ms)', 'ℹ tests 1', 'ℹ pass 1', 'ℹ fail 0'].join('\n')
    const { tests, counts } = readTestResults({ stdout, stderr: '' })!
    expect(counts).toEqual({ passed: 1, failed: 0, skipped: 0 })
    expect(tests).toMatchObject([{ isUnnamed: true }])
  })

  test.each([
    ['a line without end', `TAP version 13\nok 1 - ${'# SKIP '.repeat(1_000_000)}`],
    ['tags that nothing closes', `<testsuite>${'<testcase name="'.repeat(60_000)}`],
    ['results without number', `TAP version 13\n${'not ok 1 - x\n'.repeat(80_000)}`],
    ['nothing but numbers', `${'1 a, '.repeat(500_000)}\n`],
    ['spaces', `${' '.repeat(3_000_000)}\n  1 passing`],
    ['broken colours', `TAP version 13\n${'\u001b['.repeat(1_000_000)}\nok 1 - x`],
  ])('%s is read in time, and bounded', (_, stdout) => {
    const began = performance.now()
    const results = readTestResults({ stdout, stderr: '' })
    expect(performance.now() - began).toBeLessThan(3_000)
    expect(results?.tests.length ?? 0).toBeLessThanOrEqual(20_000)
  })

  test('names hold no control characters', () => {
    const stdout = 'TAP version 13\nok 1 - a\u0007b\u202ec\u001b[31md\n1..1'
    expect(readTestResults({ stdout, stderr: '' })?.tests[0]?.name).toBe('a b cd')
  })
})

test.each([
  ['pytest', 'collected 0 items\n\n============ no tests ran in 0.01s ============'],
  ['pytest -q', '\u001b[33mno tests ran\u001b[0m\u001b[33m in 0.01s\u001b[0m'],
  ['jest', 'No tests found, exiting with code 1\nRun with `--passWithNoTests` to exit with code 0'],
  ['vitest', ' RUN  v3.2.4 /project\n\nNo test files found, exiting with code 1\n'],
  ['mocha', ' Error: No test files found: "test"'.trim()],
  ['unittest', '\n----------\nRan 0 tests in 0.000s\n\nNO TESTS RAN'],
])('%s found no test: that is a result, and none has failed', (_, stdout) => {
  expect(readTestResults({ stdout, stderr: '' })).toMatchObject({
    tests: [],
    broken: [],
    counts: { passed: 0, failed: 0, skipped: 0 },
  })
  expect(ranNoTest(stdout)).toBe(true)
})

test('a test that prints such a line, or a file that cannot be loaded, is still seen', () => {
  const broken = 'collected 0 items / 1 error\n\nERROR tests/test_a.py - NameError\n====== 1 error in 0.05s ======'
  expect(readTestResults({ stdout: broken, stderr: '' })?.broken).toEqual(['tests/test_a.py'])
  expect(ranNoTest(broken)).toBe(false)
})
