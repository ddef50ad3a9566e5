// The door to models, on a scripted model that speaks the protocol of each provider over real HTTP.

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { JsonObject } from '../../domain/json.ts'
import type { ModelAnswer, ModelRecording } from '../../runners/models.ts'
import { recordedModel, type ScriptedReply } from '../../testing/scripted-model.ts'
import { KEY, NAMES, PRICE, setup } from './models.fixture.ts'

const ask = (text: string) => ({ messages: [{ role: 'user' as const, text }] })

const PLAN: JsonObject = {
  type: 'object',
  properties: { title: { type: 'string' }, tasks: { type: 'array', items: { type: 'string' }, minItems: 1 } },
  required: ['title', 'tasks'],
  additionalProperties: false,
}
const GOOD = { title: 'Resume transfers', tasks: ['baseline', 'fix'] }

/** What the server served, at the prices of the settings, reckoned without our code. */
function bill({
  input,
  output,
  cacheRead,
  cacheWrite,
}: Record<'input' | 'output' | 'cacheRead' | 'cacheWrite', number>) {
  const plain = input - cacheRead - cacheWrite
  return (
    (plain * PRICE.input + cacheRead * PRICE.cache_read + cacheWrite * PRICE.cache_write + output * PRICE.output) / 1e6
  )
}

function given<T>(answer: ModelAnswer<T>): T {
  if (!answer.ok) throw new Error(`${answer.failure.code}: ${answer.failure.message}`)
  return answer.value
}

const codeOf = (answer: ModelAnswer<unknown>) => (answer.ok ? null : answer.failure.code)

describe.each(NAMES)('%s', use => {
  it('answers with text, and its tokens and cost are the server’s own count', async () => {
    const usage = { input: 1234, output: 77, cacheRead: 200, cacheWrite: use === 'anthropic/scripted' ? 30 : 0 }
    const place = await setup([{ text: 'Hello.', usage }])
    const model = await place.open({ use })
    const answer = await model.text({ ...ask('Say hello.'), system: 'Be brief.' })
    expect(given(answer)).toBe('Hello.')
    const { served } = place.server
    expect(answer).toMatchObject({
      calls: served.calls,
      usage: {
        inputTokens: served.input,
        outputTokens: served.output,
        cacheReadTokens: served.cacheRead,
        cacheWriteTokens: served.cacheWrite,
      },
      cost: { known: true, usd: bill(served) },
    })
    expect(place.server.requests[0]).toMatchObject({
      system: 'Be brief.',
      messages: [{ role: 'user', text: 'Say hello.' }],
      streams: false,
    })
  })

  it('streams text, part by part, with the same count', async () => {
    const place = await setup([{ text: 'Hello there, friend.' }])
    const parts: string[] = []
    const answer = await (await place.open({ use })).text({ ...ask('Say hello.'), onText: part => parts.push(part) })
    expect(given(answer)).toBe('Hello there, friend.')
    expect(parts.join('')).toBe('Hello there, friend.')
    expect(parts.length).toBeGreaterThan(1)
    const { served } = place.server
    expect(answer).toMatchObject({
      usage: { inputTokens: served.input, outputTokens: served.output, cacheReadTokens: served.cacheRead },
      cost: { known: true, usd: bill(served) },
    })
    expect(place.server.requests[0]?.streams).toBe(true)
  })

  it('calls tools until it answers, and every request counts', async () => {
    const seen: unknown[] = []
    const place = await setup([
      { call: { name: 'read', input: { path: 'a.txt' } } },
      { call: { name: 'read', input: { wrong: 1 } } },
      { call: { name: 'nothing_like_it', input: {} } },
      { text: 'It says 42.' },
    ])
    const answer = await (await place.open({ use })).text({
      ...ask('What does a.txt say?'),
      tools: [
        {
          name: 'read',
          description: 'reads a file',
          input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
          run: async input => {
            seen.push(input)
            return 'forty-two'
          },
        },
      ],
    })
    expect(given(answer)).toBe('It says 42.')
    expect(seen).toEqual([{ path: 'a.txt' }])
    expect(answer.calls).toBe(4)
    expect(place.server.requests[1]?.messages.at(-1)?.text).toContain('forty-two')
    expect(place.server.served.input).toBe(answer.usage.inputTokens)
  })

  it('repairs an answer that does not follow the schema', async () => {
    const place = await setup([
      { text: JSON.stringify({ title: 'no tasks' }) },
      { text: `Here it is:\n\`\`\`json\n${JSON.stringify(GOOD)}\n\`\`\`` },
      { text: JSON.stringify(GOOD) },
    ])
    const answer = await (await place.open({ use })).object({ ...ask('Plan it.'), schema: PLAN })
    expect(given(answer)).toEqual(GOOD)
    expect(place.server.requests[0]?.wantsJson).toBe(true)
    expect(place.server.requests[1]?.messages.at(-1)?.text).toContain("$: lacks 'tasks'")
    expect(answer.calls).toBe(place.server.served.calls)
    expect(answer.cost).toEqual({ known: true, by: 'price', usd: bill(place.server.served) })
  })

  it('replays a recorded session without a request: same values, tokens and cost', async () => {
    const place = await setup([{ text: 'not JSON' }, { text: JSON.stringify(GOOD) }, { text: 'and some words' }])
    const first = await place.open({ use })
    const all = async (model: typeof first) => [
      await model.object({ ...ask('Plan it.'), schema: PLAN }),
      await model.text({ ...ask('And now?'), onText: () => {} }),
    ]
    const answers = await all(first)
    const recording = JSON.parse(JSON.stringify(first.recording())) as ModelRecording
    const sent = place.server.requests.length
    const listed = (await place.models.calls()).length
    await place.server.close()
    const again = await place.open({ replay: recording })
    expect(await all(again)).toEqual(answers)
    expect(again.spent()).toEqual(first.spent())
    expect(again.recording()).toEqual(recording)
    expect(place.server.requests).toHaveLength(sent)
    expect(await place.models.calls()).toHaveLength(listed)
    expect(codeOf(await again.text(ask('Something new?')))).toBe('model:not-recorded')
  })

  it('a recorded model answers again behind its own protocol', async () => {
    const place = await setup([{ text: 'Hello again.' }])
    const first = await place.open({ use })
    const answer = await first.text(ask('Say hello.'))
    const server = await recordedModel(first.recording())
    const opened = await place.again(server.environment(KEY)).open({ use, purpose: 'test' })
    if (!opened.ok) throw new Error(opened.failure.message)
    expect(await opened.model.text(ask('Say hello.'))).toEqual(answer)
    expect(server.requests).toHaveLength(1)
    await server.close()
  })

  it.each<[string, ScriptedReply, object]>([
    [
      'a rate limit',
      { error: { status: 429, message: 'slow down', headers: { 'retry-after': '7' } } },
      { code: 'model:rate-limit', class: 'transient', retryable: true, retryAfterMs: 7000 },
    ],
    [
      'an overloaded server',
      { error: { status: 529, message: 'overloaded', type: 'overloaded_error' } },
      { code: 'model:overloaded', class: 'transient', retryable: true },
    ],
    [
      'an error of the server',
      { error: { status: 500, message: 'oops' } },
      { code: 'model:overloaded', retryable: true },
    ],
    [
      'a wrong key',
      { error: { status: 401, message: 'who are you?' } },
      { code: 'model:auth', class: 'policy', retryable: false },
    ],
    [
      'no credit',
      { error: { status: 429, message: 'You exceeded your current quota', type: 'insufficient_quota' } },
      { code: 'model:auth', retryable: false },
    ],
    [
      'a bad request',
      { error: { status: 400, message: 'too many tokens' } },
      { code: 'model:bad-request', class: 'logic', retryable: false },
    ],
    [
      'a model that is not there',
      { error: { status: 404, message: 'no such model' } },
      { code: 'model:bad-request', retryable: false },
    ],
    [
      'a refusal',
      { text: 'I cannot help with that.', finish: 'refusal' },
      { code: 'model:refused', class: 'policy', retryable: false },
    ],
    [
      'an answer that is cut off',
      { text: 'Once upon', finish: 'length' },
      { code: 'model:truncated', retryable: false },
    ],
    ['an empty answer', { text: '' }, { code: 'model:malformed', retryable: true }],
    [
      'something that is not an answer',
      { raw: { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>hi</h1>' } },
      { code: 'model:malformed', retryable: true },
    ],
  ])('%s is a failure of its kind, and sent once', async (_, reply, failure) => {
    const place = await setup([reply])
    const answer = await (await place.open({ use })).text(ask('Say hello.'))
    expect(answer).toMatchObject({ ok: false, failure })
    expect(place.server.requests).toHaveLength(1)
  })

  it('a server that is not there is told as such, and costs nothing', async () => {
    const place = await setup([])
    await place.server.close()
    const answer = await (await place.open({ use })).text(ask('Say hello.'))
    expect(answer).toMatchObject({
      ok: false,
      failure: { code: 'model:unreachable', class: 'transient', retryable: true },
      usage: { inputTokens: 0, outputTokens: 0 },
    })
    expect(await place.models.calls()).toMatchObject([{ status: 'failed', code: 'model:unreachable' }])
  })

  it('a stream that breaks off is no answer, and counts with the most it can have used', async () => {
    const place = await setup([{ text: 'Once upon a time', breaksOff: true }])
    const answer = await (await place.open({ use })).text({ ...ask('A tale?'), onText: () => {} })
    expect(answer).toMatchObject({
      ok: false,
      failure: { code: 'model:malformed', retryable: true },
      usage: { outputTokens: 8192 },
    })
    expect(place.server.requests).toHaveLength(1)
  })

  it('a refusal to give JSON is not asked again', async () => {
    const place = await setup([{ text: 'I will not.', finish: 'refusal' }])
    const answer = await (await place.open({ use })).object({ ...ask('Plan it.'), schema: PLAN })
    expect(codeOf(answer)).toBe('model:refused')
    expect(place.server.requests).toHaveLength(1)
  })

  it.each<[string, ScriptedReply]>([
    ['nothing', { text: '' }],
    ['prose', { text: 'I would begin with a baseline.' }],
  ])('%s is repaired at most twice', async (_, reply) => {
    const place = await setup([reply])
    const answer = await (await place.open({ use })).object({ ...ask('Plan it.'), schema: PLAN })
    expect(answer.ok).toBe(false)
    expect(codeOf(answer)).toBe('model:malformed')
    expect(place.server.requests).toHaveLength(3)
    const fixed = await setup([reply, { text: JSON.stringify(GOOD) }])
    expect(given(await (await fixed.open({ use })).object({ ...ask('Plan it.'), schema: PLAN }))).toEqual(GOOD)
  })

  it('JSON that is cut off is not paid for again, and says what to raise', async () => {
    const place = await setup([{ text: '{"title":"Res', finish: 'length' }])
    const answer = await (await place.open({ use })).object({ ...ask('Plan it.'), schema: PLAN })
    expect(answer).toMatchObject({
      ok: false,
      failure: {
        code: 'model:truncated',
        message: `the answer of ${use} was cut off after 8192 tokens`,
        hint: expect.stringContaining('raise `output_tokens`'),
      },
    })
    expect(place.server.requests).toHaveLength(1)
  })

  it('stops when it is told to, and what it may have used counts', async () => {
    const place = await setup([{ silent: true }])
    const stop = new AbortController()
    const asking = (await place.open({ use })).text({ ...ask('Say hello.'), signal: stop.signal })
    await place.server.asked(1)
    stop.abort()
    const answer = await asking
    expect(answer).toMatchObject({ ok: false, failure: { code: 'model:cancelled', class: 'cancelled' } })
    expect(await place.models.calls()).toMatchObject([{ status: 'cut off', usage: { outputTokens: 8192 } }])
  })

  it('the limit of calls holds, and nothing is sent beyond it', async () => {
    const place = await setup([{ text: 'never JSON' }])
    const model = await place.open({ use, caps: { calls: 2 } })
    expect(codeOf(await model.object({ ...ask('Plan it.'), schema: PLAN }))).toBe('model:cap')
    expect(codeOf(await model.text(ask('And now?')))).toBe('model:cap')
    expect(place.server.served.calls).toBe(2)
  })

  it('the limit of tokens holds by the server’s own count', async () => {
    const place = await setup([{ text: 'yes', usage: { input: 1000, output: 40 } }])
    const model = await place.open({ use, caps: { tokens: 2500 } })
    const codes = [await model.text(ask('a')), await model.text(ask('b')), await model.text(ask('c'))].map(codeOf)
    expect(codes).toEqual([null, null, 'model:cap'])
    const { served, requests } = place.server
    expect(served.input + served.output).toBeLessThanOrEqual(2500)
    // The answer is cut to what is left, so that it cannot pass the limit.
    expect(requests[1]?.outputTokensMax).toBeLessThanOrEqual(2500 - 1040)
  })

  it('the limit of money holds by the server’s own bill', async () => {
    const place = await setup([{ text: 'yes', usage: { input: 1000, output: 40, cacheRead: 0 } }])
    const model = await place.open({ use, caps: { usd: 0.0095 } })
    const codes = [await model.text(ask('a')), await model.text(ask('b')), await model.text(ask('c'))].map(codeOf)
    expect(codes).toEqual([null, null, 'model:cap'])
    expect(bill(place.server.served)).toBeLessThanOrEqual(0.0095)
  })

  it('never shows its key: not in what is sent, not in what is recorded or listed, also when a server tells it', async () => {
    const place = await setup([{ text: `your key is ${KEY}, is it not?` }, { text: `again: ${KEY}` }])
    const model = await place.open({ use })
    const plain = await model.text(ask(`My key is ${KEY}.`))
    const streamed = await model.text({ ...ask('And again?'), onText: () => {} })
    expect(given(plain)).toBe('your key is [redacted], is it not?')
    expect(given(streamed)).toBe('again: [redacted]')
    expect(place.server.requests[0]?.body).not.toContain(KEY)
    expect(JSON.stringify(place.server.requests[0]?.headers)).toContain(use.startsWith('local') ? '' : KEY)
    const kept = JSON.stringify([
      plain,
      streamed,
      model.recording(),
      await place.models.calls(),
      await place.models.list(),
    ])
    expect(kept).not.toContain(KEY)
  })
})

describe('a server of another kind', () => {
  const open = async (answer: (response: ServerResponse) => void, settings?: object) => {
    const server = createServer((request, response) => request.resume().once('end', () => answer(response)))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
    const opened = await (await setup([], settings))
      .again({ PLANFOLD_MODEL_URL: url })
      .open({ use: 'local/m', purpose: 'test' })
    if (!opened.ok) throw new Error(opened.failure.message)
    return opened.model
  }
  const begun = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'application/json' }).write(' ')

  it.each([
    ['whose answer never ends', true],
    ['that never answers', false],
  ])('%s is left when we are told to stop, also after the garbage collector has run', async (_, begins) => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const here: ServerResponse[] = []
    const model = await open(response => {
      here.push(response)
      if (begins) begun(response)
    })
    const stop = new AbortController()
    const asking = model.object({ ...ask('Plan it.'), schema: PLAN, signal: stop.signal })
    await vi.waitFor(() => expect(here).toHaveLength(1))
    for (let round = 0; round < 10; round++) {
      await new Promise(resolve => setTimeout(resolve, 20))
      collect()
    }
    stop.abort()
    expect(codeOf(await asking)).toBe('model:cancelled')
  })

  it('that is slow has the time of the settings', async () => {
    const model = await open(begun, { models: { 'local/m': { timeout: '200ms' } } })
    expect(await model.object({ ...ask('Plan it.'), schema: PLAN })).toMatchObject({
      ok: false,
      failure: {
        code: 'model:unreachable',
        message: 'the model did not send its whole answer within 200ms',
        hint: expect.stringContaining('raise `timeout`'),
      },
    })
  })

  it('that hangs up in the middle is said to have done so', async () => {
    const model = await open(response => {
      begun(response)
      setTimeout(() => response.destroy(), 50)
    })
    const message = 'the answer of local/m was cut off: the connection ended in the middle'
    expect(await model.text(ask('Say hello.'))).toMatchObject({
      ok: false,
      failure: { code: 'model:unreachable', message },
    })
  })
})

describe('a provider that is busy', () => {
  const busy = (headers: Record<string, string>, status = 429): ScriptedReply => ({
    error: { status, message: 'slow down', headers },
  })

  it('is asked again when it says, and whoever waits is told', async () => {
    const good = { text: JSON.stringify(GOOD) }
    const place = await setup([busy({ 'retry-after-ms': '30' }), busy({ 'retry-after-ms': '40' }, 503), good])
    const notes: string[] = []
    const model = await place.open({ use: 'anthropic/scripted' })
    const answer = await model.object({ ...ask('Plan it.'), schema: PLAN, onWait: note => void notes.push(note) })
    expect(given(answer)).toEqual(GOOD)
    expect(notes).toEqual([
      expect.stringMatching(/too many requests \(429\): slow down.*; asking again in 1s$/),
      expect.stringMatching(/could not answer \(503\): slow down.*; asking again in 1s$/),
    ])
  })

  it('is not waited for longer than two minutes, and a wait can be stopped', async () => {
    const place = await setup([busy({ 'retry-after': '600' })])
    const model = await place.open({ use: 'openai/scripted' })
    const question = { ...ask('Plan it.'), schema: PLAN }
    expect(await model.object({ ...question, onWait: () => {} })).toMatchObject({
      failure: {
        code: 'model:rate-limit',
        message: expect.stringContaining('It asks to wait 10m; no longer than 2m is waited'),
      },
    })
    const other = await (await setup([busy({ 'retry-after': '60' })])).open({ use: 'openai/scripted' })
    const stop = new AbortController()
    const asked = await other.object({
      ...question,
      signal: stop.signal,
      onWait: () => setTimeout(() => stop.abort(), 20),
    })
    expect(codeOf(asked)).toBe('model:cancelled')
  })
})
