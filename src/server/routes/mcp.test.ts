// MCP over HTTP, by the official client in both protocol eras, behind the same guard as every route.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type ServedOptions, served } from '../server.fixture.ts'

const CREATE = { action: 'create', name: 'demo', tasks: [{ id: 'a' }, { id: 'b', needs: ['a'] }], start: true }

type Mode = 'legacy' | { readonly pin: '2026-07-28' }

async function service(options: ServedOptions = {}) {
  const here = await served(options)
  onTestFinished(() => here.close())
  const agent = async (mode: Mode, answers?: (message: string) => object) => {
    const client = new Client(
      { name: 'test', version: '1' },
      {
        versionNegotiation: { mode },
        capabilities: answers === undefined ? {} : { elicitation: { form: {} } },
      },
    )
    if (answers !== undefined)
      client.setRequestHandler('elicitation/create', async ({ params }) => answers(params.message) as never)
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', here.url)))
    onTestFinished(() => client.close())
    return async (name: string, input: Record<string, unknown> = {}) => {
      const { content, isError } = await client.callTool({ name, arguments: input })
      return { text: (content as { text: string }[])[0]?.text ?? '', isError: isError === true }
    }
  }
  return { ...here, agent }
}

describe.each([
  ['2025', 'legacy'],
  ['2026', { pin: '2026-07-28' }],
] as const)('a client of %s', (_, mode) => {
  test('lists and calls both tools; entries bear the name of whoever the guard lets in', async () => {
    const { agent, composed } = await service()
    const call = await agent(mode)
    expect((await call('plan_write', CREATE)).text).toContain('ok: plan demo created and started')
    expect((await call('plan_write', { action: 'status', task: 'a', status: 'done' })).text).toContain(
      'ok: a is done\n1 of 2 done; ready now: b. Next: plan_write {"action":"claim","plan":"demo"}',
    )
    expect((await call('plan_read')).text).toContain('- [ ] b (ready)')
    const entries = (await composed.engine.ask({ type: 'entries', plan: 'demo' })) ?? []
    expect(new Set(entries.map(({ actor }) => actor))).toEqual(new Set(['anyone via mcp']))
  })
})

test('a person is asked in the window of a client of 2026; one of 2025 would need a session for that, so the inbox has it', async () => {
  const { agent } = await service()
  const asked: string[] = []
  const answers = (message: string) => {
    asked.push(message)
    return { action: 'accept', content: { answer: 'blue' } }
  }
  const now = await agent({ pin: '2026-07-28' }, answers)
  await now('plan_write', CREATE)
  const told = await now('plan_write', { action: 'ask', text: 'Which colour?' })
  expect(told.text).toContain('answered: {"answer":"blue"}')
  const before = await agent('legacy', answers)
  expect(await before('plan_write', { action: 'ask', text: 'Which size?' })).toMatchObject({ isError: false })
  expect((await before('plan_read', { what: 'inbox' })).text).toContain('Which size?')
  expect(asked).toEqual(['Which colour?'])
})

test('an agent with the token of the owner still decides nothing', async () => {
  const { agent } = await service()
  const call = await agent({ pin: '2026-07-28' })
  await call('plan_write', {
    ...CREATE,
    tasks: [
      { id: 'ok', gate: 'approval' },
      { id: 'go', needs: ['ok'] },
    ],
  })
  expect(await call('plan_write', { action: 'skip', task: 'ok', text: 'no need' })).toMatchObject({ isError: true })
})

test('another host name, a foreign origin and a huge body are refused as everywhere', async () => {
  const { url } = await service()
  const post = async (headers: Record<string, string>, body = '{}') =>
    (await fetch(`${url}/mcp`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }))
      .status
  expect(await post({ origin: 'https://evil.example' })).toBe(403)
  expect(await post({}, `"${'x'.repeat(20_000_000)}"`)).toBe(413)
})
