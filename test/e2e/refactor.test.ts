// The refactor that must be shown: edits over several files, tests that fail, a failure that is recognised, another way that works;
// and its twin that cannot be brought to an end and leaves no trace. Files are hashed by a shell, not by us.

import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'
import { treeHash } from './tree.fixture.ts'

const example = resolve(import.meta.dirname, '../../examples/refactor')

/** Some of the moments at which the process dies; with PLANFOLD_CRASH=all every one. */
const MOMENTS =
  process.env.PLANFOLD_CRASH === 'all'
    ? ['callers completed', 'without-report/remove completed', 'rolling back', 'rollback finished']
    : ['without-report/remove completed', 'rolling back']

let here: Place
afterEach(() => here.remove())

async function project(): Promise<Place> {
  here = await place()
  await cp(example, here.folder, { recursive: true })
  return here
}

const hashed = (): string => treeHash(here.folder)

interface Told {
  readonly type: string
  readonly task: string | null
  readonly text: string
}

async function events(plan: string): Promise<readonly Told[]> {
  return ((await here.json('log', plan)) as { items: readonly Told[] }).items
}

const said = (all: readonly Told[], type: string) => all.filter(one => one.type === type).map(({ text }) => text)
const count = (all: readonly Told[], type: string) => said(all, type).length

async function isSound(plan: string): Promise<void> {
  expect((await here.planfold('doctor', 'store')).exit).toBe(0)
  expect((await here.planfold('audit', 'replay', plan)).exit).toBe(0)
}

describe('a refactor over several files (seed 002 §8)', () => {
  it('requirement 81: edits, tests, a failure that is recognised, another way, tests pass: it converges', async () => {
    await project()
    const run = await here.planfold('run', 'converges.yaml')
    expect(run.exit).toBe(0)
    const all = await events('refactor')
    expect(said(all, 'attempt.failed')).toEqual([expect.stringContaining('test failed: exit 1: not ok report')])
    expect(said(all, 'recovery.chosen')).toEqual([
      "test: 'keep-old-name' runs instead (recovery rule 1, on: left-behind)",
    ])
    expect(said(all, 'task.substituted')).toEqual(['test completed: keep-old-name did its work'])
    expect(said(all, 'plan.finished')).toEqual([expect.stringContaining('plan completed')])
    await promisify(execFile)('node', ['test/all.mjs'], { cwd: here.folder })
    expect(await here.read('src/money.mjs')).toContain('export { sumOf, sumOf as total }')
    await isSound('refactor')
  })

  it('the twin that cannot converge is given up, and every byte is as it was before', async () => {
    await project()
    const before = hashed()
    const run = await here.planfold('run', 'aborts.yaml')
    expect(run.exit).toBe(1)
    expect(hashed()).toBe(before)
    const all = await events('refactor-aborts')
    expect(said(all, 'recovery.chosen')).toEqual([
      "test: 'without-report' runs instead (recovery rule 1, on: left-behind)",
      'without-report/test: not retried: the task has no `retry`',
      "test: 'without-report' is blocked by without-report/test; the plan is aborted (recovery rule 2)",
    ])
    expect([count(all, 'plan.aborted'), count(all, 'rollback.started'), count(all, 'rollback.finished')]).toEqual([
      1, 1, 1,
    ])
    expect(await here.json('status', 'refactor-aborts')).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^task 'test' failed: .*; its files were reverted to before its first task/),
    })
    await isSound('refactor-aborts')
  })

  it.each(MOMENTS)('killed at "%s" and resumed, both come to the same end', async moment => {
    await project()
    const before = hashed()
    const run = here.start('run', 'aborts.yaml')
    await run.until(moment)
    run.kill('SIGKILL')
    await run.ended
    // It may have come to its end before the signal did.
    const { status } = (await here.json('status', 'refactor-aborts')) as { status: string }
    if (status !== 'failed') expect((await here.planfold('resume', 'refactor-aborts')).exit).toBe(1)
    expect(hashed()).toBe(before)
    const all = await events('refactor-aborts')
    expect([count(all, 'plan.aborted'), count(all, 'rollback.started'), count(all, 'rollback.finished')]).toEqual([
      1, 1, 1,
    ])
    expect(count(all, 'plan.finished')).toBe(1)
    expect((await here.planfold('audit', 'replay', 'refactor-aborts')).exit).toBe(0)
  })

  it('killed in the middle of the way that works and resumed, it converges', async () => {
    await project()
    const run = here.start('run', 'converges.yaml')
    await run.until('keep-old-name/test started')
    run.kill('SIGKILL')
    await run.ended
    expect((await here.planfold('resume', 'refactor')).exit).toBe(0)
    await promisify(execFile)('node', ['test/all.mjs'], { cwd: here.folder })
    expect(count(await events('refactor'), 'task.substituted')).toBe(1)
  })
})

describe('a plan that fails with `on_failure: rollback`', () => {
  const plan = `planfold: 1
name: back
policy: { on_failure: rollback }
tasks:
  - { id: write, edit: { file: a.txt, find: one, replace: two } }
  - { id: make, edit: { file: made/b.txt, create: "new\\n" } }
  - { id: ask, needs: [write, make], gate: approval }
  - { id: fail, needs: [ask], effect: pure, run: "echo broken >&2; exit 3" }
`

  async function begun(): Promise<string> {
    here = await place()
    await here.write('a.txt', 'one\n')
    await here.write('back.yaml', plan)
    const before = hashed()
    expect((await here.planfold('run', 'back.yaml')).exit).toBe(4)
    expect(await here.read('a.txt')).toBe('two\n')
    await here.planfold('approve', 'back', 'ask', '-m', 'go')
    return before
  }

  it('takes its files back; taken up again, it writes them again', async () => {
    const before = await begun()
    expect((await here.planfold('resume', 'back')).exit).toBe(1)
    expect(hashed()).toBe(before)
    expect((await here.planfold('retry', 'back', 'fail')).exit).toBe(0)
    expect((await here.planfold('resume', 'back')).exit).toBe(4)
    expect(await here.read('a.txt')).toBe('two\n')
    expect(await here.read('made/b.txt')).toBe('new\n')
    await isSound('back')
  })

  it('never writes over what a person wrote: it stops, names the file, and asks', async () => {
    await begun()
    await here.write('a.txt', 'mine\n')
    expect((await here.planfold('resume', 'back')).exit).toBe(1)
    expect(await here.read('a.txt')).toBe('mine\n')
    expect(await here.json('status', 'back')).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('its files were not reverted'),
    })
    const { items } = (await here.json('inbox')) as { items: { id: string; asks: { conflicts: string[] } }[] }
    expect(items).toMatchObject([{ asks: { type: 'rollback', conflicts: ['a.txt'] } }])
    expect((await here.planfold('inbox', 'answer', items[0]!.id, 'keep', '-m', 'keep it')).exit).toBe(0)
    expect(await here.read('a.txt')).toBe('mine\n')
    expect(await here.files()).not.toContain('made')
    expect(await here.json('status', 'back')).toMatchObject({ status: 'failed' })
  })

  it('can be undone: the files come back, and the failed task is open', async () => {
    await begun()
    await here.planfold('resume', 'back')
    expect((await here.planfold('undo', 'back')).exit).toBe(0)
    expect(await here.read('a.txt')).toBe('two\n')
    expect(await here.json('status', 'back')).toMatchObject({ status: 'paused' })
  })
})
