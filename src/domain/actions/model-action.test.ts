import { describe, expect, it, test } from 'vitest'
import type { Json } from '../json.ts'
import { answerFault, answerOutputs, answerSchema, modelRequest } from './model-action.ts'

const request = (spec: Json) => modelRequest({ type: 'model', spec })

describe('what a model task asks', () => {
  it('is a name alone, or a map', () => {
    const nothing = { system: null, answer: null, outputTokens: null, votes: 1, caps: {} }
    expect(request('local/llama3')).toEqual({ ...nothing, use: 'local/llama3' })
    expect(request({ answer: ['string'], output_tokens: 100, caps: { calls: 2, cost: '0.50 USD' } })).toEqual({
      ...nothing,
      use: null,
      answer: ['string'],
      outputTokens: 100,
      caps: { calls: 2, usd: 0.5 },
    })
  })

  it.each<[string, Json]>([
    ['nothing', null],
    ['a list', ['local/llama3']],
    ['a key of another release', { prompt: 'hello' }],
    ['an answer without a shape', { answer: { severity: 'text' } }],
  ])('%s is none', (_, spec) => {
    expect(request(spec)).toBeNull()
  })
})

test('the shape of an answer is a JSON Schema, and names the outputs', () => {
  const shape = {
    severity: 'low | high',
    files: ['string'],
    'note?': 'string',
    more: { count: 'integer', any: 'json' },
  }
  expect(answerFault(shape)).toBeNull()
  expect(answerOutputs(shape)).toEqual(['severity', 'files', 'note', 'more'])
  expect(answerSchema(shape)).toEqual({
    type: 'object',
    properties: {
      severity: { type: 'string', enum: ['low', 'high'] },
      files: { type: 'array', items: { type: 'string' } },
      note: { type: 'string' },
      more: {
        type: 'object',
        properties: { count: { type: 'integer' }, any: {} },
        required: ['count', 'any'],
        additionalProperties: false,
      },
    },
    required: ['severity', 'files', 'more'],
    additionalProperties: false,
  })
  expect([answerOutputs(null), answerOutputs(['string'])]).toEqual([['text'], ['answer']])
})

test.each<[Json, string]>([
  ['text', "'text' is not a type"],
  [[], 'a list has one type'],
  [{}, 'at least one value'],
  [{ 'two words': 'string' }, 'is not a valid name for a value'],
  [3, 'write a type'],
])('%j is no shape', (shape, message) => {
  expect(answerFault(shape)).toContain(message)
})
