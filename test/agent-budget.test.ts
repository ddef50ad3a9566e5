// An agent's calls through the model gateway, on the journaled budget of a real plan: shortened, counted, refused, and raised by a person.
// Needs the extras: agents, models

import { expect, it } from 'vitest'
import type { Budget } from '../src/domain/plan.ts'
import { exited, name, type Script, setup } from '../src/engine/rooms.fixture.ts'
import { spendingOf } from '../src/extras/agents/agent-spending.ts'
import { gatewayFor, question, send } from '../src/extras/models/gateway/gateway.fixture.ts'
import { PRICE } from '../src/extras/models/models.fixture.ts'
import type { ScriptedRequest } from '../src/testing/scripted-model.ts'

/** Speaks as long as it may, up to this, and counts four bytes of what it was asked as a token. */
const talkative = (outputMax: number) => (request: ScriptedRequest) => ({
  text: 'and so on',
  usage: {
    input: Math.ceil(request.body.length / 4),
    output: Math.min(outputMax, request.outputTokensMax ?? outputMax),
    cacheRead: 0,
  },
})

async function planWith(budget: Budget | undefined, outputMax: number, max: number, caps?: object) {
  const settings = { models: { 'anthropic/scripted': { price: PRICE } }, ...(caps === undefined ? {} : { caps }) }
  const place = await gatewayFor('anthropic', talkative(outputMax), { settings })
  const seen: { readonly statuses: number[]; readonly parked: string | null }[] = []
  const script: Script = async (_, { budget }, stop) => {
    const gateway = await place.openGateway({ spending: spendingOf(budget!, stop) })
    const asked = Array.from({ length: 12 }, () => send(gateway, question('anthropic', 'Go on.', { max })).done)
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    await gateway.close()
    seen.push({ statuses, parked: gateway.parked()?.reason ?? null })
    return exited(gateway.parked() === null ? 0 : 1)
  }
  const rooms = setup(script)
  const plan = await rooms.define({
    tasks: [{ id: name('agent') }] as never,
    ...(budget === undefined ? {} : { policy: { budget } }),
  })
  const state = async () => {
    const found = await rooms.rooms.store.state(plan)
    if (found === null) throw new Error('there is no such plan')
    return found
  }
  return { ...place, rooms, plan, seen, state }
}

it('calls at once never pass the journaled budget; the count is the server’s; a person is asked once', async () => {
  const { rooms, plan, seen, server, state, parkings } = await planWith({ tokens: 1_000 }, 100, 300)
  await rooms.drive(plan)
  const { budget, questions, status } = await state()
  const [first] = seen
  expect(first?.statuses.filter(one => one === 200).length).toBe(server.served.calls)
  expect(first?.statuses).toContain(402)
  expect(first?.parked).toContain('tokens')
  expect(parkings).toHaveLength(1)
  const account = budget?.accounts.get('')
  expect(account?.spent).toMatchObject({
    tokens: server.served.input + server.served.output,
    calls: server.served.calls,
  })
  expect(account?.spent.tokens).toBeLessThanOrEqual(1_000)
  expect(account?.held).toEqual({})
  expect(server.requests.some(({ outputTokensMax }) => (outputTokensMax ?? 0) < 300)).toBe(true)
  expect(questions).toMatchObject([{ budget: { reason: { type: 'caps' } } }])
  expect(status).toBe('paused')
})

it('money is shortened and counted as tokens are', async () => {
  const { rooms, plan, seen, server, state } = await planWith({ cost: { amount: 0.01, currency: 'USD' } }, 100, 10_000)
  await rooms.drive(plan)
  const account = (await state()).budget?.accounts.get('')
  expect(seen[0]?.parked).not.toBeNull()
  expect(server.served.calls).toBeGreaterThan(2)
  const usd = (server.served.input * 3 + server.served.output * 15) / 1e6
  expect(account?.spent.cost).toBeCloseTo(usd, 9)
  expect(account?.spent.cost).toBeLessThanOrEqual(0.01)
})

it('without a budget everything is granted', async () => {
  const { rooms, plan, seen } = await planWith(undefined, 10, 100)
  await rooms.drive(plan)
  expect(seen).toEqual([{ statuses: Array(12).fill(200), parked: null }])
})

it('what the user wrote into the settings limits all calls of one visit; nobody is asked, and the plan rests', async () => {
  const { rooms, plan, seen, server, state, settingsFile } = await planWith(undefined, 100, 300, { tokens: 1_000 })
  await rooms.drive(plan)
  const { budget, questions, status, reason } = await state()
  expect(seen[0]?.statuses.filter(one => one === 200).length).toBe(server.served.calls)
  expect(seen[0]?.parked).toContain('by your settings')
  const account = budget?.accounts.get(name('agent'))
  expect(account?.spent.tokens).toBe(server.served.input + server.served.output)
  expect(account?.spent.tokens).toBeLessThanOrEqual(1_000)
  expect(account?.held).toEqual({})
  expect(questions).toEqual([])
  expect(status).toBe('paused')
  expect(reason).toContain(`by your settings (${settingsFile}), 'agent' may use 1,000 tokens`)
})
