// A repository whose tests fail already, worked by hand from a draft: the right change is accepted, and what a lazy agent reports is not.

import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
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
  await here.write('package.json', '{ "type": "module", "scripts": { "test": "node --test" } }\n')
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
  expect(await here.planfold('replay', PLAN)).toMatchObject({ exit: 0 })
})
