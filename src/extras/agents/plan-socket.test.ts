// The socket of an attempt: nobody is heard without its token, several may speak at once, and nobody decides or sees more than its plan.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import type { PlanId } from '../../domain/id.ts'
import { agents } from '../../mcp/mcp.fixture.ts'
import { external, gate, plan } from '../../testing/index.ts'
import { openPlanSocket } from './plan-socket.ts'

async function setup() {
  const { engine, rooms } = agents()
  const begin = async (name: string): Promise<PlanId> => {
    const definition = plan(name, external('work'), gate('ok'))
    const made = await engine.submit(null, { type: 'create', definition })
    if (!made.ok) throw new Error(made.refusal.message)
    await engine.submit(made.plan, { type: 'start' })
    return made.plan
  }
  const open = async (of: PlanId) => {
    const folder = mkdtempSync(join(tmpdir(), 'pf-socket-'))
    const options = { engine, now: () => rooms.clock.now(), version: '0', templates: rooms.stateDir }
    const { socket, token, close } = await openPlanSocket({
      ...options,
      plan: of,
      agent: 'grok/work',
      folder,
      random: randomBytes,
    })
    onTestFinished(async () => {
      await close()
      rmSync(folder, { recursive: true, force: true })
    })
    return { path: join(folder, socket), token, close }
  }
  return { engine, begin, open }
}

/** All that is answered before the server ends the connection. */
const heard = (path: string, ...said: readonly (string | Buffer)[]): Promise<string> =>
  new Promise(resolve => {
    let text = ''
    const socket = connect(path)
    socket.on('data', chunk => {
      text += String(chunk)
    })
    // A server that hangs up on somebody who still speaks.
    socket.on('error', () => {})
    socket.once('close', () => resolve(text))
    for (const one of said) socket.write(one)
  })

/** An agent's side, as the pipe that we hand it speaks: the token in a line, then MCP. */
async function speak(path: string, token: string) {
  const socket = connect(path)
  onTestFinished(() => void socket.destroy())
  const waiting = new Map<number, (answer: Answer) => void>()
  createInterface({ input: socket }).on('line', line => {
    const answer = JSON.parse(line) as Answer & { readonly id: number }
    waiting.get(answer.id)?.(answer)
  })
  let ids = 0
  const ask = (method: string, params: object): Promise<Answer> =>
    new Promise(resolve => {
      const id = ++ids
      waiting.set(id, resolve)
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    })
  socket.write(`${token}\n`)
  await ask('initialize', INITIALIZE)
  socket.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
  const call = async (name: string, input: object) => {
    const { result } = await ask('tools/call', { name, arguments: input })
    return { text: result?.content?.[0]?.text ?? '', isError: result?.isError === true }
  }
  return { ask, call }
}

interface Answer {
  readonly result?: {
    readonly isError?: boolean
    readonly content?: readonly { readonly text: string }[]
    readonly tools?: readonly { readonly name: string; readonly inputSchema: object }[]
  }
}

const INITIALIZE = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
const HELLO = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE })}\n`

test('without its token nobody is heard: none, a wrong one, part of it, more than it, that of another attempt', async () => {
  const { begin, open } = await setup()
  const one = await open(await begin('one'))
  const other = await open(await begin('other'))
  const wrong = [
    '',
    'x'.repeat(one.token.length),
    one.token.slice(0, -1),
    `${one.token}x`,
    ` ${one.token}`,
    other.token,
  ]
  for (const token of wrong) expect(await heard(one.path, `${token}\n${HELLO}`)).toBe('')
  expect(await heard(one.path, HELLO)).toBe('')
  // It still serves who knows it.
  expect((await (await speak(one.path, one.token)).call('plan_read', { what: 'plan' })).isError).toBe(false)
})

test('a first line without an end is cut off, however much of it there is', async () => {
  const { begin, open } = await setup()
  const { path, token } = await open(await begin('one'))
  expect(await heard(path, Buffer.alloc(8 * 1024 * 1024, 'x'))).toBe('')
  expect(await heard(path, `${'y'.repeat(100_000)}\n${token}\n${HELLO}`)).toBe('')
  const { call } = await speak(path, token)
  expect((await call('plan_read', { what: 'plan' })).text).toContain('one')
})

test('two at once are both answered, and both end with the attempt; who says nothing ends as well', async () => {
  const { begin, open } = await setup()
  const { path, token, close } = await open(await begin('one'))
  const both = await Promise.all([speak(path, token), speak(path, token)])
  const said = await Promise.all(both.map(({ call }) => call('plan_read', { what: 'plan' })))
  expect(said.map(({ text, isError }) => [text.includes('one'), isError])).toEqual([
    [true, false],
    [true, false],
  ])
  const silent = heard(path)
  const rest = heard(path, token)
  await close()
  expect(await Promise.all([silent, rest])).toEqual(['', ''])
})

test('it decides no gate, of its own plan or of another, and sees no other plan', async () => {
  const { engine, begin, open } = await setup()
  const [mine, theirs] = [await begin('mine'), await begin('theirs')]
  const { path, token } = await open(mine)
  const { ask, call } = await speak(path, token)
  const { result } = await ask('tools/list', {})
  expect(result?.tools?.map(({ name }) => name).sort()).toEqual(['plan_read', 'plan_write'])
  for (const action of ['decide', 'approve', 'answer'])
    for (const of of ['mine', 'theirs'])
      expect((await call('plan_write', { action, plan: of, task: 'ok', verdict: 'approved' })).isError).toBe(true)
  expect(await call('plan_write', { action: 'report', plan: 'mine', task: 'ok', status: 'done' })).toMatchObject({
    isError: true,
  })
  expect(await call('plan_write', { action: 'note', plan: 'mine', text: 'seen' })).toMatchObject({ isError: false })
  expect(await call('plan_write', { action: 'note', plan: 'theirs', text: 'seen' })).toMatchObject({ isError: true })
  expect(await call('plan_read', { what: 'plan', plan: theirs })).toMatchObject({ isError: true })
  expect((await call('plan_read', { what: 'list' })).text).not.toContain('theirs')
  for (const one of [mine, theirs]) {
    const board = await engine.ask({ type: 'board', plan: one })
    expect(board?.find(({ name }) => name === 'ok')?.status).toBe('waiting')
  }
})
