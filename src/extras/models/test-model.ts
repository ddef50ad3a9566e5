// Tests a model with one small question that is answered in JSON: key, name, protocol and structured output at once.

import type { Failure } from '../../domain/result.ts'
import type { ModelCost, Models, ModelUsage } from '../../runners/models.ts'

export type ModelTest =
  | {
      readonly ok: true
      readonly model: string
      readonly answer: string
      readonly durationMs: number
      readonly calls: number
      readonly usage: ModelUsage
      readonly cost: ModelCost
    }
  | { readonly ok: false; readonly model: string | null; readonly failure: Failure; readonly calls: number }

const CAPS = { calls: 3, tokens: 20_000 }
const OUTPUT_TOKENS_MAX = 2_048

export async function testModel(
  models: Models,
  options: { readonly use?: string; readonly now: () => number; readonly signal?: AbortSignal },
): Promise<ModelTest> {
  const { use, now, signal } = options
  const opened = await models.open({ use, purpose: 'test', caps: CAPS })
  if (!opened.ok) return { ok: false, model: use ?? null, failure: opened.failure, calls: 0 }
  const { model } = opened
  const began = now()
  const answer = await model.object({
    messages: [{ role: 'user', text: 'Answer with one English word in "word": the opposite of "no".' }],
    schema: {
      type: 'object',
      properties: { word: { type: 'string' } },
      required: ['word'],
      additionalProperties: false,
    },
    outputTokensMax: OUTPUT_TOKENS_MAX,
    signal,
  })
  const { calls, usage, cost } = answer
  if (!answer.ok) return { ok: false, model: model.name, failure: answer.failure, calls }
  const { word } = answer.value as { readonly word: string }
  return { ok: true, model: model.name, answer: word, durationMs: now() - began, calls, usage, cost }
}
