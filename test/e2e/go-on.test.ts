// Fix, and go on: a plan that failed is run again from its file, as a person does it after the first red line.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'

let here: Place
beforeEach(async () => {
  here = await place()
})
afterEach(() => here.remove())

const plan = (...tasks: readonly string[]): string =>
  `planfold: 1\nname: p\ntasks:\n${tasks.map(task => `  - { ${task} }\n`).join('')}`
const BUILD = 'id: build, run: "echo built >> log"'
const test = (command: string) => `id: test, needs: [build], run: "${command}"`
const SHIP = 'id: ship, needs: [test], run: "echo shipped >> log"'

describe('a plan that failed', () => {
  it('goes on from its changed file: what is done stays done', async () => {
    await here.write('p.yaml', plan(BUILD, test('exit 1'), SHIP))
    expect(await here.planfold('run', 'p.yaml')).toMatchObject({ exit: 1 })
    await here.write('p.yaml', plan(BUILD, test('echo tested >> log'), SHIP))
    const again = await here.planfold('run', 'p.yaml')
    expect(again).toMatchObject({ exit: 0 })
    expect(again.stderr).toBe(
      'p.yaml changed: p becomes revision 2:\n  ~ task test: run\nplan p failed; continuing: 1 task stays completed, 1 runs again, 1 has not run yet\n',
    )
    expect(await here.read('log')).toBe('built\ntested\nshipped\n')
    expect(await here.json('list')).toMatchObject({ items: [{ name: 'p', status: 'completed' }] })
    // What happened is proven as everything else is.
    expect(await here.planfold('audit', 'replay', 'p')).toMatchObject({ exit: 0 })
    expect(await here.planfold('doctor', 'store')).toMatchObject({ exit: 0 })
  })

  it('goes on from the same file, or by its name, when the world was mended', async () => {
    await here.write('p.yaml', plan(BUILD, test('test -f ready'), SHIP))
    expect(await here.planfold('run', 'p.yaml')).toMatchObject({ exit: 1 })
    expect(await here.planfold('run', 'p.yaml')).toMatchObject({
      exit: 1,
      stderr: 'plan p failed; continuing: 1 task stays completed, 1 runs again, 1 has not run yet\n',
    })
    await here.write('ready', '')
    expect(await here.planfold('run', 'p')).toMatchObject({ exit: 0 })
    expect(await here.read('log')).toBe('built\nshipped\n')
    expect(await here.planfold('audit', 'replay', 'p')).toMatchObject({ exit: 0 })
    expect(await here.planfold('doctor', 'store')).toMatchObject({ exit: 0 })
  })

  it('is run afresh with --again', async () => {
    await here.write('p.yaml', plan(BUILD, test('exit 1')))
    await here.planfold('run', 'p.yaml')
    expect(await here.planfold('run', 'p.yaml', '--again')).toMatchObject({
      exit: 1,
      stderr:
        'p is finished (failed); starting over as p-2\nrun with your permissions, not in the sandbox: build, test\n',
    })
    expect(await here.read('log')).toBe('built\nbuilt\n')
  })

  it('asks what becomes of work that happened, was changed and may not happen twice', async () => {
    await here.write('p.yaml', plan(BUILD, test('exit 1')))
    await here.planfold('run', 'p.yaml')
    const other = plan('id: build, run: "echo other >> log"', test('true'))
    await here.write('p.yaml', other)
    const asked = await here.planfold('run', 'p.yaml')
    expect(asked).toMatchObject({ exit: 3, stdout: '' })
    expect(asked.stderr).toContain("'build' is completed and would be done a second time")
    expect(asked.stderr).toContain('--keep-done')
    expect(await here.planfold('run', 'p.yaml', '--repeat', '--keep-done')).toMatchObject({ exit: 2 })
    expect(await here.planfold('run', 'p.yaml', '--repeat')).toMatchObject({ exit: 0 })
    expect(await here.read('log')).toBe('built\nother\n')
  })

  it('leaves such work done with --keep-done', async () => {
    await here.write('p.yaml', plan(BUILD, test('exit 1')))
    await here.planfold('run', 'p.yaml')
    await here.write('p.yaml', plan('id: build, run: "echo other >> log"', test('true')))
    const kept = await here.planfold('run', 'p.yaml', '--keep-done')
    expect(kept).toMatchObject({ exit: 0 })
    expect(kept.stderr).toContain('1 task stays completed, 1 runs again')
    expect(await here.read('log')).toBe('built\n')
  })

  it('runs again what was compensated, and what wrote files that were taken back', async () => {
    const undo = 'compensate: { run: "echo undone >> log" }'
    await here.write('p.yaml', plan(`${BUILD}, ${undo}`, test('exit 1')))
    await here.planfold('run', 'p.yaml')
    await here.write('p.yaml', plan(`${BUILD}, ${undo}`, test('true')))
    expect(await here.planfold('run', 'p.yaml')).toMatchObject({ exit: 0 })
    expect(await here.read('log')).toBe('built\nundone\nbuilt\n')

    const back = (command: string) =>
      `planfold: 1\nname: b\npolicy: { on_failure: rollback }\ntasks:\n  - { id: write, write: [out], network: [], run: "echo one > out" }\n  - { id: look, needs: [write], effect: pure, run: "${command}" }\n`
    await here.write('b.yaml', back('exit 1'))
    expect(await here.planfold('run', 'b.yaml')).toMatchObject({ exit: 1 })
    expect(await here.files()).not.toContain('out')
    await here.write('b.yaml', back('cat out'))
    const went = await here.planfold('run', 'b.yaml')
    expect(went).toMatchObject({ exit: 0 })
    expect(went.stderr).toContain('plan b failed; continuing: 2 tasks run again')
    expect(await here.read('out')).toBe('one\n')
  })

  it('is completed at once when what failed was taken out of the file', async () => {
    await here.write('p.yaml', plan(BUILD, test('exit 1')))
    await here.planfold('run', 'p.yaml')
    await here.write('p.yaml', plan(BUILD))
    const over = await here.planfold('run', 'p.yaml')
    expect(over).toMatchObject({ exit: 0 })
    expect(over.stderr).toContain('continuing: 1 task stays completed')
  })

  it('goes on under converge too, and keeps the tasks that were added', async () => {
    const done = (command: string) =>
      `planfold: 1\nname: c\ndone:\n  - check: [test, -f, made]\ntasks:\n  - { id: a, effect: pure, run: "${command}" }\n`
    await here.write('c.yaml', done('exit 1'))
    expect(await here.planfold('run', 'c.yaml')).toMatchObject({ exit: 1 })
    await here.write('c.yaml', done('true'))
    const converged = await here.planfold('converge', 'c.yaml', '--with', 'touch made')
    expect(converged).toMatchObject({ exit: 0 })
    expect(converged.stderr).toContain('plan c failed; continuing: 1 task runs again')
    const shown = (await here.json('show', 'c')) as { readonly tasks: readonly { readonly name: string }[] }
    expect(JSON.stringify(shown)).toContain('converge-1-1')
  })
})

describe('an agent', () => {
  const PLAN =
    'planfold: 1\nname: p\ntasks:\n  - { id: a, write: [out/**, ready], retry: { attempts: 2, backoff: 1ms..1ms }, accept: [{ expect: outputs.tests >= 10 }, { check: [test, -f, ready] }] }\n'

  it('whose work is not accepted keeps it, is told why, and reports again', async () => {
    await here.write('p.yaml', PLAN)
    expect(await here.planfold('run', 'p.yaml')).toMatchObject({ exit: 4 })
    const { token } = (await here.json('claim', 'p')) as { readonly token: string }
    const early = await here.planfold('report', '--status', 'done', 'p', 'a', '--token', token, '--output', 'tests=3')
    expect(early).toMatchObject({ exit: 1 })
    expect(early.stdout).toBe(
      'report of a not accepted, the claim stays: check failed: outputs.tests >= 10 (outputs.tests is 3)\n',
    )
    expect(early.stderr).toContain('check failed: test -f ready (exit 1)')
    expect(early.stderr).toContain(`planfold report p a --status done --token ${token}`)
    expect(await here.planfold('claim', 'p', 'a', '--as', 'bo')).toMatchObject({ exit: 3 })
    await here.write('ready', '')
    expect(
      await here.planfold('report', '--status', 'done', 'p', 'a', '--token', token, '--output', 'tests=12'),
    ).toMatchObject({ exit: 0 })
    expect(await here.json('list')).toMatchObject({ items: [{ status: 'completed' }] })
  })

  it('who comes after one that gave up is told what happened and where it may write', async () => {
    await here.write('p.yaml', PLAN)
    await here.planfold('run', 'p.yaml')
    const { token } = (await here.json('claim', 'p')) as { readonly token: string }
    await here.planfold('report', '--status', 'done', 'p', 'a', '--token', token, '--output', 'tests=3')
    await here.planfold('report', '--status', 'failed', 'p', 'a', '--token', token, '-m', 'I cannot', '--retryable')
    const next = await here.planfold('claim', 'p', '--as', 'bo', '--wait', '--timeout', '1m')
    expect(next).toMatchObject({ exit: 0 })
    expect(next.stdout).toContain('earlier  a report in attempt 1 of ana@example.com was refused: check failed')
    expect(next.stdout).toContain('earlier  attempt 1 of ana@example.com failed: I cannot')
    expect(next.stdout).toContain('write    only in out/**')
  })

  it('claims the next task of all plans, and waits for one', async () => {
    const one = (name: string) => `planfold: 1\nname: ${name}\ntasks: [{ id: a }, { id: b, needs: [a] }]\n`
    for (const name of ['first', 'second']) {
      await here.write(`${name}.yaml`, one(name))
      await here.planfold('run', `${name}.yaml`)
    }
    expect((await here.planfold('next')).stdout).toMatch(/^first\n.* a .*\nsecond\n.* a /)
    expect(await here.json('next')).toMatchObject({ ready: [{ planName: 'first' }, { planName: 'second' }] })
    expect(await here.json('claim')).toMatchObject({ name: 'first', task: 'a' })
    expect(await here.json('claim')).toMatchObject({ name: 'second', task: 'a' })
    expect(await here.planfold('claim')).toMatchObject({ exit: 3 })
    expect(await here.planfold('claim', '--wait', '--timeout', '10ms')).toMatchObject({ exit: 4 })
    expect(await here.planfold('claim', '--timeout', '1s')).toMatchObject({ exit: 2 })
    const waiting = here.start('claim', '--wait', '--as', 'bo')
    await here.planfold('report', '--status', 'done', 'first', 'a')
    expect(await waiting.ended).toMatchObject({ exit: 0, stdout: expect.stringContaining('task   b') })
  })
})

describe('output files that are gone', () => {
  const plan = (recovery: string) =>
    `planfold: 1\nname: o\n${recovery}tasks:\n  - { id: make, write: [out/**], network: [], run: "mkdir -p out; echo '{}' > out/r.json; echo text > out/t.txt", outputs: { r: { file: out/r.json }, t: { file: out/t.txt } } }\n  - { id: ask, needs: [make], gate: approval }\n`

  it('are told when the plan is taken up, once, and by drift', async () => {
    await here.write('o.yaml', plan(''))
    expect(await here.planfold('run', 'o.yaml')).toMatchObject({ exit: 4 })
    expect((await here.planfold('resume', 'o')).stdout).not.toContain('not as it was left')
    rmSync(join(here.folder, 'out/r.json'))
    await here.write('out/t.txt', 'mine\n')
    expect((await here.planfold('resume', 'o')).stdout).toContain(
      "changed or missing: output 'r' of make (out/r.json is missing), output 't' of make (out/t.txt is changed)",
    )
    expect((await here.planfold('resume', 'o')).stdout).not.toContain('not as it was left')
    const drifted = await here.planfold('status', '--drift', 'o')
    expect(drifted.stdout).toContain("make: 'r' is missing (out/r.json); planfold retry o make rebuilds it")
    expect(drifted.stdout).toContain("make: 't' is changed (out/t.txt)")
    expect(await here.planfold('audit', 'replay', 'o')).toMatchObject({ exit: 0 })
    expect(await here.planfold('doctor', 'store')).toMatchObject({ exit: 0 })
  })

  it('are made again where the plan says so, and nobody is asked about what is theirs', async () => {
    await here.write('o.yaml', plan('recovery: { outputs: remake }\n'))
    expect(await here.planfold('run', 'o.yaml')).toMatchObject({ exit: 4 })
    await here.write('out/t.txt', 'mine\n')
    rmSync(join(here.folder, 'out/r.json'))
    expect((await here.planfold('resume', 'o')).stdout).not.toContain('make started')
    expect(await here.read('out/t.txt')).toBe('mine\n')
    await here.write('out/t.txt', 'text\n')
    const resumed = await here.planfold('resume', 'o')
    expect(resumed.stdout).toContain('make completed')
    expect(await here.read('out/r.json')).toBe('{}\n')
    expect(await here.planfold('audit', 'replay', 'o')).toMatchObject({ exit: 0 })
  })

  it('are no loss when a later task of the plan removed them', async () => {
    await here.write(
      'o.yaml',
      `planfold: 1\nname: o\ntasks:\n  - { id: make, write: [r.txt], network: [], run: "echo 1 > r.txt", outputs: { r: { file: r.txt } } }\n  - { id: tidy, needs: [make], write: [r.txt], network: [], run: "rm r.txt" }\n  - { id: ask, needs: [tidy], gate: approval }\n`,
    )
    expect(await here.planfold('run', 'o.yaml')).toMatchObject({ exit: 4 })
    expect((await here.planfold('resume', 'o')).stdout).not.toContain('not as it was left')
    expect((await here.planfold('status', '--drift', 'o')).stdout).not.toContain('missing')
  })
})
