// What a command tells people to do next works as it is written.

import { beforeEach, describe, expect, it } from 'vitest'
import type { Context } from '../../context.ts'
import { CliError } from '../../exit.ts'
import { eachPlace } from '../../place.fixture.ts'
import { retry } from '../people/claim.ts'
import { list } from './list.ts'
import { cancel } from './pause.ts'
import { resume } from './resume.ts'
import { run } from './run.ts'

const place = eachPlace()

/** All that is told, with the hint of an error. */
async function told(body: (context: Context) => Promise<number>): Promise<string> {
  let hint = ''
  const { stdout, stderr } = await place.say(context =>
    body(context).catch(error => {
      if (error instanceof CliError) hint = `\nhint: ${error.hint}`
      throw error
    }),
  )
  return `${stdout}${stderr}${hint}`
}

describe('run without a plan, or with a file that is not there', () => {
  it('names the plan file of this folder, and asks for it at a terminal', async () => {
    const start = (context: Context) => run(context, undefined, { start: true })
    expect(await told(start)).toContain('hint: `planfold init` writes an example plan')
    await place.write('ok.yaml', 'planfold: 1\nname: ok\ntasks: [{ id: a, run: "true" }]\n')
    await place.write('compose.yaml', 'services: {}\n')
    expect(await told(start)).toBe('name a plan file or a plan\nhint: planfold run ok.yaml')
    expect(await place.say(start, { keys: 'n' })).toMatchObject({
      exit: 0,
      stderr: 'run ok.yaml? [y/N] n\nnothing was run\n',
    })
    expect(await place.say(start, { keys: 'y' })).toMatchObject({ exit: 0 })
    await place.write('two.json', '{"planfold": 1, "name": "two", "tasks": []}')
    expect(await told(start)).toContain('hint: planfold run ok.yaml or planfold run two.json')
    const misspelt = await told(context => run(context, './ok.yml', { start: true }))
    expect(misspelt).toBe("there is no file './ok.yml'\nhint: did you mean 'ok.yaml'?")
  })
})

describe('a plan that was cancelled', () => {
  const WAITING = (task: string) =>
    `planfold: 1\nname: p\ntasks:\n  - { id: a, ${task} }\n  - { id: ok, needs: [a], gate: approval }\n`

  it('is run again with --again where something completed that is unsafe to repeat, and the hints say so', async () => {
    await place.write('p.yaml', WAITING('run: "true"'))
    await place.say(context => run(context, 'p.yaml', { start: true }))
    await place.say(context => cancel(context, 'p', {}))
    const hint = "hint: run its plan file again with --again: 'a' completed and is unsafe to repeat"
    expect(await told(context => resume(context, 'p', {}))).toContain(hint)
    expect(await told(context => retry(context, 'p', 'a', {}))).toContain(hint)
    expect(await place.say(context => run(context, 'p.yaml', { start: true }))).toMatchObject({ exit: 'not-allowed' })
    expect(await place.say(context => run(context, 'p.yaml', { start: true, again: true }))).toMatchObject({ exit: 4 })
  })

  it('is run again without it where nothing such was done', async () => {
    await place.write('p.yaml', WAITING('run: "true", effect: pure'))
    await place.say(context => run(context, 'p.yaml', { start: true }))
    await place.say(context => cancel(context, 'p', {}))
    const hint = 'hint: run its plan file again: that creates a new plan'
    expect(await told(context => resume(context, 'p', {}))).toContain(hint)
    expect(await place.say(context => run(context, 'p.yaml', { start: true }))).toMatchObject({ exit: 4 })
  })
})

describe('cancel without the name of a plan', () => {
  beforeEach(async () => {
    await place.write('p.yaml', 'planfold: 1\nname: p\ntasks: [{ id: a }]\n')
    await place.say(context => run(context, 'p.yaml', { start: true }))
  })
  const statusNow = async (): Promise<string> => {
    const said = await place.say(context => list(context, {}), { json: true })
    return (JSON.parse(said.stdout) as { data: { items: readonly [{ status: string }] } }).data.items[0].status
  }

  it('needs --yes where nobody sits at a terminal', async () => {
    expect(await place.say(context => cancel(context, undefined, {}))).toEqual({
      exit: 'not-confirmed',
      stdout: '',
      stderr: "nothing was changed: this cancels 'p' for good, and without its name and a terminal that needs --yes",
    })
    expect(await statusNow()).toBe('active')
    expect(await place.say(context => cancel(context, undefined, { yes: true }))).toMatchObject({ exit: 0 })
    expect(await statusNow()).toBe('cancelled')
  })

  it('asks at a terminal, and a no changes nothing', async () => {
    const no = await place.say(context => cancel(context, undefined, {}), { keys: 'n' })
    expect(no).toEqual({ exit: 0, stdout: '', stderr: 'cancel p for good? [y/N] n\nnothing was changed\n' })
    expect(await statusNow()).toBe('active')
    expect(await place.say(context => cancel(context, undefined, {}), { keys: 'y' })).toMatchObject({ exit: 0 })
    expect(await statusNow()).toBe('cancelled')
  })

  it('does not ask where the plan is named', async () => {
    expect(await place.say(context => cancel(context, 'p', {}))).toMatchObject({ exit: 0 })
    expect(await statusNow()).toBe('cancelled')
  })
})
