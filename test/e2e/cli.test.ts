// The built command as a process: what it says and where, its exit codes, its signals. Flows of many commands are in `cli-flows.test.ts`.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GREETING as PLAN, type Place, place } from './planfold.fixture.ts'

let here: Place
beforeEach(async () => {
  here = await place()
})
afterEach(() => here.remove())

describe('the built command', () => {
  it('tells its version', async () => {
    const { exit, stdout, stderr } = await here.planfold('--version')
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
  })

  it('helps whoever asks for help, and whoever asks for nothing, which is no success', async () => {
    const asked = await here.planfold('--help')
    expect(asked).toMatchObject({ exit: 0, stderr: '', stdout: expect.stringContaining('planfold help <topic>') })
    expect(await here.planfold()).toEqual({ exit: 2, stdout: asked.stdout, stderr: '' })
    expect(await here.planfold('help', 'run')).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('planfold run'),
    })
    expect(await here.planfold('template')).toMatchObject({ exit: 2 })
  })

  it('complains on standard error, and to scripts in the envelope on standard output', async () => {
    expect(await here.planfold('help', 'foo')).toEqual({
      exit: 2,
      stdout: '',
      stderr: "error: unknown command or topic 'foo'\nhint: see `planfold --help`\n",
    })
    const { exit, stdout, stderr } = await here.planfold('run', 'nope.yaml', '--json')
    expect({ exit, stderr }).toEqual({ exit: 2, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({
      planfold: 1,
      error: { message: expect.stringContaining("'nope.yaml'") },
    })
  })

  it('refuses a plan with a mistake at its place, and writes nothing', async () => {
    await here.write('plan.yaml', 'planfold: 1\nname: bad\ntasks:\n  - id: build\n  - { id: test, needs: [biuld] }\n')
    const { exit, stdout, stderr } = await here.planfold('run', 'plan.yaml')
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' })
    expect(stderr).toMatch(/plan\.yaml:5:\d+: error: .*'biuld'.*[\s\S]*did you mean 'build'\?/)
    expect(await here.files()).toEqual(['plan.yaml'])
  })

  it('ends with 4 where somebody has to answer, 3 where it refuses, 1 where a task failed, and 0', async () => {
    await here.write(
      'plan.yaml',
      'planfold: 1\nname: codes\ntasks:\n  - { id: ask, gate: approval }\n  - { id: b, needs: [ask], run: ["false"], effect: pure }\n',
    )
    expect(await here.planfold('run', 'plan.yaml')).toMatchObject({
      exit: 4,
      stderr: 'run with your permissions, not in the sandbox: b\n',
    })
    expect(await here.planfold('approve', 'codes', 'ask')).toEqual({
      exit: 0,
      stdout: 'ask approved by ana@example.com\nready: b\n',
      stderr: 'Next: planfold resume codes\n',
    })
    expect(await here.planfold('approve', 'codes', 'ask')).toMatchObject({
      exit: 3,
      stdout: '',
      stderr: expect.stringMatching(/^error: /),
    })
    expect(await here.planfold('resume', 'codes')).toMatchObject({ exit: 1, stderr: '' })
    await here.write('well.yaml', 'planfold: 1\ntasks:\n  - { id: a, run: ["true"], effect: pure }\n')
    expect(await here.planfold('run', 'well.yaml')).toMatchObject({
      exit: 0,
      stderr: 'run with your permissions, not in the sandbox: a\n',
    })
  })

  it('streams JSON lines while it runs and ends them with a summary', async () => {
    await here.write(
      'plan.yaml',
      'planfold: 1\ntasks:\n  - { id: a, run: ["true"], effect: pure }\n  - { id: b, needs: [a], run: ["false"], effect: pure }\n',
    )
    const { exit, stdout, stderr } = await here.planfold('run', 'plan.yaml', '--json')
    expect({ exit, stderr }).toEqual({ exit: 1, stderr: '' })
    const envelopes = stdout
      .trim()
      .split('\n')
      .map(
        line =>
          JSON.parse(line) as {
            planfold: number
            data: { type: string; version: number; event: { type: string }; summary: unknown }
          },
      )
    expect(envelopes.every(each => each.planfold === 1)).toBe(true)
    expect(envelopes.slice(0, -1).map(each => each.data.event.type)).toEqual(
      expect.arrayContaining([
        'plan.created',
        'plan.started',
        'attempt.started',
        'attempt.succeeded',
        'attempt.failed',
        'plan.finished',
      ]),
    )
    expect(envelopes.at(-1)!.data).toMatchObject({
      type: 'summary',
      summary: { name: 'plan', status: 'failed', failed: [{ task: 'b' }] },
      next: 'planfold retry plan b',
    })
  })

  it('shows what it would do without doing it', async () => {
    await here.write('plan.yaml', PLAN)
    const { exit, stdout } = await here.planfold('run', 'plan.yaml', '--dry-run')
    expect(exit).toBe(0)
    expect(stdout).toContain('+hello')
    expect(stdout).toContain('nothing was written')
    expect(await here.files()).toEqual(['plan.yaml'])
  })

  it('init makes a place and an example that validates and runs', async () => {
    expect(await here.planfold('init')).toMatchObject({ exit: 0, stderr: '' })
    expect(await here.files()).toEqual(['.planfold', 'plan.yaml'])
    expect(await here.read('.planfold/.gitignore')).toBe('*\n')
    const validated = await here.planfold('validate', 'plan.yaml')
    expect(validated).toMatchObject({ exit: 0, stderr: '' })
    expect((await here.planfold('run', 'plan.yaml')).exit).toBe(4)
    await here.write('plan.yaml', 'mine')
    await here.planfold('init')
    expect(await here.read('plan.yaml')).toBe('mine')
  })
})

describe('interrupted', () => {
  const SLOW =
    'planfold: 1\nname: slow\ntasks:\n  - { id: nap, run: "echo up; sleep 600", effect: pure }\n  - { id: after, needs: [nap], run: ["true"], effect: pure }\n'

  it('by Ctrl-C it pauses, says how to resume, and exits 130', async () => {
    await here.write('plan.yaml', SLOW)
    const run = here.start('run', 'plan.yaml')
    await run.until('nap │ up')
    run.kill('SIGINT')
    const { exit, stdout } = await run.ended
    expect(exit).toBe(130)
    expect(stdout).toContain('Next: planfold resume slow')
    expect(await here.json('status', 'slow')).toMatchObject({ status: 'paused', running: [] })
  })

  it('by SIGTERM it pauses and exits 4; a second process is told who drives', async () => {
    await here.write('plan.yaml', SLOW)
    const run = here.start('run', 'plan.yaml')
    await run.until('nap │ up')
    expect(await here.planfold('run', 'plan.yaml')).toMatchObject({
      exit: 3,
      stderr: expect.stringMatching(/already running \(pid \d+ on .*\n.*planfold log slow --follow/),
    })
    const log = here.start('log', 'slow', '--output', '--follow')
    await log.until('up')
    const life = here.start('log', 'slow', '--follow')
    await life.until('nap started')
    run.kill('SIGTERM')
    expect(await run.ended).toMatchObject({ exit: 4 })
    await life.until('paused')
    for (const following of [log, life]) {
      following.kill('SIGINT')
      expect(await following.ended).toMatchObject({ exit: 0 })
    }
  })

  it('killed, it is resumed where it was', async () => {
    await here.write(
      'plan.yaml',
      'planfold: 1\nname: killed\ntasks:\n  - { id: nap, run: "echo up; test -e second || { touch second; sleep 600; }", effect: pure }\n  - { id: after, needs: [nap], run: ["true"], effect: pure }\n',
    )
    const run = here.start('run', 'plan.yaml')
    await run.until('nap │ up')
    run.kill('SIGKILL')
    await run.ended
    expect(await here.planfold('resume')).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('nap started (attempt 2)'),
    })
  })

  it('by pause from elsewhere it rests; cancel then ends it', async () => {
    await here.write('plan.yaml', SLOW)
    const run = here.start('run', 'plan.yaml')
    await run.until('nap │ up')
    expect(await here.planfold('pause', '-m', 'lunch')).toMatchObject({ exit: 0, stdout: 'plan paused: lunch\n' })
    expect(await run.ended).toMatchObject({ exit: 4 })
    expect(await here.planfold('cancel', 'slow', '--message', 'no longer wanted')).toMatchObject({ exit: 0 })
    expect(await here.json('status', 'slow')).toMatchObject({ status: 'cancelled' })
  })
})
