// `pause` and `resume`: of the plans of a session, and without a name.

import { afterEach, beforeEach, expect, it } from 'vitest'
import { EXIT } from '../../exit.ts'
import { newPlace, type Place } from '../../place.fixture.ts'
import { list } from './list.ts'
import { pause } from './pause.ts'
import { resume } from './resume.ts'
import { run } from './run.ts'
import { status } from './status.ts'

let here: Place
beforeEach(async () => {
  here = await newPlace()
})
afterEach(() => here.remove())

async function start(name: string, session: string) {
  await here.write(`${name}.yaml`, `planfold: 1\nname: ${name}\nsession: ${session}\ntasks: [{ id: work }]\n`)
  return await here.say(context => run(context, `${name}.yaml`, { start: true }))
}

it('pauses and resumes the plans of a session, and no other', async () => {
  await start('one', 'desk')
  await start('two', 'desk')
  await start('other', 'sofa')
  const listed = await here.say(context => list(context, { session: 'desk' }))
  expect([listed.stdout.includes('one'), listed.stdout.includes('two'), listed.stdout.includes('other')]).toEqual([
    true,
    true,
    false,
  ])
  const paused = await here.say(context => pause(context, undefined, { session: 'desk' }))
  expect(paused).toMatchObject({ exit: EXIT.done, stdout: expect.stringContaining('paused: two, one') })
  const stateOf = async (name: string) => {
    const said = await here.say(context => status(context, name), { json: true })
    return (JSON.parse(said.stdout) as { data: { status: string; reason: string } }).data
  }
  expect(await stateOf('one')).toMatchObject({ status: 'paused', reason: 'session desk is paused' })
  expect(await stateOf('other')).toMatchObject({ status: 'active' })
  expect((await here.say(context => status(context, undefined, { session: 'desk' }))).stdout).toMatch(/two.*paused/)

  const resumed = await here.say(context => resume(context, undefined, { session: 'desk' }))
  expect(resumed.exit).toBe(EXIT.waits)
  expect([(await stateOf('one')).status, (await stateOf('two')).status]).toEqual(['active', 'active'])
})

it('says what is wrong: no such session, a plan and a session at once, nothing under way', async () => {
  await start('one', 'desk')
  await here.say(context => pause(context, 'one', {}))
  const nothing = await here.say(context => pause(context, undefined, { session: 'desk' }))
  expect(nothing).toMatchObject({ exit: EXIT.done, stdout: expect.stringContaining('has no running plan') })
  const wrong = async (body: Parameters<Place['say']>[0]) => (await here.say(body)).exit
  expect(await wrong(context => pause(context, undefined, { session: 'nobody' }))).toBe('not-found')
  expect(await wrong(context => status(context, undefined, { session: 'nobody' }))).toBe('not-found')
  expect(await wrong(context => resume(context, undefined, { session: 'nobody' }))).toBe('not-found')
  expect(await wrong(context => resume(context, 'one', { session: 'desk' }))).toBe('usage')
})

it('resumes nothing where two options say which plans are meant', async () => {
  await start('one', 'desk')
  await here.say(context => pause(context, 'one', {}))
  for (const [word, options, message] of [
    [undefined, { all: true, session: 'nobody' }, '--all and --session cannot be used together'],
    ['one', { all: true }, "a plan ('one') and --all cannot be used together"],
    ['one', { watch: true }, "a plan ('one') and --watch cannot be used together"],
    [undefined, { session: 'desk', watch: true }, '--session and --watch cannot be used together'],
  ] as const)
    expect(await here.say(context => resume(context, word, options))).toEqual({
      exit: 'usage',
      stdout: '',
      stderr: message,
    })
  expect((await here.say(context => status(context, 'one'))).stdout).toMatch(/paused/)
})

it('does not start a draft that nobody named', async () => {
  await here.write('idea.yaml', 'planfold: 1\nname: idea\ntasks: [{ id: work }]\n')
  await here.say(context => run(context, 'idea.yaml', { start: false }))
  const unnamed = await here.say(context => resume(context, undefined, {}))
  expect(unnamed).toMatchObject({ exit: 'usage', stderr: expect.stringContaining('idea is a draft') })
  expect((await here.say(context => status(context, 'idea'))).stdout).toMatch(/draft/)
  expect((await here.say(context => resume(context, 'idea', {}))).exit).toBe(EXIT.waits)
})
