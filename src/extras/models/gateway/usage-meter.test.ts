// What providers say about usage, in the forms that the scripted model does not have.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { GatewayWire } from '../../../runners/model-gateway.ts'
import { gatewayFor, question, send } from './gateway.fixture.ts'
import { usageMeter } from './usage-meter.ts'
import { WIRE_RULES } from './wire-rules.ts'

function counted(wire: GatewayWire, type: string, text: string, pieceBytes = 5) {
  const meter = usageMeter(WIRE_RULES[wire], type)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += pieceBytes) meter.next(bytes.subarray(at, at + pieceBytes))
  return meter.end()
}

const SSE = 'text/event-stream; charset=utf-8'
const JSON_TYPE = 'application/json'

describe('usage', () => {
  it('Anthropic: the last message completes the first, and without it the count is not final', () => {
    const start = `event: message_start\r\ndata: {"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":1}}}\r\n\r\n`
    const delta = `event: message_delta\r\ndata: {"type":"message_delta","usage":{"input_tokens":null,"output_tokens":40}}`
    expect(counted('anthropic', SSE, start + delta)).toMatchObject({
      isFinal: true,
      usage: { inputTokens: 17, cacheReadTokens: 5, cacheWriteTokens: 2, outputTokens: 40 },
    })
    expect(counted('anthropic', SSE, start)).toMatchObject({ isFinal: false, usage: { outputTokens: 1 } })
  })

  it('OpenAI: what was thought beside the output is output', () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 170,
      prompt_tokens_details: { cached_tokens: 60 },
      completion_tokens_details: { reasoning_tokens: 50 },
    }
    const body = JSON.stringify({ choices: [], usage })
    const expected = {
      inputTokens: 100,
      cacheReadTokens: 60,
      cacheWriteTokens: 0,
      outputTokens: 70,
      reasoningTokens: 50,
    }
    expect(counted('openai-chat', JSON_TYPE, body)).toEqual({ isFinal: true, wireUsage: usage, usage: expected })
    expect(counted('openai-chat', SSE, `data: ${body}\n\ndata: [DONE]\n\n`)?.usage).toEqual(expected)
  })

  it('OpenAI responses: an answer that failed or was cut is counted, one in progress is not', () => {
    const event = (type: string, usage: object | null) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, response: { usage } })}\n\n`
    const usage = { input_tokens: 7, output_tokens: 3 }
    expect(counted('openai-responses', SSE, event('response.incomplete', usage))?.usage).toMatchObject({
      outputTokens: 3,
    })
    expect(counted('openai-responses', SSE, event('response.in_progress', usage))).toBeNull()
    expect(counted('openai-responses', SSE, event('response.failed', null))).toBeNull()
  })

  it('Gemini: a stream may be a list, and what tools put into the prompt is input', () => {
    const part = (more: object) => ({ candidates: [{}], usageMetadata: { promptTokenCount: 10 }, ...more })
    const last = part({
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: 10,
        toolUsePromptTokenCount: 4,
        candidatesTokenCount: 6,
        thoughtsTokenCount: 2,
      },
    })
    const expected = { isFinal: true, usage: { inputTokens: 14, outputTokens: 8, reasoningTokens: 2 } }
    expect(counted('gemini', JSON_TYPE, JSON.stringify([part({}), last]))).toMatchObject(expected)
    expect(
      counted('gemini', SSE, [part({}), last].map(one => `data: ${JSON.stringify(one)}\r\n\r\n`).join('')),
    ).toMatchObject(expected)
    expect(counted('gemini', JSON_TYPE, JSON.stringify([part({})]))?.isFinal).toBe(false)
  })

  it('what is no number of tokens is no count', () => {
    for (const bad of [-1, 1.5, '7', null, 1e300, {}])
      expect(
        counted('openai-chat', JSON_TYPE, JSON.stringify({ usage: { prompt_tokens: bad, completion_tokens: 1 } })),
      ).toBeNull()
    for (const text of ['', 'null', '[]', '{', '"usage"', '{"usage":[]}'])
      expect(counted('anthropic', JSON_TYPE, text)).toBeNull()
  })
})

describe('limits of the answer', () => {
  it('every spelling of a limit is lowered, and none is raised', () => {
    const { 'openai-chat': chat, gemini } = WIRE_RULES
    const both = { max_tokens: 10, max_completion_tokens: 900 }
    expect(chat.outputLimit(both)).toBe(900)
    expect(chat.withOutputLimit(both, 100, 'openai')).toEqual({ max_tokens: 10, max_completion_tokens: 100 })
    expect(chat.withOutputLimit({ max_tokens: '9999' }, 100, 'openai')).toEqual({ max_tokens: 100 })
    expect(chat.withOutputLimit({}, 100, 'openai')).toEqual({ max_completion_tokens: 100 })
    expect(chat.withOutputLimit({}, 100, 'openai-compatible')).toEqual({ max_tokens: 100 })
    const snake = { generation_config: { max_output_tokens: 900, candidate_count: 2, temperature: 1 } }
    expect([gemini.outputLimit(snake), gemini.answers(snake)]).toEqual([900, 2])
    expect(gemini.withOutputLimit(snake, 100, 'google')).toEqual({
      generationConfig: { maxOutputTokens: 100, candidateCount: 2, temperature: 1 },
    })
  })
})

it('a provider that compresses though it was asked not to is understood', async () => {
  const answer = JSON.stringify({ content: [], usage: { input_tokens: 5, output_tokens: 6 } })
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(gzipSync(answer))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>(resolve => void server.close(() => resolve())))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { gateway } = await gatewayFor('anthropic', [], { settings: { providers: { anthropic: { url } } } })
  const heard = await send(gateway, question('anthropic', '?')).done
  expect(heard.text).toBe(answer)
  expect(heard.headers['content-encoding']).toBeUndefined()
  expect(gateway.spent().usage).toMatchObject({ inputTokens: 5, outputTokens: 6 })
})
