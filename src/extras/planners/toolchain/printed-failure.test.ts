// What tools print when they fail, as they print it.

import { describe, expect, test } from 'vitest'
import { readPrinted } from './printed-failure.ts'

const PATHS = [
  'src/a.ts',
  'src/b.ts',
  'test/a.test.ts',
  'lib/shop.rb',
  'spec/shop_spec.rb',
  'pkg/sum.go',
  'pkg/sum_test.go',
  'src/lib.rs',
]
const PYTHON = ['shop/cart.py', 'tests/test_cart.py']
const read = (text: string, more: { readonly in?: string; readonly tools?: readonly string[] } = {}) =>
  readPrinted(text, { root: '/srv/shop', home: '/home/ana', paths: [...PATHS, ...PYTHON], tools: [], ...more })
const at = (file: string, line: number | null) => ({ file, line })

describe('places', () => {
  test.each<[string, string, readonly object[]]>([
    ['tsc', "src/a.ts(3,7): error TS2322: Type 'string' is not assignable", [at('src/a.ts', 3)]],
    [
      'tsc with colours',
      '\u001b[96msrc/b.ts\u001b[0m:\u001b[93m12\u001b[0m:\u001b[93m5\u001b[0m - error TS1005',
      [at('src/b.ts', 12)],
    ],
    [
      'eslint',
      '\n/srv/shop/src/a.ts\n  4:9  error  no-var\n  9:1  error  semi\n\n/srv/shop/src/b.ts\n  2:2  error  semi\n\n✖ 3 problems',
      [at('src/a.ts', 4), at('src/b.ts', 2)],
    ],
    ['ruff', 'shop/cart.py:7:1: F401 `os` imported but unused', [at('shop/cart.py', 7)]],
    [
      'pytest',
      'tests/test_cart.py .F                      [100%]\n\ntests/test_cart.py:5: AssertionError\n1 failed, 1 passed in 0.02s',
      [at('tests/test_cart.py', 5)],
    ],
    [
      'unittest',
      'Traceback (most recent call last):\n  File "/srv/shop/tests/test_cart.py", line 9, in test_total',
      [at('tests/test_cart.py', 9)],
    ],
    [
      'rspec',
      "     # ./spec/shop_spec.rb:12:in `block'\n\nrspec ./spec/shop_spec.rb:11 # Shop adds",
      [at('spec/shop_spec.rb', 12)],
    ],
    ['go test, in its folder', '--- FAIL: TestSum (0.00s)\n    sum_test.go:8: got 2', [at('pkg/sum_test.go', 8)]],
    ['cargo', 'error[E0308]: mismatched types\n --> src/lib.rs:4:5', [at('src/lib.rs', 4)]],
    [
      'vitest',
      ' ✓ src/b.ts (3 tests) 4ms\n ❯ test/a.test.ts:3:22\n      Tests  1 failed | 3 passed (4)',
      [at('test/a.test.ts', 3)],
    ],
    ['node', "  location: 'file:///srv/shop/test/a.test.ts:5:1'", [at('test/a.test.ts', 5)]],
  ])('of %s', (_, text, places) => {
    expect(read(text)).toMatchObject({ mark: null, places })
  })

  test('are never those of the tool, of the starter of a script, or of what passes', () => {
    const text =
      '> shop@1.0.0 lint\n> node src/b.ts src/a.ts\n\n✓ src/a.ts\n    at main (/srv/shop/src/b.ts:3:1)\nnpm error src/a.ts:3'
    expect(read(text, { tools: ['src/b.ts'] }).places).toEqual([])
  })

  test('in a folder are those of the workspace', () => {
    expect(read('sum.go:3:1: undefined', { in: 'pkg' }).places).toEqual([at('pkg/sum.go', 3)])
  })
})

test.each<[string, number, number | undefined]>([
  ['# tests 31\n# suites 0\n# pass 29\n# fail 2', 2, 31],
  ['ℹ tests 31\nℹ suites 0\nℹ pass 29\nℹ fail 2', 2, 31],
  ['      Tests  2 failed | 29 passed (31)', 2, 31],
  ['Tests:       2 failed, 29 passed, 31 total', 2, 31],
  ['===== 2 failed, 29 passed in 0.12s =====', 2, 31],
  ['Ran 31 tests in 0.1s\n\nFAILED (failures=2)', 2, 31],
  ['31 examples, 2 failures', 2, 31],
  ['31 runs, 60 assertions, 2 failures, 0 errors, 0 skips', 2, 31],
  ['test result: FAILED. 29 passed; 2 failed; 0 ignored', 2, 31],
  ['  29 passing (12ms)\n  2 failing', 2, 31],
  ['2 failed in 3s', 2, undefined],
])('%j counts the tests', (text, failed, total) => {
  const found = read(text)
  expect([found.failed, found.total]).toEqual([failed, total])
})

test.each([
  ["Error: EROFS: read-only file system, mkdir '/srv/shop/vendor/x'", 'shared folder'],
  ["Error: ENOENT: no such file or directory, mkdir '/var/cache/x'", 'a folder is missing'],
  ['connect ECONNREFUSED 127.0.0.1:5432', 'no network'],
  ['getaddrinfo EAI_AGAIN registry.npmjs.org', 'no network'],
  ["Error: ENOENT: no such file or directory, open '/home/ana/.aws/config'", 'your home'],
  ["Error: Cannot find module 'left-pad'", 'not installed'],
  ["ModuleNotFoundError: No module named 'trustme'", 'not installed'],
  ['sh: 1: standard: not found', 'not installed'],
  ['make: go: No such file or directory', 'not installed'],
])('%j is a mark of the sandbox, or of what is missing', (text, why) => {
  expect(read(`${text}\nsrc/a.ts:1:1`).mark).toContain(why)
})

test('a module of the project itself that is not found is a fault of the project', () => {
  expect(read("Error: Cannot find module './gone.js'\n    at src/a.ts:1:1").mark).toBe(null)
})

test('a run that found no test is no failure of the project; one that found some is', () => {
  expect(read('collected 0 items\n\n=== no tests ran in 0.01s ===\nsrc/a.ts:1:1').mark).toBe('it ran no test')
  expect(read('No tests found, exiting with code 1\nTests:       1 failed, 1 total\nsrc/a.ts:1:1').mark).toBe(null)
})

test('lines without end are read in no time', () => {
  const began = performance.now()
  read(`${'a/'.repeat(200_000)}\n${'ENOENT '.repeat(50_000)}\n${'1 passing '.repeat(5_000)}`)
  expect(performance.now() - began).toBeLessThan(2_000)
})
