// A repository whose tests fail already, worked by hand from a draft: the right change is accepted, and what a lazy agent reports is not.

import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'

let here: Place
afterEach(() => here.remove())

const SUM = 'export const sum = (a, b) => a - b\n'
const OLD = [
  "import assert from 'node:assert'",
  "import { test } from 'node:test'",
  "test('keeps', () => assert.equal(1, 1))",
  "test('has failed for years', () => assert.equal(1, 2))",
  '',
].join('\n')
const NEW = [
  "import assert from 'node:assert'",
  "import { test } from 'node:test'",
  "import { sum } from '../src/sum.js'",
  "test('sums', () => assert.equal(sum(2, 3), 5))",
  '',
].join('\n')

const PLAN = 'sum-in-src-sum-js-is'

async function drafted(): Promise<void> {
  here = await place()
  for (const folder of ['src', 'test']) mkdirSync(join(here.folder, folder))
  await here.write('package.json', '{ "type": "module" }\n')
  // Starts in no time, other than npm: the tests run a dozen times.
  await here.write('Makefile', '.PHONY: test\ntest:\n\t@node --test\n')
  await here.write('src/sum.js', SUM)
  await here.write('test/old.test.js', OLD)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=ana', '-c', 'user.email=ana@example.com', ...args], { cwd: here.folder })
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'Sums')
  const { exit, stderr } = await here.planfold('plan', 'sum in src/sum.js is wrong: 2 and 3 make -1', '--yes')
  expect(exit, stderr).toBe(4)
}

test('the right change is accepted beside an old failing test, and a lazy report is refused', {
  timeout: 120_000,
}, async () => {
  await drafted()
  const report = async (task: string): Promise<string> => {
    const { stdout, stderr } = await here.planfold('report', PLAN, task, '--status', 'done')
    return stdout + stderr
  }
  const claim = (task: string) => here.planfold('claim', PLAN, task)
  await claim('reproduce')
  expect(await report('reproduce')).toContain('no new test fails')
  await here.write('test/sum.test.js', NEW)
  await here.write('test/old.test.js', `process.exit(0)\n${OLD}`)
  expect(await report('reproduce')).toMatch(/of 2 tests are left; gone: .*keeps/)
  await here.write('test/old.test.js', OLD)
  expect(await report('reproduce')).toContain('reproduce completed')

  await claim('fix')
  expect(await report('fix')).toContain('no new test passes')
  await here.write('test/sum.test.js', NEW.replace('sum(2, 3), 5', '5, 5'))
  expect(await report('fix')).toContain('changed outside its write scope since it was first claimed: test/sum.test.js')
  await here.write('test/sum.test.js', NEW)
  await here.write('src/sum.js', SUM.replace('a - b', 'a + b'))
  expect(await report('fix')).toContain('fix completed')
  const { stdout } = await here.planfold('show', PLAN, 'fix')
  expect(stdout).toContain("2 passed, 1 failed; compared with 'baseline'\n  tests    new: sums")
  expect(await here.json('show', PLAN, 'reproduce')).toMatchObject({
    tests: [{ passed: 1, failed: 2, baseline: 'baseline', isRed: true, changed: { failing: ['sums'], new: ['sums'] } }],
  })
  expect(await here.planfold('audit', 'replay', PLAN)).toMatchObject({ exit: 0 })
})

/** `flaky` passes before the work, and then in every second run, which waits for a file called `go`. */
const SUITE = `echo run >> runs
echo "TAP version 13"; echo "ok 1 - keeps"
if test ! -e worked; then echo "ok 2 - flaky"
elif test ! -e failed; then touch failed; echo "not ok 2 - flaky"; echo 1..2; exit 1
else echo "# the second run"; until test -e go; do sleep 0.05; done; echo "ok 2 - flaky"; fi
echo 1..2
`

test('killed between the baseline and the work, and between the two runs of a flaky test, it is judged again with the same baseline', {
  timeout: 120_000,
}, async () => {
  here = await place()
  await here.write('suite.sh', SUITE)
  await here.write(
    'p.yaml',
    `planfold: 1
name: p
tasks:
  - { id: before, run: sh suite.sh, effect: idempotent, expect: exit >= 0 }
  - id: work
    needs: [before]
    run: echo begun; touch worked; until test -e done; do sleep 0.05; done
    effect: idempotent
    accept: [{ tests: sh suite.sh, baseline: before }]
`,
  )
  const killedAt = async (text: string, ...argv: readonly string[]): Promise<void> => {
    const run = here.start(...argv)
    await run.until(text)
    run.kill('SIGKILL')
    await run.ended
  }
  await killedAt('begun', 'run', 'p.yaml')
  await here.write('done', '')
  await killedAt('# the second run', 'resume', 'p')
  execFileSync('rm', ['failed'], { cwd: here.folder })
  await here.write('go', '')
  expect(await here.planfold('resume', 'p')).toMatchObject({ exit: 0 })
  // Once before the work, twice when it was killed, twice when it was judged again.
  expect(readFileSync(`${here.folder}/runs`, 'utf8')).toBe('run\n'.repeat(5))
  expect(await here.json('show', 'p', 'work')).toMatchObject({
    task: { status: 'completed' },
    tests: [{ passed: 1, failed: 1, baseline: 'before', changed: { flaky: ['flaky'] } }],
  })
  expect(await here.planfold('audit', 'replay', 'p')).toMatchObject({ exit: 0 })
})
