import { describe, expect, test } from 'vitest'
import { compareTests, type Others, type TestOutcome } from './compare-tests.ts'
import { countOf, type TestSeen } from './seen-tests.ts'

/** `+` passes, `-` fails, `~` is skipped; `!` is a file that cannot be loaded, `@` one that was run as a test. */
function ran(line: string, exit = /[-!]/.test(line) ? 1 : 0): TestOutcome {
  const words = line.split(' ').filter(word => word !== '')
  const status = { '+': 'passed', '-': 'failed', '~': 'skipped', '@': 'passed' } as const
  const tests = words
    .filter(word => !word.startsWith('!'))
    .map((word): TestSeen => {
      const [file, name] = word.slice(1).includes(':') ? word.slice(1).split(':') : [null, word.slice(1)]
      return {
        name: name!,
        file: file!,
        status: status[word[0] as keyof typeof status],
        ...(word.startsWith('@') ? { isFile: true } : {}),
      }
    })
  const broken = words.filter(word => word.startsWith('!')).map(word => word.slice(1))
  return { exit, results: { tests, counts: countOf(tests), broken, passedFiles: [] } }
}
const whole = (exit: number): TestOutcome => ({ exit, results: null })
const others = (before: TestOutcome | null, more: Partial<Others> = {}): Others => ({
  before,
  again: null,
  proven: [],
  wasRed: false,
  ...more,
})
const GREEN = { new: '**' }
const RED = { new: '**', red: true } as const

describe('green', () => {
  test.each<[what: string, before: string, now: string, holds: boolean, evidence: string]>([
    ['an old failing test may go on failing', '+a -old', '+a -old +n', true, '2 passed, 1 failed'],
    ['nothing was done', '+a -old', '+a -old', false, 'no new test passes'],
    ['a test fails that passed', '+a -old', '-a -old +n', false, '1 test fails and did not fail before: a'],
    ['a test is deleted', '+a +b -old', '+a -old +n', false, '2 of 3 tests are left; gone: b'],
    ['the failing test is deleted', '+a -old', '+a +n', false, '1 of 2 tests are left; gone: old'],
    ['a test is skipped, and two are added', '+a +b', '~a +b +n +m', false, 'skipped now: a'],
    ['a file exits before its tests', '+a +b', '@x.js', false, '0 of 2 tests are left; gone: a, b'],
    ['a new file exits before its tests', '+a', '+a @x.js', false, 'no new test passes'],
    ['files are tests here', '@a.js', '@a.js @x.js', true, '2 passed, 0 failed'],
    ['a new test fails', '+a', '+a +n -m', false, '1 test fails and did not fail before: m'],
    ['a file cannot be loaded any more', '+a +b', '+a +n !b.js', false, '1 test fails and did not fail before: b.js'],
  ])('%s', (_, before, now, holds, evidence) => {
    const compared = compareTests(GREEN, ran(now), others(ran(before)))
    expect(compared.holds).toBe(holds)
    expect(compared.evidence).toContain(evidence)
  })

  test('fewer tests are fine where the plan allows it', () => {
    expect(compareTests({ fewer: 'allowed' }, ran('+a'), others(ran('+a +b'))).holds).toBe(true)
  })

  test('what failed to show the fault has to pass, and not only something new', () => {
    const { holds, evidence } = compareTests(GREEN, ran('+a +easy'), others(ran('+a'), { proven: ['n'] }))
    expect([holds, evidence]).toEqual([
      false,
      'the test that failed without the change does not pass: n; 2 passed, 0 failed',
    ])
  })

  test('without a baseline no test may fail', () => {
    expect(compareTests({}, ran('+a -b'), others(null)).holds).toBe(false)
    expect(compareTests({}, ran('+a +b'), others(null)).holds).toBe(true)
  })

  test('a test that fails once in two runs is flaky, and decides nothing', () => {
    const first = compareTests(GREEN, ran('+a -b +n'), others(ran('+a +b')))
    expect(first).toMatchObject({ holds: false, isDoubtful: true })
    const both = compareTests(GREEN, ran('+a -b +n'), others(ran('+a +b'), { again: ran('+a +b +n') }))
    expect(both).toMatchObject({ holds: true, isDoubtful: false, changed: { new: ['n'], flaky: ['b'] } })
    expect(both.evidence).toContain('flaky, failed only once in two runs: b')
  })

  test('an exit code that no test explains is a failure, unless it was there before', () => {
    expect(compareTests({}, ran('+a', 1), others(ran('+a'))).evidence).toContain('exit 1 although no test failed')
    expect(compareTests({}, ran('+a', 1), others(ran('+a', 1))).holds).toBe(true)
  })

  test('a new test in another file is not the one that is wanted', () => {
    const wanted = { new: 'test/n.js' }
    expect(compareTests(wanted, ran('+a +test/m.js:n'), others(ran('+a'))).holds).toBe(false)
    expect(compareTests(wanted, ran('+a +pkg/test/n.js:n'), others(ran('+a'))).holds).toBe(true)
    expect(compareTests({ new: 'test/**' }, ran('+a +test/x/m.js:n'), others(ran('+a'))).holds).toBe(true)
  })
})

describe('red', () => {
  test.each<[what: string, before: string, now: string, holds: boolean, evidence: string]>([
    ['a new test fails beside an old one', '+a -old', '+a -old -n', true, '1 passed, 2 failed'],
    ['an empty report', '+a -old', '+a -old', false, 'no new test fails'],
    ['it passes already', '+a', '+a +n', false, 'no new test fails; a new one passes already: n'],
    ['an old one fails as well', '+a +b', '+a -b -n', false, '1 test fails and did not fail before: b'],
    ['an old one is gone', '+a +b', '+a -n', false, '1 of 2 tests are left; gone: b'],
    ['the new file cannot be loaded', '+a -old', '+a -old !test/n.js', true, '1 passed, 2 failed'],
    ['the new file keeps all others from running', '+a +b', '!test/n.js', true, '0 passed, 1 failed'],
  ])('%s', (_, before, now, holds, evidence) => {
    const compared = compareTests(RED, ran(now), others(ran(before)))
    expect(compared.holds).toBe(holds)
    expect(compared.evidence).toContain(evidence)
  })

  test('a run that finds no test is not red, although it ends with a failure', () => {
    for (const before of [null, ran(''), ran('', 5)]) {
      const { holds, evidence } = compareTests(RED, ran('', 5), others(before))
      expect([holds, evidence]).toEqual([false, 'no new test fails; 0 passed, 0 failed'])
    }
  })

  test('a file that is not the new one may not break', () => {
    expect(compareTests({ new: 'test/n.js', red: true }, ran('!test/a.js'), others(ran('+a'))).holds).toBe(false)
  })
})

describe('a command that names no tests counts as one', () => {
  test.each<
    [
      what: string,
      wanted: { new?: string; red?: true },
      before: TestOutcome | null,
      now: TestOutcome,
      holds: boolean | null,
    ]
  >([
    ['green after green', {}, whole(0), whole(0), true],
    ['red after green', {}, whole(0), whole(1), false],
    ['red after red cannot be told', {}, whole(1), whole(1), null],
    ['green after red', GREEN, whole(1), whole(0), true],
    ['a new test that nobody sees', GREEN, whole(0), whole(0), null],
    ['it fails, as was wanted', RED, whole(0), whole(1), true],
    ['it failed before, too', RED, whole(1), whole(1), null],
    ['it does not fail', RED, whole(0), whole(0), false],
    ['nothing is printed any more', {}, ran('+a'), whole(0), false],
  ])('%s', (_, wanted, before, now, holds) => {
    expect(compareTests(wanted, now, others(before)).holds).toBe(holds)
  })
})

test('only so many names are kept', () => {
  const many = Array.from({ length: 50 }, (_, at) => `+t${at}`).join(' ')
  const { changed } = compareTests({}, ran(`+a ${many}`), others(ran('+a')))
  expect(changed.new).toHaveLength(20)
  expect(changed.more).toBe(30)
})
