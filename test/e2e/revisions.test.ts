// Revising a plan from the command line, while it runs and after it failed, against the built program.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'

let here: Place
beforeEach(async () => {
  here = await place()
})
afterEach(() => here.remove())

const plan = (command: string, more = ''): string => `planfold: 1
name: ship
tasks:
  - { id: build, run: ["sh", "-c", "echo built >> log"], effect: pure }
  - { id: test, needs: [build], run: ["${command}"], effect: pure }
  - { id: ask, needs: [build], gate: approval }
  - { id: push, needs: [test, ask], run: ["sh", "-c", "echo pushed >> log"], effect: pure }
${more}`

describe('a plan that is rewritten while it is under way', () => {
  it('keeps what is completed, tries again what failed and was changed, and tells what it will do before', async () => {
    await here.write('plan.yaml', plan('false'))
    expect((await here.planfold('run', 'plan.yaml')).exit).toBe(4)
    expect(await here.json('show', 'ship', 'test')).toMatchObject({ task: { status: 'failed' } })

    await here.write('fixed.yaml', plan('true', '  - { id: tell, needs: [push], run: ["true"], effect: pure }\n'))
    const dry = await here.planfold('revise', 'ship', 'fixed.yaml', '--dry-run')
    expect(dry).toMatchObject({ exit: 0, stderr: '' })
    expect(dry.stdout).toContain('~ task test: action changed\n  run: [false] → [true]\n')
    expect(dry.stdout).toContain('  test had failed, is changed, and is tried again\n')
    expect(dry.stdout).toContain('nothing was written\n')
    expect(await here.json('revise', 'list', 'ship')).toMatchObject({ items: [{ revision: 1 }] })

    expect(await here.planfold('revise', 'ship', 'fixed.yaml', '-m', 'the test was wrong')).toMatchObject({
      exit: 0,
      stdout: expect.stringMatching(/^ship is now revision 2: added tell; changed action of test\n/),
    })
    await here.planfold('approve', 'ship', 'ask')
    expect((await here.planfold('resume', 'ship')).exit).toBe(0)
    expect(await here.read('log')).toBe('built\npushed\n')
    expect(await here.planfold('doctor', 'store')).toMatchObject({ exit: 0 })
  })

  it('refuses to take away what a person is being asked, and says so beforehand', async () => {
    await here.write('plan.yaml', plan('true'))
    expect((await here.planfold('run', 'plan.yaml')).exit).toBe(4)
    await here.write('less.yaml', 'planfold: 1\ntasks: [{ id: build, run: ["true"], effect: pure }]\n')
    const dry = await here.planfold('revise', 'ship', 'less.yaml', '--dry-run')
    expect(dry).toMatchObject({ exit: 3, stdout: expect.stringContaining('ask is waiting and cannot be removed') })
    expect(await here.planfold('revise', 'ship', 'less.yaml')).toMatchObject({
      exit: 3,
      stderr: expect.stringMatching(/^error: .*'ask'.*\nhint: .*\n$/),
    })
    expect(await here.json('status', 'ship')).toMatchObject({ revision: 1 })
  })
})

describe('revisions', () => {
  it('are listed, shown and compared, with and without their words', async () => {
    await here.write('plan.yaml', plan('true'))
    await here.planfold('import', 'plan.yaml')
    const text = plan('true').replace('gate: approval', 'gate: approval, title: "Fine?"')
    await here.write('next.yaml', text)
    expect((await here.planfold('revise', 'ship', 'next.yaml', '--message', 'say it', '--as', 'bob')).exit).toBe(0)
    expect((await here.planfold('revise', 'ship', '--order', 'push')).exit).toBe(0)

    const list = await here.planfold('revise', 'list', 'ship')
    expect(list.exit).toBe(0)
    expect(list.stdout.split('\n').map(line => line.replace(/[0-9a-f]{12} {2}\S+ \S+/, 'HASH TIME').trim())).toEqual([
      expect.stringMatching(/^revision +hash +when +by +why +what$/),
      expect.stringMatching(/^1 +HASH TIME +ana@example.com +created with 4 tasks$/),
      expect.stringMatching(/^2 +HASH TIME +bob +say it +changed text of ask$/),
      expect.stringMatching(/^3 +HASH TIME +ana@example.com +revise: order push +reordered$/),
      '',
    ])
    expect((await here.planfold('revise', 'list')).stdout).toBe(list.stdout)

    expect((await here.planfold('revise', 'diff', 'ship', '1', '2')).stdout).toBe(
      'revision 1 → 2: changed text of ask\n\n~ task ask: text changed\n  + title: "Fine?"\n',
    )
    expect(await here.json('revise', 'diff', 'ship')).toMatchObject({
      from: { revision: 2 },
      to: { revision: 3 },
      diff: { reordered: [null] },
    })
    expect((await here.planfold('revise', 'show', 'ship', '2', '--original')).stdout).toBe(text)
    const yaml = (await here.planfold('revise', 'show', 'ship', '1', '--yaml')).stdout
    await here.write('copy.yaml', yaml)
    expect((await here.planfold('revise', 'ship', 'copy.yaml', '-m', 'back')).exit).toBe(0)
    const shown = (await here.json('revise', 'show', 'ship')) as { hash: string; revision: number }
    const first = (await here.json('revise', 'show', 'ship', '1')) as { hash: string }
    expect(shown).toMatchObject({ revision: 4, hash: first.hash, verified: true, rationale: 'back' })
  })

  it('bad words are met with one message and a hint', async () => {
    await here.write('plan.yaml', plan('true'))
    await here.planfold('import', 'plan.yaml')
    for (const argv of [
      ['revisions', 'diff', 'ship', 'x'],
      ['revisions', 'show', 'ship', '--yml'],
      ['revise', 'ship', 'nope.yaml'],
      ['revise', 'ship', 'plan.yaml', '--merge', '--replace'],
      ['revise', 'ship', '--remove', 'tests'],
    ]) {
      const { exit, stdout, stderr } = await here.planfold(...argv)
      expect({ argv, exit, stdout }).toEqual({ argv, exit: 2, stdout: '' })
      expect(stderr).toMatch(/^error: .*\nhint: .*\n$/)
    }
  })
})

describe('said twice', () => {
  it('--remove means both', async () => {
    await here.write('p.yaml', 'planfold: 1\nname: p\ntasks: [{ id: a }, { id: b }, { id: c }]\n')
    await here.planfold('run', 'p.yaml', '--no-start')
    expect(await here.planfold('revise', 'p', '--remove', 'a', '--remove', 'b')).toMatchObject({ exit: 0 })
    expect(await here.json('show', 'p')).toMatchObject({ tasks: [{ name: 'c' }] })
  })
})
