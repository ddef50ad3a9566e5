// Settings, prices, rate limits and the list of calls: what holds for every provider.

import { chmodSync, copyFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { streamRedactor } from '../../safety/secrets/redaction.ts'
import { folder, KEY, setup } from './models.fixture.ts'
import { costOf, isLocal, priceOf } from './price-table.ts'
import { RateLimit } from './rate-limit.ts'

const ask = (text: string) => ({ messages: [{ role: 'user' as const, text }] })
const code = async (opening: ReturnType<Awaited<ReturnType<typeof setup>>['models']['open']>) => {
  const opened = await opening
  return opened.ok ? null : opened.failure.code
}

describe('settings', () => {
  it('the file says which model is the default, what it costs and how fast it may be asked; the environment wins', async () => {
    const settings = {
      default: 'work/big',
      providers: {
        work: { type: 'anthropic', url: 'https://gateway.example.com', key: { env: 'WORK_SECRET' } },
        lab: { url: 'http://127.0.0.1:8080/v1' },
      },
      models: { 'lab/small': { rate: { requests: 60, tokens: 10_000 } } },
    }
    const place = await setup([], settings)
    const list = await place.again({ WORK_SECRET: 'abcdefghijklmnop' }).list()
    expect(list).toMatchObject({
      default: 'work/big',
      file: place.settingsFile,
      faults: [],
      models: [
        {
          name: 'work/big',
          provider: 'anthropic',
          url: 'https://gateway.example.com/v1',
          key: { from: 'WORK_SECRET' },
          price: null,
        },
        {
          name: 'lab/small',
          provider: 'openai-compatible',
          key: 'not needed',
          price: { input: 0, output: 0 },
          rate: { requestsPerMinute: 60, tokensPerMinute: 10_000 },
        },
      ],
    })
    expect((await place.again({ PLANFOLD_MODEL: 'lab/small' }).list()).default).toBe('lab/small')
    expect((await place.models.list()).models[0]?.key).toBe('missing')
    expect(list.providers).toContainEqual({ name: 'work', key: 'WORK_SECRET' })
    const small = await place.models.open({ use: 'small', purpose: 'test' })
    expect(small.ok && small.model.name).toBe('lab/small')
    expect(await place.models.open({ use: 'mystery', purpose: 'test' })).toMatchObject({
      failure: { hint: expect.stringMatching(/^write PROVIDER\/NAME: anthropic\/NAME, openai\/NAME/) },
    })
    expect(await place.models.open({ use: 'work/big', purpose: 'test' })).toMatchObject({
      failure: { code: 'model:auth', hint: expect.stringContaining('set WORK_SECRET in your environment') },
    })
    expect(await code(place.models.open({ use: 'nobody/big', purpose: 'test' }))).toBe('model:settings')
    expect(await code(place.models.open({ use: 'big', purpose: 'test' }))).toBe('model:settings')
  })

  it('are never read from the workspace, also not through a link', async () => {
    const place = await setup([{ text: 'yes' }])
    const inside = join(place.root, 'models.yaml')
    copyFileSync(place.settingsFile, inside)
    const outside = join(folder(), 'models.yaml')
    symlinkSync(inside, outside)
    for (const file of [inside, outside]) {
      const models = place.again({ PLANFOLD_MODELS: file })
      expect((await models.list()).faults[0]?.message).toContain('is in the workspace')
      expect(await code(models.open({ use: 'anthropic/scripted', purpose: 'test' }))).toBe('model:settings')
    }
    expect(place.server.requests).toEqual([])
  })

  it('that others may read or change are refused, and so are unknown keys', async () => {
    const place = await setup([])
    chmodSync(place.settingsFile, 0o644)
    expect((await place.again().list()).faults[0]?.message).toContain('may be read or changed by others')
    chmodSync(place.settingsFile, 0o600)
    writeFileSync(place.settingsFile, 'providers:\n  lab: { ulr: "http://127.0.0.1:1/v1" }\n')
    const { faults } = await place.again().list()
    expect(faults[0]?.message).toMatch(/models\.yaml:2:\d+: .*ulr/)
  })

  it('a key may stand in a file of its own, outside the workspace', async () => {
    const file = join(folder(), 'key')
    writeFileSync(file, `${KEY}\n`, { mode: 0o600 })
    const place = await setup([{ text: 'yes' }], { providers: { anthropic: { key: { file } } } })
    expect((await (await place.open()).text(ask('?'))).ok).toBe(true)
    expect(place.server.requests[0]?.headers['x-api-key']).toBe(KEY)
  })
})

describe('prices', () => {
  const usage = {
    inputTokens: 1_000_000,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 1_000_000,
    reasoningTokens: 0,
  }
  const at = (provider: Parameters<typeof priceOf>[0]['provider'], id: string, url = 'https://example.com/v1') =>
    costOf(usage, priceOf({ provider, id, url }, undefined))

  it('a known model costs what its provider said on the day that is written down', () => {
    expect(at('anthropic', 'claude-opus-4-5')).toEqual({ known: true, usd: 30, by: 'price' })
    const row = priceOf({ provider: 'anthropic', id: 'claude-opus-4-5', url: 'https://example.com' }, undefined)
    expect(row?.checked).toMatch(/^\d{4}-\d{2}-\d{2}$/)
  })

  it('a server on this machine costs nothing, any other unknown model has no known price', () => {
    expect(at('openai-compatible', 'llama', 'http://127.0.0.1:11434/v1')).toEqual({ known: true, usd: 0, by: 'local' })
    expect(at('openai-compatible', 'llama', 'https://models.example.com/v1')).toEqual({ known: false })
    expect(at('openai', 'some-model')).toEqual({ known: false })
    expect(['http://localhost:1', 'http://[::1]:1', 'http://127.1.2.3'].map(isLocal)).toEqual([true, true, true])
    expect(['http://127.0.0.1.example.com', 'http://10.0.0.1'].map(isLocal)).toEqual([false, false])
  })

  it('a limit of money is refused where the price is not known, but our own default is not in the way', async () => {
    const place = await setup([{ text: 'yes' }], {})
    expect(await (await place.open({ caps: { usd: 1 } })).text(ask('?'))).toMatchObject({
      ok: false,
      failure: { code: 'model:cap', message: expect.stringContaining('price of the model is not known') },
    })
    expect(place.server.requests).toEqual([])
    expect(await (await place.open()).text(ask('?'))).toMatchObject({ ok: true, cost: { known: false } })
  })
})

describe('the list of calls', () => {
  it('holds every call with its count, and a cap of one payer holds over sessions and processes', async () => {
    const place = await setup([{ text: 'yes' }, { error: { status: 500, message: 'oops' } }, { text: 'yes' }])
    const request = { payer: 'plan/task/1', caps: { calls: 2 } }
    expect((await (await place.open(request)).text(ask('a'))).ok).toBe(true)
    expect((await (await place.open(request)).text(ask('b'))).ok).toBe(false)
    const other = await place.again().open({ use: 'anthropic/scripted', purpose: 'test', ...request })
    expect(other.ok && (await other.model.text(ask('c')))).toMatchObject({ ok: false, failure: { code: 'model:cap' } })
    const last = await place.open({ payer: 'plan/other/1' })
    expect((await last.text({ ...ask('d'), purpose: 'critique' })).ok).toBe(true)
    expect(await place.models.calls()).toMatchObject([
      {
        model: 'anthropic/scripted',
        purpose: 'test',
        payer: 'plan/task/1',
        status: 'answered',
        usage: { inputTokens: 1000 },
      },
      { status: 'failed', code: 'model:overloaded', usage: { inputTokens: 0 } },
      { status: 'answered', payer: 'plan/other/1', purpose: 'critique' },
    ])
  })

  it('one question may have tighter limits than its session', async () => {
    const place = await setup([{ text: 'not JSON' }])
    const model = await place.open({ caps: { calls: 10 } })
    const answer = await model.object({ ...ask('?'), schema: { type: 'object' }, caps: { calls: 1 } })
    expect(answer).toMatchObject({ ok: false, failure: { code: 'model:cap' }, calls: 1 })
    expect(model.spent().calls).toBe(1)
  })

  it('questions that are asked at the same time cannot pass a limit together', async () => {
    const place = await setup([{ text: 'yes' }])
    const model = await place.open({ caps: { calls: 3 } })
    const answers = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(text => model.text(ask(text))))
    expect(answers.filter(({ ok }) => ok)).toHaveLength(3)
    expect(place.server.served.calls).toBe(3)
  })
})

describe('a stream', () => {
  const stream = (...events: readonly object[]) => ({
    raw: {
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      body: events.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''),
    },
  })
  const start = {
    type: 'message_start',
    message: {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'x',
      content: [],
      usage: { input_tokens: 9, output_tokens: 1 },
    },
  }

  it('that ends with an error of the provider is a failure of its kind', async () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    const place = await setup([stream(start, error)])
    const answer = await (await place.open()).text({ ...ask('?'), onText: () => {} })
    expect(answer).toMatchObject({ ok: false, failure: { code: 'model:overloaded', retryable: true } })
    expect(await place.models.calls()).toMatchObject([{ status: 'failed', code: 'model:overloaded' }])
  })
})

describe('the rate limit', () => {
  /** A clock that stands still until something waits, and then goes there. */
  function fakeClock() {
    let now = 0
    const waits: number[] = []
    return {
      waits,
      clock: {
        monotonic: () => now,
        after: (ms: number, callback: () => void) => {
          waits.push(ms)
          now += ms
          queueMicrotask(callback)
          return () => {}
        },
      },
    }
  }

  it('lets so many requests pass in a minute, and the next one waits for its turn', async () => {
    const { clock, waits } = fakeClock()
    const limit = new RateLimit({ requests: 2 }, clock)
    for (let n = 0; n < 3; n++) await limit.turn(10, undefined)
    expect(waits).toEqual([60_000])
  })

  it('counts tokens as they really were', async () => {
    const { clock, waits } = fakeClock()
    const limit = new RateLimit({ tokens: 1000 }, clock)
    const counted = await limit.turn(900, undefined)
    counted(100)
    await limit.turn(800, undefined)
    expect(waits).toEqual([])
    await limit.turn(800, undefined)
    expect(waits).toEqual([60_000])
  })

  it('waits as long as the provider asks, and no longer than whoever waits wants to', async () => {
    const { clock, waits } = fakeClock()
    const limit = new RateLimit({}, clock)
    limit.pause(7_000)
    await limit.turn(1, undefined)
    expect(waits).toEqual([7_000])
    limit.pause(7_000)
    await expect(limit.turn(1, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
  })
})

it('a secret that comes in parts is replaced, and nothing else is held back', () => {
  const clean = streamRedactor(['secret-value'])
  const said = ['a sec', 'ret-val', 'ue b s', 'ec'].map(part => clean.next(part))
  expect([...said, clean.end()]).toEqual(['a ', '', '[redacted] b ', '', 'sec'])
})
