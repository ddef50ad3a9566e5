import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newPlace, type Place } from '../../place.fixture.ts'
import { width } from '../../terminal/table.ts'
import { type RunOptions, run } from '../plans/run.ts'
import { show } from '../plans/show.ts'
import { compare } from '../undo/compare.ts'
import { audit } from './audit.ts'
import { replay } from './replay.ts'

let here: Place
beforeEach(async () => {
  here = await newPlace()
})
afterEach(() => here.remove())

const document = (name: string, say: string, more = ''): string => `planfold: 1
name: ${name}
tasks:
  - { id: say, run: ["sh", "-c", "echo ${say}; echo ran >> ran.txt"], effect: pure, outputs: { word: { stdout: text } } }
  - { id: write, needs: [say], edit: [{ file: ${name}.txt, create: "${say}" }] }
${more}`

async function made(name: string, say: string, more = ''): Promise<void> {
  await here.write(`${name}.yaml`, document(name, say, more))
  const said = await here.say(context => run(context, `${name}.yaml`, { start: true } as RunOptions))
  expect(said.exit, said.stderr).toBe(0)
}

const dataOf = (stdout: string) => (JSON.parse(stdout) as { data: Record<string, unknown> }).data

describe('planfold audit replay', () => {
  it('says that it is the same again, what was re-enacted, and carries nothing out', async () => {
    await made('one', 'hello')
    const said = await here.say(context => replay(context, 'one'))
    expect(said).toMatchObject({ exit: 0, stderr: '' })
    expect(said.stdout).toMatch(/^✔ replay matches: \d+ entries of one lead to the same state again \(\d+ ms\)\.\n/)
    expect(said.stdout).toMatch(/ {2}2 recorded attempts were reused; nothing was run\.\n/)
    expect(await here.read('ran.txt')).toBe('ran\n')
    const json = await here.say(context => replay(context, 'one'), { json: true })
    expect(dataOf(json.stdout)).toMatchObject({ name: 'one', ok: true, fault: null, durationMs: expect.any(Number) })
  })

  it('records the programs of an attempt when they changed, shows them, and says what differs on this machine', async () => {
    const bin = `${here.folder}-bin`
    mkdirSync(bin)
    const python = (version: string) =>
      writeFileSync(`${bin}/python3`, `#!/bin/sh\necho Python ${version}\n`, { mode: 0o755 })
    const options = { json: true, environment: { PATH: `${bin}:${process.env.PATH}` } }
    try {
      python('3.9.1')
      await here.write(
        'p.yaml',
        document('p', 'hello', '  - { id: more, needs: [write], run: ["true"], effect: pure }\n'),
      )
      await here.say(context => run(context, 'p.yaml', { start: true } as RunOptions), options)
      const shown = async (task: string) =>
        dataOf((await here.say(context => show(context, 'p', task), options)).stdout).programs as string[]
      expect(await shown('say')).toContain(`python 3.9.1 (${bin}/python3)`)
      expect(await shown('more')).toEqual(await shown('say'))
      const trail = dataOf((await here.say(context => audit(context, 'p', {}), options)).stdout).lines as {
        readonly facts: { readonly programs?: object }
      }[]
      expect(trail.filter(({ facts }) => facts.programs !== undefined).length).toBe(1)
      const same = await here.say(context => replay(context, 'p'), options)
      expect(dataOf(same.stdout)).toMatchObject({ ok: true, programs: [] })
      python('3.10.12')
      const other = await here.say(context => replay(context, 'p'), { ...options, json: false })
      expect(other.stdout).toContain(
        `note: on this machine now: python (version unknown) (${bin}/python3); recorded: python 3.9.1 (${bin}/python3)`,
      )
    } finally {
      rmSync(bin, { recursive: true })
    }
  })

  it('does not know a plan that is not there', async () => {
    await made('one', 'hello')
    expect(await here.say(context => replay(context, 'two'))).toMatchObject({ exit: 'not-found' })
  })
})

describe('planfold compare', () => {
  it('shows two runs in a hundred columns, with what differs', async () => {
    await made('one', 'hello')
    await made('two', 'moin', `  - { id: ${'long-'.repeat(12)}x, run: ["true"], effect: pure }\n`)
    const said = await here.say(context => compare(context, 'one', 'two', {}))
    expect(said).toMatchObject({ exit: 0, stderr: '' })
    const lines = said.stdout.trimEnd().split('\n')
    expect(lines.filter(line => width(line) > 100)).toEqual([])
    expect(said.stdout).toMatch(/the definitions differ:/)
    expect(said.stdout).toMatch(/^say +completed +1 +\S+ +completed +1 +\S+ +outputs word$/m)
    expect(said.stdout).toMatch(/^write .*outputs files$/m)
    expect(said.stdout).toMatch(/only in b$/m)
    expect(said.stdout).toContain('3 of 3 tasks differ')
    expect(said.stdout).toMatch(/^one\.txt +[0-9a-f]{12} +unchanged$/m)
    const json = dataOf((await here.say(context => compare(context, 'one', 'two', {}), { json: true })).stdout)
    expect(json).toMatchObject({ a: { name: 'one' }, b: { name: 'two' }, definition: { same: false } })
  })

  it('of a plan with itself finds nothing', async () => {
    await made('one', 'hello')
    const said = await here.say(context => compare(context, 'one', 'one', { all: true }))
    expect(said.stdout).toContain('the definitions are the same\n')
    expect(said.stdout).toContain('all 2 tasks are the same\n')
    expect(await here.say(context => compare(context, 'one', 'nobody', {}))).toMatchObject({ exit: 'not-found' })
  })
})
