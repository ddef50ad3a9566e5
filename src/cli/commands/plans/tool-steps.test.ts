// Steps that name tools, carried out: only where the plan says so, all of them after one approval, data never as code.
// Needs the extras: dialects

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { heldTest } from '../../../safety/sandbox/needs-sandbox.fixture.ts'
import { newPlace, type Place } from '../../place.fixture.ts'
import { approve, reject } from '../people/approve.ts'
import { inbox } from '../people/inbox.ts'
import { resume } from './resume.ts'
import { run } from './run.ts'
import { show } from './show.ts'

let here: Place
beforeEach(async () => {
  here = await newPlace()
})
afterEach(() => here.remove())

const STEPS = [
  { id: 'write', tool: 'write_file', params: { path: 'a.txt', content: 'old $(touch hacked) ${{ 1 + 1 }}\n' } },
  { id: 'edit', tool: 'edit_file', params: { path: 'a.txt', old_string: 'old', new_string: 'new' } },
  { id: 'show', tool: 'read_file', params: { path: 'a.txt' } },
  { id: 'find', tool: 'search', params: { pattern: 'ne[w]', path: 'a.txt' } },
  { id: 'say', tool: 'bash', params: { command: 'echo "it is {{show.output}}" > b.txt; cat b.txt' } },
  { id: 'copy', tool: 'write_file', params: { path: 'c.txt', content: '${say_output}' } },
  { id: 'list', tool: 'read_file', params: { path: 'b.txt' } },
]
const start = async (plan: object) => {
  await here.write('p.json', JSON.stringify({ name: 'p', ...plan }))
  return await here.say(context => run(context, 'p.json', { start: true }))
}
const allow = async (task = 'allow-steps') => {
  expect(await here.say(context => approve(context, 'p', task, {}))).toMatchObject({ exit: 0 })
  return await here.say(context => resume(context, 'p', {}))
}
const outputs = async (task: string) => {
  const { stdout } = await here.say(context => show(context, 'p', task), { json: true })
  return (JSON.parse(stdout) as { data: { task: { outputs: unknown } } }).data.task.outputs
}

heldTest('all are carried out after one approval that shows each of them whole, and not before', async () => {
  await here.write('a.txt', 'something else\n')
  await start({ tools: 'run', steps: STEPS })
  expect(await here.read('a.txt')).toBe('something else\n')
  const { stdout } = await here.say(context => inbox(context, {}))
  for (const shown of [
    'writes the whole of a.txt, 33 bytes:',
    '+old $(touch hacked) ${{ 1 + 1 }}',
    'replaces once in a.txt, 3 bytes by 3 bytes:',
    'echo "it is ${{ tasks.show.outputs.output }}" > b.txt; cat b.txt',
    'earlier tasks fill this in, and you are not asked again: tasks.say.outputs.output',
  ])
    expect(stdout).toContain(shown)
  expect(await allow()).toMatchObject({ exit: 0 })
  expect(await outputs('find')).toEqual({ output: '1:new $(touch hacked) ${{ 1 + 1 }}' })
  expect(await outputs('say')).toEqual({ output: 'it is new $(touch hacked) ${{ 1 + 1 }}' })
  expect(await here.read('c.txt')).toBe('it is new $(touch hacked) ${{ 1 + 1 }}')
  expect(await outputs('list')).toEqual({ output: 'it is new $(touch hacked) ${{ 1 + 1 }}' })
  expect(existsSync(join(here.folder, 'hacked'))).toBe(false)
})

heldTest(
  'a script that somebody changed after the approval is asked about again, one that a step wrote is not',
  async () => {
    await here.write('own.sh', 'echo own\n')
    const steps = [
      { id: 'make', tool: 'write_file', params: { path: 'made.sh', content: 'echo made\n' } },
      { id: 'made', tool: 'bash', params: { command: 'sh made.sh' } },
      { id: 'own', tool: 'bash', params: { command: 'sh own.sh' } },
    ]
    await start({ tools: 'run', steps })
    await here.write('own.sh', 'touch hacked\n')
    await allow()
    expect(await outputs('made')).toEqual({ output: 'made' })
    expect(existsSync(join(here.folder, 'hacked'))).toBe(false)
    const { stdout } = await here.say(context => inbox(context, {}))
    expect(stdout).toMatch(/own waits for approval before it starts: .*own\.sh changed since/)
  },
)

heldTest('a script that somebody changes while a step runs is asked about again', async () => {
  await here.write('own.sh', 'echo own\n')
  const steps = [
    { id: 'swap', tool: 'bash', params: { command: 'echo "touch hacked" > own.sh' } },
    { id: 'own', tool: 'bash', params: { command: 'sh own.sh' } },
  ]
  await start({ tools: 'run', steps })
  await allow()
  expect(existsSync(join(here.folder, 'hacked'))).toBe(false)
})

heldTest('a command that an earlier step writes is asked about once it is known', async () => {
  const steps = [
    { id: 'say', tool: 'bash', params: { command: 'echo touch hacked' } },
    { id: 'obey', tool: 'bash', params: { command: '${say_output}' } },
  ]
  await start({ tools: 'run', steps })
  await allow()
  const { stdout } = await here.say(context => inbox(context, {}))
  expect(stdout).toMatch(/obey waits for approval before it starts/)
  expect(existsSync(join(here.folder, 'hacked'))).toBe(false)
})

it('one that is rejected is not carried out', async () => {
  await start({ tools: 'run', steps: [{ id: 'say', tool: 'bash', params: { command: 'touch made' } }] })
  expect(await here.say(context => reject(context, 'p', 'allow-steps', { message: 'no' }))).toMatchObject({ exit: 0 })
  await here.say(context => resume(context, 'p', {}))
  expect(existsSync(join(here.folder, 'made'))).toBe(false)
})

it('without `tools: run` nothing is carried out', async () => {
  await start({ steps: [{ id: 'say', tool: 'bash', params: { command: 'touch made' } }] })
  expect(existsSync(join(here.folder, 'made'))).toBe(false)
})
