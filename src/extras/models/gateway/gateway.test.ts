// The gateway over its real socket, on a scripted model that counts by itself: what passes, what is counted, what is kept.

import { mkdtempSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { GatewayWire } from '../../../runners/model-gateway.ts'
import { type Script, scriptedModel } from '../../../testing/scripted-model.ts'
import { KEY, PRICE } from '../models.fixture.ts'
import { type Ask, gatewayFor, question, SpendingMemory, send, USE, WIRES } from './gateway.fixture.ts'
import { KeptRecordings } from './kept-recordings.ts'

const USAGE = { input: 1234, output: 77, cacheRead: 200, reasoning: 12 }
const TEXT = 'Grüße aus dem Modell: 42 — fertig.'

/** What the server served, at the prices of the settings, reckoned without our code. */
function bill(served: { input: number; output: number; cacheRead: number; cacheWrite: number }): number {
  const { input, output, cacheRead, cacheWrite } = served
  const plain = input - cacheRead - cacheWrite
  const micros =
    plain * PRICE.input + cacheRead * PRICE.cache_read + cacheWrite * PRICE.cache_write + output * PRICE.output
  return Math.round(micros * 1e3) / 1e9
}

const usageOf = (served: { input: number; output: number; cacheRead: number; cacheWrite: number }) => ({
  inputTokens: served.input,
  outputTokens: served.output,
  cacheReadTokens: served.cacheRead,
  cacheWriteTokens: served.cacheWrite,
})

/** What the same server sends to somebody who asks it directly. */
async function direct(script: Script, { path, body }: Ask): Promise<string> {
  const server = await scriptedModel(script)
  onTestFinished(() => server.close())
  const answer = await fetch(`${server.url}${path}`, { method: 'POST', body: JSON.stringify(body) })
  return await answer.text()
}

/** Of a chat that did not ask what was used: without the event that says it. */
const unasked = (wire: GatewayWire, text: string): string =>
  wire === 'openai-chat' ? text.replace(/data: [^\n]*"choices":\[\],"usage"[^\n]*\n\n/, '') : text

function gate(): { readonly open: () => void; readonly passed: Promise<void> } {
  let open = (): void => {}
  const passed = new Promise<void>(resolve => {
    open = resolve
  })
  return { open, passed }
}

describe.each(WIRES)('%s', wire => {
  const usage = wire === 'anthropic' ? { ...USAGE, cacheWrite: 30, reasoning: 0 } : USAGE

  it.each([false, true])('counts what the server counted, and passes every byte on (streamed: %s)', async stream => {
    const script: Script = [
      { text: TEXT, usage, pieceBytes: 7 },
      { call: { name: 'read', input: { path: 'ä' } }, usage },
    ]
    const { gateway, server, calls, spending, models } = await gatewayFor(wire, script)
    const first = question(wire, 'Say hello.', { stream })
    const heard = await send(gateway, first).done
    expect(heard.status).toBe(200)
    expect(heard.text).toBe(unasked(wire, await direct(script, first)))
    expect((await send(gateway, question(wire, 'And now?', { stream })).done).text).toContain('read')
    const { served } = server
    expect(served.calls).toBe(2)
    const spent = { calls: 2, usage: usageOf(served), cost: { known: true, usd: bill(served) } }
    expect(gateway.spent()).toMatchObject(spent)
    expect(gateway.reports()).toMatchObject([
      { use: { model: USE[wire], ...spent }, recording: { provider: USE[wire].split('/')[0] } },
    ])
    expect(calls).toMatchObject([
      { status: 'answered', isCounted: true },
      { status: 'answered', isCounted: true },
    ])
    expect(spending.spent).toEqual({ calls: 2, tokens: served.input + served.output, usd: bill(served) })
    expect(spending.held.tokens).toBe(0)
    expect(await models.calls()).toMatchObject([
      { model: USE[wire], purpose: 'agent', payer: 'plan/task/1', status: 'answered', code: null },
      { status: 'answered' },
    ])
  })

  it('a stream reaches the agent while the model is still speaking', async () => {
    const { open, passed } = gate()
    const { gateway } = await gatewayFor(wire, [{ text: TEXT, usage, pausesFor: passed }])
    const asking = send(gateway, question(wire, 'Say hello.', { stream: true }))
    expect(await asking.heard(20)).not.toBe('')
    expect(gateway.spent().calls).toBe(1)
    open()
    expect((await asking.done).status).toBe(200)
  })

  it.each([false, true])('an agent that goes away in the middle is counted to the end (streamed: %s)', async stream => {
    const { open, passed } = gate()
    const { gateway, server, calls } = await gatewayFor(wire, [
      { text: TEXT, usage, pausesFor: passed, pieceBytes: 11 },
    ])
    const asking = send(gateway, question(wire, 'Say hello.', { stream }))
    await asking.heard(10)
    asking.abort()
    await expect(asking.done).rejects.toThrow()
    open()
    await expect.poll(() => calls.length).toBe(1)
    expect(calls).toMatchObject([{ status: 'answered', isCounted: true, usage: usageOf(server.served) }])
    expect(gateway.spent()).toMatchObject({ usage: usageOf(server.served), cost: { usd: bill(server.served) } })
  })

  it('an answer that breaks off is counted by what was said and what came, else with all that was reserved', async () => {
    const few = { input: 10, output: 3, cacheRead: 0 }
    const place = await gatewayFor(wire, [{ text: TEXT, usage: few, breaksOff: true }])
    const { gateway, spending, calls } = place
    const heard = await send(gateway, question(wire, 'Say hello.', { stream: true, max: 4_000 })).done
    await expect.poll(() => calls.length).toBe(1)
    const [listed] = await place.models.calls()
    expect(calls).toMatchObject([{ isCounted: false }])
    expect(listed).toMatchObject({ usage: calls[0]?.usage })
    if (wire === 'anthropic' || wire === 'gemini') {
      const { inputTokens, outputTokens } = calls[0]!.usage
      expect(inputTokens).toBe(10)
      expect(outputTokens).toBe(Math.ceil(Buffer.byteLength(heard.text) / 4))
      expect(outputTokens).toBeLessThan(1_000)
      expect(listed?.assumedTokens).toBeGreaterThan(outputTokens - 10)
      expect(spending.spent.tokens).toBe(inputTokens + outputTokens)
    } else {
      expect(calls).toMatchObject([{ usage: { outputTokens: 4_000 } }])
      expect(listed?.assumedTokens).toBe(spending.requests[0]?.tokens)
      expect(spending.spent.tokens).toBe(spending.requests[0]?.tokens)
    }
  })

  it('the provider gets the real key, and the agent’s token never leaves', async () => {
    const { gateway, server } = await gatewayFor(wire, [{ text: 'yes' }])
    const asked = question(wire, `my token is ${'TOKEN'}`)
    const bearer = {
      authorization: `Bearer ${gateway.token}`,
      'x-api-key': '',
      cookie: 'a=b',
      'openai-organization': 'other',
    }
    const text = JSON.stringify(asked.body).replace('TOKEN', gateway.token)
    expect((await send(gateway, { ...asked, headers: bearer, body: text }).done).status).toBe(200)
    const [request] = server.requests
    const sent = JSON.stringify(request)
    expect(sent).toContain(KEY)
    expect(sent).not.toContain(gateway.token)
    expect(request?.headers).toMatchObject({ 'accept-encoding': 'identity' })
    expect(request?.headers.cookie).toBeUndefined()
    expect(request?.headers['openai-organization']).toBeUndefined()
  })

  it('a key that a provider or a prompt tells is seen by nobody', async () => {
    const { gateway, server, stateDir } = await gatewayFor(
      wire,
      [
        { text: `your key is ${KEY}!`, pieceBytes: 3 },
        { error: { status: 401, message: `wrong key: ${KEY}`, headers: { 'x-request-id': KEY } } },
      ],
      { keepAs: 'attempt-1' },
    )
    const first = await send(gateway, question(wire, `the key is ${KEY}, they say`, { stream: true })).done
    const second = await send(gateway, question(wire, 'and now?')).done
    expect(first.status).toBe(200)
    expect(second.status).toBe(401)
    expect(server.requests.map(({ body }) => body).join('')).not.toContain(KEY)
    const seen = JSON.stringify([first, second, gateway.reports(), readAll(stateDir)])
    for (const secret of [KEY, gateway.token]) expect(seen).not.toContain(secret)
    expect(seen).toContain('[redacted]')
  })

  it('what the provider refuses is passed on as it is, and costs nothing', async () => {
    const script: Script = [
      { error: { status: 429, message: 'slow down', type: 'rate_limit_error', headers: { 'retry-after-ms': '1' } } },
      { error: { status: 500, message: 'oh no', type: 'api_error' } },
    ]
    const { gateway, calls, spending } = await gatewayFor(wire, script)
    const asked = question(wire, 'Say hello.')
    const first = await send(gateway, asked).done
    expect(first).toMatchObject({ status: 429, headers: { 'retry-after-ms': '1' } })
    expect(first.text).toBe(await direct(script, asked))
    expect(await send(gateway, asked).done).toMatchObject({ status: 500 })
    expect(calls).toMatchObject([
      { status: 'failed', httpStatus: 429, usage: { inputTokens: 0, outputTokens: 0 } },
      { status: 'failed', httpStatus: 500 },
    ])
    expect(spending.spent.tokens).toBe(0)
    expect(spending.held.tokens).toBe(0)
    expect(gateway.parked()).toBeNull()
  })

  it('a provider that is silent, gone or leads elsewhere is told in the words of the protocol', async () => {
    const silent = await gatewayFor(wire, [{ silent: true }], { limits: { idleMs: 50 } })
    expect((await send(silent.gateway, question(wire, '?', { max: 300 })).done).status).toBe(504)
    await expect.poll(() => silent.calls).toMatchObject([{ isCounted: false, usage: { outputTokens: 300 } }])
    const moved = await gatewayFor(wire, [
      { raw: { status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: '' } },
    ])
    const led = await send(moved.gateway, question(wire, '?')).done
    expect(led).toMatchObject({ status: 502, text: expect.stringContaining('302') })
    expect(led.headers.location).toBeUndefined()
    const gone = await gatewayFor(wire, [{ text: 'yes' }])
    await gone.server.close()
    expect(await send(gone.gateway, question(wire, '?')).done).toMatchObject({ status: 502 })
    await expect.poll(() => gone.calls).toMatchObject([{ status: 'failed', usage: { outputTokens: 0 } }])
    for (const { gateway } of [silent, moved, gone]) expect(gateway.parked()).toBeNull()
  })

  it('a replay answers with the same bytes and the same count, and sends nothing', async () => {
    const script: Script = [
      { text: TEXT, usage },
      { error: { status: 500, message: 'oh no' } },
      { text: 'Done.', usage },
    ]
    const { gateway, server, models, openGateway } = await gatewayFor(wire, script)
    const asked = [question(wire, 'One?', { stream: true }), question(wire, 'Two?'), question(wire, 'Three?')]
    const answers: string[] = []
    for (const one of asked) answers.push((await send(gateway, one).done).text)
    await gateway.close()
    const recordings = JSON.parse(JSON.stringify(gateway.reports().map(({ recording }) => recording)))
    const listed = await models.calls()
    await server.close()
    const spending = new SpendingMemory({ calls: 0 })
    const again = await openGateway({ recorded: { recordings, else: 'refuse' }, spending })
    for (const [at, one] of asked.entries()) expect((await send(again, one).done).text).toBe(answers[at])
    expect(again.spent().usage).toEqual(gateway.spent().usage)
    expect(again.spent().cost).toEqual(gateway.spent().cost)
    expect(again.reports().map(({ recording }) => recording)).toEqual(recordings)
    expect(await send(again, question(wire, 'Four?')).done).toMatchObject({ status: 400 })
    expect(await models.calls()).toEqual(listed)
  })

  it('what was answered before a crash is not paid again', async () => {
    const { gateway, server, spending, stateDir, openGateway } = await gatewayFor(wire, [{ text: TEXT, usage }], {
      keepAs: 'attempt-1',
    })
    const asked = question(wire, 'One?', { stream: true })
    const first = await send(gateway, asked).done
    await expect.poll(() => new KeptRecordings(stateDir).read('attempt-1')).toHaveLength(1)
    // Nothing of the first gateway is used: it could have been killed.
    const again = await openGateway({ resumeFrom: ['attempt-1', 'attempt-0'], keepAs: 'attempt-2' })
    expect((await send(again, asked).done).text).toBe(first.text)
    expect(server.served.calls).toBe(1)
    expect(again.spent().calls).toBe(0)
    expect((await send(again, asked).done).status).toBe(200)
    expect(server.served.calls).toBe(2)
    expect(spending.spent.calls).toBe(2)
    const before = new Date(Date.now() - 8 * 24 * 60 * 60_000)
    const folder = join(stateDir, 'models', 'attempts')
    for (const file of readdirSync(folder)) utimesSync(join(folder, file), before, before)
    await openGateway()
    expect(await new KeptRecordings(stateDir).read('attempt-1')).toEqual([])
  })
})

function readAll(stateDir: string): string {
  return readdirSync(stateDir, { recursive: true })
    .map(name => join(stateDir, String(name)))
    .filter(file => statSync(file).isFile())
    .map(file => readFileSync(file, 'utf8'))
    .join('\n')
}

describe('a real client', () => {
  // Planfold's own way to models, with a gateway in the place of the provider.
  it.each(WIRES)('%s: counts what the gateway and the server count, and understands its refusal', async wire => {
    const script: Script = [
      { call: { name: 'look', input: {} }, usage: USAGE },
      { text: TEXT, usage: USAGE },
    ]
    const { gateway, server, again } = await gatewayFor(wire, script, {
      listen: 'loopback',
      spending: new SpendingMemory({ calls: 2 }),
    })
    const client = await again(gateway.environmentFor(wire, 'loopback')).open({ use: USE[wire], purpose: 'test' })
    if (!client.ok) throw new Error(client.failure.message)
    const asked = {
      messages: [{ role: 'user' as const, text: 'Look.' }],
      tools: [{ name: 'look', description: 'looks', input: { type: 'object' }, run: async () => 'seen' }],
      onText: () => {},
    }
    const answer = await client.model.text(asked)
    expect(answer).toMatchObject({ ok: true, value: TEXT, calls: 2 })
    expect(answer.usage).toMatchObject(usageOf(server.served))
    expect(gateway.spent().usage).toEqual(answer.usage)
    expect(gateway.spent().cost).toEqual(answer.cost)
    expect(await client.model.text(asked)).toMatchObject({
      ok: false,
      // Google has one word for too fast and for too much.
      failure: { code: wire === 'gemini' ? 'model:rate-limit' : 'model:auth' },
    })
    expect(gateway.parked()).not.toBeNull()
  })
})

describe('the door', () => {
  it('is open for the token only, and only for what is listed', async () => {
    const { gateway, server } = await gatewayFor('anthropic', [{ text: 'yes' }])
    const asked = question('anthropic', '?')
    for (const wrong of ['', 'sk-planfold-0', KEY, `${gateway.token}0`])
      expect(await send(gateway, { ...asked, headers: { 'x-api-key': wrong } }).done).toMatchObject({
        status: 401,
        headers: { 'x-should-retry': 'false' },
        text: expect.stringContaining('authentication_error'),
      })
    for (const path of [
      '/',
      '/v1/messages/batches',
      '/v1/files',
      '/v1/../v1/messages',
      '//v1/messages',
      '/v1/responses',
      'http://example.com/v1/messages',
    ])
      expect(await send(gateway, { ...asked, path }).done).toMatchObject({ status: 404 })
    expect(await send(gateway, { ...asked, method: 'DELETE' }).done).toMatchObject({ status: 404 })
    expect(server.requests).toEqual([])
    expect(
      (await send(gateway, { ...asked, path: `${asked.path}&key=${gateway.token}`, headers: { 'x-api-key': '' } }).done)
        .status,
    ).toBe(200)
    expect(JSON.stringify(server.requests)).not.toContain(gateway.token)
  })

  it('a token ends with its attempt, and what is open is counted before the gateway is closed', async () => {
    const { open, passed } = gate()
    const { gateway, server, calls } = await gatewayFor('anthropic', [{ text: TEXT, usage: USAGE, pausesFor: passed }])
    const asking = send(gateway, question('anthropic', '?', { stream: true }))
    await asking.heard(10)
    const closed = gateway.close()
    expect(await send(gateway, question('anthropic', 'more?')).done).toMatchObject({ status: 401 })
    open()
    await closed
    expect(calls).toMatchObject([{ isCounted: true, usage: usageOf(server.served) }])
    await expect(send(gateway, question('anthropic', 'more?')).done).rejects.toThrow()
  })

  it('closing breaks off what does not end, and counts all that was reserved for it', async () => {
    const { gateway, server, calls, spending, again } = await gatewayFor('anthropic', [{ silent: true }], {
      limits: { drainMs: 1 },
    })
    const asking = send(gateway, question('anthropic', '?', { max: 300 }))
    await server.asked(1)
    // What another process would read if this one died now.
    expect(await again().calls()).toMatchObject([{ status: 'cut off', usage: { outputTokens: 300 } }])
    expect(gateway.spent()).toMatchObject({ calls: 1, usage: { outputTokens: 300 } })
    await gateway.close()
    asking.abort()
    expect(calls).toMatchObject([{ status: 'cut off', isCounted: false, usage: { outputTokens: 300 } }])
    expect(spending.spent.tokens).toBe(spending.requests[0]?.tokens)
  })

  it('an agent that does not read keeps nobody from counting', async () => {
    const usage = { input: 10, output: 20, cacheRead: 0 }
    const { gateway, calls, server } = await gatewayFor('anthropic', [{ text: 'x'.repeat(8_000_000), usage }])
    const socket = connect({ path: gateway.socketPath })
    const body = JSON.stringify(question('anthropic', '?', { stream: true }).body)
    socket.on('error', () => {})
    socket.write(
      `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${gateway.token}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    socket.pause()
    await server.asked(1)
    await gateway.close()
    expect(calls).toMatchObject([{ status: 'answered', isCounted: true, usage: { outputTokens: 20 } }])
    socket.destroy()
  })

  it('requests that are too large, no JSON, compressed or of nobody are refused', async () => {
    const { gateway, server, spending } = await gatewayFor('openai-chat', [{ text: 'yes' }], {
      limits: { requestBytes: 2_000 },
    })
    const asked = question('openai-chat', '?')
    const large = { ...asked, body: 'x'.repeat(300_000) }
    expect(await send(gateway, large).done).toMatchObject({ status: 413 })
    const chunked = { 'transfer-encoding': 'chunked' }
    expect(await send(gateway, { ...large, headers: chunked }).done).toMatchObject({ status: 413 })
    for (const body of ['', '{', '[]', 'null', '"text"', '{"model":7}', '{"messages":[]}'])
      expect(await send(gateway, { ...asked, body }).done).toMatchObject({
        status: 400,
        text: expect.stringContaining('invalid_request_error'),
      })
    expect(await send(gateway, { ...asked, headers: { 'content-encoding': 'gzip' } }).done).toMatchObject({
      status: 400,
    })
    expect(server.requests).toEqual([])
    expect(spending.requests).toEqual([])
    expect((await send(gateway, asked).done).status).toBe(200)
  })

  it('an agent without a sandbox finds it on loopback, with the same token', async () => {
    const { gateway } = await gatewayFor('gemini', [{ text: 'yes' }], { listen: 'loopback' })
    const environment = gateway.environmentFor('gemini', 'loopback')
    expect(environment).toEqual({
      GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${gateway.port}`,
      GEMINI_API_KEY: gateway.token,
    })
    const asked = { ...question('gemini', '?'), port: gateway.port ?? 0 }
    expect((await send(gateway, asked).done).status).toBe(200)
    expect((await send(gateway, { ...asked, headers: { 'x-api-key': 'no' } }).done).status).toBe(401)
    expect(gateway.environmentFor('openai-chat', 'sandbox').OPENAI_BASE_URL).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/)
  })

  it('lists the models of the settings, and counts tokens without paying', async () => {
    const { gateway, spending } = await gatewayFor('anthropic', [{ text: 'yes' }])
    const list = await send(gateway, { method: 'GET', path: '/v1/models' }).done
    expect(JSON.parse(list.text)).toMatchObject({ object: 'list', data: [{ id: 'scripted', type: 'model' }] })
    expect(JSON.parse((await send(gateway, { method: 'GET', path: '/v1/models/scripted' }).done).text)).toMatchObject({
      id: 'scripted',
    })
    const google = await gatewayFor('gemini', [{ text: 'yes' }])
    expect(JSON.parse((await send(google.gateway, { method: 'GET', path: '/v1beta/models' }).done).text)).toMatchObject(
      {
        models: [{ name: 'models/scripted' }],
      },
    )
    const counted = await send(gateway, { ...question('anthropic', '?'), path: '/v1/messages/count_tokens' }).done
    expect(JSON.parse(counted.text)).toMatchObject({ input_tokens: 100 })
    expect(spending.requests).toEqual([])
  })

  it('with a list of models any other is refused in words, and nothing is sent', async () => {
    const script = ['one', 'two', 'three'].map(text => ({ text }))
    const { gateway, server } = await gatewayFor('anthropic', script, { models: ['haiku-*', 'anthropic/exact'] })
    const ask = async (model: string) => await send(gateway, question('anthropic', 'Hi', { model })).done
    const refused = await ask('expensive')
    expect(refused).toMatchObject({ status: 400, headers: { 'x-should-retry': 'false' } })
    expect(JSON.parse(refused.text).error.message).toBe(
      'planfold: this task may not ask the model expensive, only haiku-*, anthropic/exact, anthropic/scripted',
    )
    expect((await ask('exact-not')).status).toBe(400)
    expect(server.served.calls).toBe(0)
    for (const model of ['haiku-4', 'exact', 'scripted']) expect((await ask(model)).status).toBe(200)
    expect(server.served.calls).toBe(3)
  })

  it('a chat that asks what was used hears it; every model it asks has its own report', async () => {
    const { gateway, server } = await gatewayFor('openai-chat', [{ text: 'yes', usage: USAGE }])
    const asked = question('openai-chat', '?', { stream: true })
    const body = { ...(asked.body as object), stream_options: { include_usage: true } }
    expect((await send(gateway, { ...asked, body }).done).text).toContain('"prompt_tokens":1234')
    const { text } = await send(gateway, asked).done
    expect(text).not.toContain('prompt_tokens')
    expect(text).toContain('[DONE]')
    expect(JSON.parse(server.requests[1]?.body ?? '')).toMatchObject({ stream_options: { include_usage: true } })
    await send(gateway, question('openai-chat', '?', { model: 'small' })).done
    expect(gateway.reports().map(({ use }) => [use.model, use.calls, use.cost.known])).toEqual([
      ['openai-chat/scripted', 2, true],
      ['openai-chat/small', 1, false],
    ])
  })

  it('says at once when the agent’s protocol fits no provider, or there is no key', async () => {
    const { models, spending, again } = await gatewayFor('anthropic', [{ text: 'yes' }])
    const request = { wires: ['anthropic'] as const, payer: 'p', folder: '/nowhere', spending }
    expect(await models.openGateway({ ...request, use: 'openai/scripted' })).toMatchObject({
      ok: false,
      failure: { code: 'model:settings', message: expect.stringContaining('Anthropic messages') },
    })
    expect(await again({ ANTHROPIC_API_KEY: '' }).openGateway(request)).toMatchObject({
      ok: false,
      failure: { code: 'model:auth' },
    })
    expect(await models.openGateway({ ...request, folder: `/${'x'.repeat(120)}` })).toMatchObject({ ok: false })
  })

  it('opens without a key where no model may be asked, and says what is lacking to whoever asks one', async () => {
    const { spending, again } = await gatewayFor('anthropic', [])
    const folder = mkdtempSync(join(tmpdir(), 'pfg-'))
    const request = { wires: ['anthropic'], payer: 'p', folder, spending, keyless: true } as const
    const opened = await again({ ANTHROPIC_API_KEY: '' }).openGateway(request)
    if (!opened.ok) throw new Error(opened.failure.message)
    onTestFinished(() => opened.gateway.close())
    const heard = await send(opened.gateway, question('anthropic', 'hello')).done
    expect(heard.status).toBeGreaterThanOrEqual(400)
    expect(heard.text).toContain('is not served by the model gateway: ')
    expect(heard.text).toContain('key')
  })
})
