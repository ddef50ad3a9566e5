// `planfold mcp` as a process, driven over stdio by the official client.

import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, onTestFinished, test } from 'vitest'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { MAIN, place } from './planfold.fixture.ts'

test('a plan made by a client of 2025 goes on in another process, with a client of 2026', async () => {
  const here = await place()
  onTestFinished(() => here.remove())
  const model = await scriptedModel([{ error: { status: 401, message: 'no' } }])
  onTestFinished(() => model.close())
  const connect = async (mode: 'legacy' | { readonly pin: '2026-07-28' }) => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    const { folder: cwd } = here
    const env = { PATH: process.env.PATH ?? '', HOME: cwd, ...model.environment() }
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [MAIN, 'mcp'], cwd, env }))
    onTestFinished(() => client.close())
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['plan_read', 'plan_write'])
    const call = async (name: string, input: Record<string, unknown> = {}) => {
      const { content } = await client.callTool({ name, arguments: input })
      return (content as { text: string }[]).map(({ text }) => text).join('\n')
    }
    return { client, call }
  }

  const before = await connect('legacy')
  const tasks = [{ id: 'a' }, { id: 'b', needs: ['a'] }]
  await before.call('plan_write', { action: 'create', name: 'demo', tasks, start: true })
  expect(await before.call('plan_write', { action: 'claim' })).toContain('ok: a is yours')
  expect(await before.call('plan_write', { action: 'report', status: 'done' })).toContain('ok: a is done')
  // Without a model nobody is asked; one that is named is asked with the key of whoever started the process.
  const wish = { action: 'create', goal: 'Write a page about it', preview: true }
  expect(await before.call('plan_write', wish)).toContain('preview, nothing was changed')
  expect(model.requests).toHaveLength(0)
  const named = await before.call('plan_write', { ...wish, model: 'anthropic/scripted' })
  expect(named).toMatch(/error: no plan was made of the goal: .+\nhint: /)
  expect(model.requests).toHaveLength(1)
  await before.client.close()

  const now = await connect({ pin: '2026-07-28' })
  expect(await now.call('plan_read')).toContain('- [ ] b (ready)')
  expect(await now.call('plan_write', { action: 'status', task: 'b', status: 'done' })).toContain('All tasks are done.')
  const { contents } = await now.client.readResource({ uri: 'planfold://digest' })
  expect(contents).toMatchObject([{ text: expect.stringContaining('2 of 2 done') }])
})

test('older clients find no plan in an empty folder, and the first steps make one, also while another call looks', async () => {
  const here = await place()
  onTestFinished(() => here.remove())
  const client = new Client({ name: 'test', version: '1' })
  const env = { PATH: process.env.PATH ?? '', HOME: here.folder }
  const args = [MAIN, 'mcp', '--compat']
  await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd: here.folder, env }))
  onTestFinished(() => client.close())
  const manage = async (action: string, input: object = {}) =>
    await client.callTool({ name: 'manage_plan', arguments: { action, ...input } })
  expect(await manage('list_plans')).toMatchObject({ content: [{ text: '{"plans":[]}' }] })
  const steps = { plan_name: 'p', steps_to_add: [{ id: 'a', description: 'A' }] }
  const [, added] = await Promise.all([manage('list_plans'), manage('add_steps', steps)])
  expect(added.isError).not.toBe(true)
  expect(await manage('get_next_step', { plan_name: 'p' })).toMatchObject({
    content: [{ text: expect.stringContaining('"id":"a"') }],
  })
})
