// Steps that name tools, carried out: only where the plan says so, each only after its own approval, data never as code.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { heldTest } from '../../../safety/sandbox/needs-sandbox.fixture.ts'
import { newPlace, type Place } from '../../place.fixture.ts'
import { approve, reject } from '../people/approve.ts'
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
  { id: 'say', tool: 'bash', params: { command: 'echo "it is {{show.output}}"' } },
]
const start = async (plan: object) => {
  await here.write('p.json', JSON.stringify({ name: 'p', ...plan }))
  return await here.say(context => run(context, 'p.json', { start: true }))
}
const allow = async (step: string) => {
  expect(await here.say(context => approve(context, 'p', `allow-${step}`, {}))).toMatchObject({ exit: 0 })
  return await here.say(context => resume(context, 'p', {}))
}
const outputs = async (task: string) => {
  const { stdout } = await here.say(context => show(context, 'p', task), { json: true })
  return (JSON.parse(stdout) as { data: { task: { outputs: unknown } } }).data.task.outputs
}

heldTest('each is carried out after its approval, and not before', async () => {
  await here.write('a.txt', 'something else\n')
  await start({ tools: 'run', steps: STEPS })
  expect(await here.read('a.txt')).toBe('something else\n')
  await allow('write')
  expect(await here.read('a.txt')).toBe('old $(touch hacked) ${{ 1 + 1 }}\n')
  for (const step of ['edit', 'show', 'find']) await allow(step)
  expect(await outputs('find')).toEqual({ output: '1:new $(touch hacked) ${{ 1 + 1 }}' })
  expect(await allow('say')).toMatchObject({ exit: 0 })
  expect(await outputs('say')).toEqual({ output: 'it is new $(touch hacked) ${{ 1 + 1 }}' })
  expect(existsSync(join(here.folder, 'hacked'))).toBe(false)
})

it('one that is rejected is not carried out', async () => {
  await start({ tools: 'run', steps: [{ id: 'say', tool: 'bash', params: { command: 'touch made' } }] })
  expect(await here.say(context => reject(context, 'p', 'allow-say', { message: 'no' }))).toMatchObject({ exit: 0 })
  await here.say(context => resume(context, 'p', {}))
  expect(existsSync(join(here.folder, 'made'))).toBe(false)
})

it('without `tools: run` nothing is carried out', async () => {
  await start({ steps: [{ id: 'say', tool: 'bash', params: { command: 'touch made' } }] })
  expect(existsSync(join(here.folder, 'made'))).toBe(false)
})
