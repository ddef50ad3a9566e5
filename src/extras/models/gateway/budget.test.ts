// The budget in front of every call: answers are shortened to what is left, calls wait for each other, and then the attempt is parked.

import { describe, expect, it } from 'vitest'
import type { Json } from '../../../domain/json.ts'
import type { ScriptedRequest } from '../../../testing/scripted-model.ts'
import { PRICE } from '../models.fixture.ts'
import { gatewayFor, question, SpendingMemory, send, WIRES } from './gateway.fixture.ts'
import { InputEstimates } from './input-estimate.ts'

/** Speaks as long as it may, up to this; and counts four bytes of what it was asked as a token. */
const talkative = (outputMax: number) => (request: ScriptedRequest) => ({
  text: 'and so on',
  usage: {
    input: Math.ceil(request.body.length / 4),
    output: Math.min(outputMax, request.outputTokensMax ?? Number.POSITIVE_INFINITY),
    cacheRead: 0,
  },
})

const REFUSALS = {
  anthropic: { status: 402, body: { type: 'error', error: { type: 'billing_error' } } },
  'openai-chat': { status: 429, body: { error: { type: 'insufficient_quota', code: 'insufficient_quota' } } },
  'openai-responses': { status: 429, body: { error: { type: 'insufficient_quota', code: 'insufficient_quota' } } },
  gemini: { status: 429, body: { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } } },
}

describe.each(WIRES)('%s', wire => {
  it('an answer is shortened to what is left, then the attempt is parked, once, in the provider’s own shape', async () => {
    const spending = new SpendingMemory({ tokens: 700 })
    const { gateway, server, parkings } = await gatewayFor(wire, talkative(10_000), { spending })
    expect((await send(gateway, question(wire, 'Go on.', { max: 400 })).done).status).toBe(200)
    expect(server.requests[0]?.outputTokensMax).toBe(400)
    expect((await send(gateway, question(wire, 'Go on.', { max: 400 })).done).status).toBe(200)
    const second = server.requests[1]?.outputTokensMax ?? 0
    expect(second).toBeLessThan(400)
    expect(second).toBeGreaterThanOrEqual(64)
    const refused = await send(gateway, question(wire, 'Go on.', { max: 400, stream: true })).done
    expect(refused).toMatchObject({ status: REFUSALS[wire].status, headers: { 'x-should-retry': 'false' } })
    expect(JSON.parse(refused.text)).toMatchObject(REFUSALS[wire].body)
    expect(refused.text).toContain('planfold: the budget of 700 tokens is used')
    const { status } = await send(gateway, question(wire, '?', { max: 1 })).done
    expect(status).toBe(REFUSALS[wire].status)
    expect(server.requests).toHaveLength(2)
    expect(parkings).toEqual([
      { reason: expect.stringContaining('the budget of 700 tokens is used'), model: expect.any(String) },
    ])
    expect(gateway.parked()).toEqual(parkings[0])
    expect(spending.spent.tokens).toBe(server.served.input + server.served.output)
    expect(spending.spent.tokens).toBeLessThanOrEqual(700)
  })

  it('a request that says no length gets one, so that it can be reserved', async () => {
    const { gateway, server } = await gatewayFor(wire, talkative(5))
    const { body, ...asked } = question(wire, '?')
    const { max_tokens: _, ...unlimited } = body as { readonly [key: string]: unknown }
    await send(gateway, { ...asked, body: unlimited }).done
    expect(server.requests[0]?.outputTokensMax).toBe(32_000)
  })

  it('calls at the same time never pass the budget together: they wait for each other', async () => {
    const spending = new SpendingMemory({ tokens: 2_000 })
    const { gateway, server, parkings } = await gatewayFor(wire, talkative(30), { spending })
    const asked = Array.from(
      { length: 24 },
      (_, at) => send(gateway, question(wire, `Go on, ${at}.`, { max: 900, stream: at % 2 === 0 })).done,
    )
    const answers = await Promise.all(asked)
    const answered = answers.filter(({ status }) => status === 200).length
    expect(answered).toBe(server.served.calls)
    expect(answered).toBeGreaterThan(5)
    expect(spending.peakTokens).toBeLessThanOrEqual(2_000)
    expect(spending.spent.tokens).toBe(server.served.input + server.served.output)
    expect(spending.held).toEqual({ calls: 0, tokens: 0, usd: 0 })
    expect(answers.every(({ status }) => status === 200 || status === REFUSALS[wire].status)).toBe(true)
    expect(parkings.length).toBe(answered < 24 ? 1 : 0)
  })
})

describe('the budget', () => {
  it('money shortens an answer as tokens do', async () => {
    // 15 USD for a million tokens of output: 0.003 USD are 200 of them, less the input.
    const spending = new SpendingMemory({ usd: 0.003 })
    const { gateway, server } = await gatewayFor('anthropic', talkative(10_000), { spending })
    expect((await send(gateway, question('anthropic', 'Go on.', { max: 5_000 })).done).status).toBe(200)
    const shortened = server.requests[0]?.outputTokensMax ?? 0
    expect(shortened).toBeGreaterThan(150)
    expect(shortened).toBeLessThan(200)
    expect(spending.spent.usd).toBeLessThanOrEqual(0.003)
  })

  it('a model without a price parks the attempt where money is limited', async () => {
    const spending = new SpendingMemory({ usd: 1 })
    const { gateway, parkings } = await gatewayFor('anthropic', talkative(10), { spending })
    expect((await send(gateway, question('anthropic', '?', { model: 'unheard-of' })).done).status).toBe(402)
    expect(parkings).toEqual([{ reason: 'the price of the model is not known', model: 'anthropic/unheard-of' }])
  })

  it('an agent that waits and goes away leaves nothing reserved, and nothing is sent for it', async () => {
    const spending = new SpendingMemory({ tokens: 400 })
    let finish = (): void => {}
    const finished = new Promise<void>(resolve => {
      finish = resolve
    })
    const { gateway, server, calls } = await gatewayFor(
      'anthropic',
      [{ text: 'yes', usage: { input: 30, output: 5, cacheRead: 0 }, pausesFor: finished }],
      { spending },
    )
    const first = send(gateway, question('anthropic', '?', { max: 350, stream: true }))
    await first.heard(10)
    const second = send(gateway, question('anthropic', '?', { max: 350 }))
    await expect.poll(() => spending.waiting).toBe(1)
    second.abort()
    await expect.poll(() => spending.waiting).toBe(0)
    finish()
    await first.done
    await expect.poll(() => spending.settled.length).toBe(1)
    expect(gateway.parked()).toBeNull()
    expect(spending.held.calls).toBe(0)
    expect(server.requests).toHaveLength(1)
    expect(calls).toHaveLength(1)
  })

  it('closing does not wait for calls that wait for the budget', async () => {
    const spending = new SpendingMemory({ tokens: 400 })
    const { id } = (await spending.reserve({
      calls: 1,
      tokens: 390,
      cost: FREE,
      least: { calls: 1, tokens: 390, cost: FREE },
    })) as { id: string }
    const { gateway, server } = await gatewayFor('anthropic', [{ text: 'yes' }], { spending })
    const waiting = send(gateway, question('anthropic', '?', { max: 350 }))
    await expect.poll(() => spending.waiting).toBe(1)
    await gateway.close()
    await expect(waiting.done).rejects.toThrow()
    await spending.settle(id, { calls: 1, tokens: 0, cost: FREE })
    await expect.poll(() => spending.held.calls).toBe(0)
    expect(server.requests).toEqual([])
  })

  it('what is granted when nobody waits any more is given back', async () => {
    const { openGateway, server } = await gatewayFor('anthropic', [{ text: 'yes' }])
    let grant = (): void => {}
    const settled: unknown[] = []
    const asked: unknown[] = []
    const gateway = await openGateway({
      spending: {
        reserve: request => {
          asked.push(request)
          return new Promise(resolve => {
            grant = () => resolve({ granted: true, id: 'late' })
          })
        },
        settle: async (id, actual) => void settled.push([id, actual]),
      },
    })
    const waiting = send(gateway, question('anthropic', '?'))
    await expect.poll(() => asked.length).toBe(1)
    await gateway.close()
    await expect(waiting.done).rejects.toThrow()
    grant()
    await expect.poll(() => settled).toEqual([['late', { calls: 0, tokens: 0, cost: FREE }]])
    expect(server.requests).toEqual([])
  })

  it('a budget that cannot be asked or written parks the attempt', async () => {
    const broken = { reserve: () => Promise.reject(new Error('the store is gone')), settle: async () => {} }
    const { openGateway, parkings, server } = await gatewayFor('anthropic', talkative(10))
    const unasked = await openGateway({ spending: broken })
    expect((await send(unasked, question('anthropic', '?')).done).status).toBe(402)
    const unwritten = await openGateway({
      spending: {
        reserve: async () => ({ granted: true, id: 'x' }),
        settle: () => Promise.reject(new Error('the disk is full')),
      },
    })
    expect((await send(unwritten, question('anthropic', '?')).done).status).toBe(200)
    await expect.poll(() => unwritten.parked()).not.toBeNull()
    expect((await send(unwritten, question('anthropic', '?')).done).status).toBe(402)
    expect(parkings.map(({ reason }) => reason)).toEqual([
      'the budget cannot be asked: the store is gone',
      'the budget cannot be written: the disk is full',
    ])
    expect(server.served.calls).toBe(1)
  })

  it('thinking is shortened with the answer it belongs to; several answers are reserved together', async () => {
    const spending = new SpendingMemory({ tokens: 2_500 })
    const { gateway, server } = await gatewayFor('anthropic', talkative(10), { spending })
    const asked = question('anthropic', '?', { max: 20_000 })
    const body = { ...(asked.body as object), thinking: { type: 'enabled', budget_tokens: 16_000 } }
    expect((await send(gateway, { ...asked, body }).done).status).toBe(200)
    const sent = JSON.parse(server.requests[0]?.body ?? '')
    expect(sent.max_tokens).toBeLessThan(2_500)
    expect(sent.thinking).toEqual({ type: 'enabled', budget_tokens: sent.max_tokens - 64 })
    const chat = await gatewayFor('openai-chat', talkative(10), { spending: new SpendingMemory({ tokens: 1_060 }) })
    const three = question('openai-chat', '?', { max: 1_000 })
    await send(chat.gateway, { ...three, body: { ...(three.body as object), n: 3 } }).done
    expect(chat.server.requests[0]?.outputTokensMax).toBeLessThanOrEqual(353)
  })

  it('an agent that works for no plan is kept within the caps of the settings, also in calls at the same time', async () => {
    const settings = { models: { 'anthropic/scripted': { price: PRICE } }, caps: { tokens: 1_000 } }
    const { gateway, server, parkings, openGateway } = await gatewayFor('anthropic', talkative(40), {
      settings,
      spending: undefined,
    })
    const asked = Array.from({ length: 5 }, () => send(gateway, question('anthropic', 'Go on.', { max: 400 })).done)
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(5).fill(200))
    await gateway.close()
    const again = await openGateway()
    const more = Array.from({ length: 20 }, () => send(again, question('anthropic', 'Go on.', { max: 400 })).done)
    const statuses = (await Promise.all(more)).map(({ status }) => status)
    expect(statuses).toContain(402)
    expect(server.served.input + server.served.output).toBeLessThanOrEqual(1_000)
    expect(parkings).toMatchObject([{ reason: expect.stringContaining('the limit of your settings') }])
    const other = await openGateway({ payer: 'plan/other/1' })
    expect((await send(other, question('anthropic', '?')).done).status).toBe(200)
  })

  it('what a person allowed is asked about once for calls at the same time, and within the settings', async () => {
    const asked: string[] = []
    const more = async (question: string) => asked.push(question) < 2
    const allowance = { caps: { calls: 2 }, more }
    const settings = { caps: { calls: 4 } }
    const { gateway, parkings, openGateway } = await gatewayFor('anthropic', talkative(5), {
      ...{ settings, spending: undefined, allowance },
    })
    const ask = async (at = gateway) => (await send(at, question('anthropic', 'Go on.')).done).status
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([200, 200, 200])
    expect(asked).toEqual([
      expect.stringMatching(/^the drafting limit is reached \(2 calls; .*Allow 3 calls in all\?$/),
    ])
    expect([await ask(), allowance.caps]).toEqual([402, { calls: 3 }])
    expect(parkings).toMatchObject([
      { reason: expect.stringContaining('3 calls'), hint: ['say it again with ', { key: 'calls', amount: 4 }] },
    ])
    allowance.caps = { calls: 9 }
    const again = await openGateway()
    expect([await ask(again), await ask(again), asked.length]).toEqual([200, 402, 2])
    expect(parkings[1]).toMatchObject({ hint: expect.stringMatching(/^raise `caps: calls` in /) })
  })

  it('what was counted in an earlier call is not estimated again', async () => {
    const { gateway, spending, server } = await gatewayFor('anthropic', (_, at) => ({
      text: 'yes',
      usage: { input: 30_000 + at * 50, output: 5, cacheRead: 0 },
    }))
    const system = [{ type: 'text', text: 'Be brief. '.repeat(10_000), cache_control: { type: 'ephemeral' } }]
    const turn = (text: string, marked: boolean) => ({
      role: 'user',
      content: [{ type: 'text', text, ...(marked ? { cache_control: { type: 'ephemeral' } } : {}) }],
    })
    const ask = async (messages: readonly object[], more: object = {}) => {
      await send(gateway, {
        path: '/v1/messages',
        body: { model: 'scripted', max_tokens: 100, system, messages, ...more },
      }).done
      return (spending.requests.at(-1)?.tokens ?? 0) - 100
    }
    expect(await ask([turn('One?', true)])).toBeGreaterThan(50_000)
    const second = await ask([turn('One?', false), turn('Two?', true)])
    expect(second).toBeGreaterThan(30_000)
    expect(second).toBeLessThan(30_100)
    // Another conversation, and another model, begin anew; what grows besides the conversation is added.
    expect(await ask([turn('Else?', true)])).toBeGreaterThan(50_000)
    expect(await ask([turn('One?', true)], { model: 'other' })).toBeGreaterThan(50_000)
    expect(await ask([turn('One?', true)], { tools: [{ name: 'x'.repeat(4_000) }] })).toBeGreaterThan(32_000)
    expect(server.served.calls).toBe(5)
  })

  it('pictures are not counted by their length', () => {
    const data = 'A'.repeat(3_000_000)
    const estimate = (content: Json) =>
      new InputEstimates().estimate('m', { messages: [{ content: [content] }] }).tokens
    expect(estimate({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } })).toBeLessThan(5_200)
    expect(estimate({ image_url: { url: `data:image/png;base64,${data}` } })).toBeLessThan(5_200)
    expect(estimate({ source: { media_type: 'application/pdf', data } })).toBeGreaterThan(1_000_000)
  })
})

const FREE = { known: true, usd: 0, by: 'local' } as const
