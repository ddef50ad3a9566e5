// The request of a `model` task: which model, the shape of its answer, and its limits. The plan stores it as it was written (`spec`); plans
// of earlier releases may hold anything there.

import { isMap, type Json, type JsonObject } from '../json.ts'
import { type ActionFacts, type AnyAction, firstSentence, type SpecAction } from './action-facts.ts'

export interface ModelRequest {
  /** `provider/name`; null: the default of the plan or the user. */
  readonly use: string | null
  readonly system: string | null
  /** Null: text. */
  readonly answer: Json | null
  readonly outputTokens: number | null
  readonly caps: { readonly calls?: number; readonly tokens?: number; readonly usd?: number }
  /** It is asked up to so many times, and the verdict of the majority counts. Made for reviews, never written. */
  readonly votes: number
}

/** Null when this release does not understand the request. */
export function modelRequest(action: AnyAction & { readonly spec?: Json }): ModelRequest | null {
  if (action.type !== 'model') return null
  const { spec } = action as SpecAction<'model'>
  if (typeof spec === 'string') return { ...NOTHING, use: spec }
  if (!isMap(spec) || Object.keys(spec).some(key => !KEYS.has(key))) return null
  const { use = null, system = null, answer = null, output_tokens = null, caps = {}, votes = 1 } = spec
  if (!isText(use) || !isText(system) || !(output_tokens === null || typeof output_tokens === 'number')) return null
  if (!isMap(caps) || (answer !== null && answerFault(answer) !== null)) return null
  const { calls, tokens, cost } = caps
  const usd = typeof cost === 'string' ? Number.parseFloat(cost) : undefined
  return {
    use,
    system,
    answer,
    outputTokens: output_tokens,
    votes: typeof votes === 'number' ? votes : 1,
    caps: {
      ...(typeof calls === 'number' ? { calls } : {}),
      ...(typeof tokens === 'number' ? { tokens } : {}),
      ...(usd === undefined || Number.isNaN(usd) ? {} : { usd }),
    },
  }
}

const NOTHING: ModelRequest = { use: null, system: null, answer: null, outputTokens: null, caps: {}, votes: 1 }
const KEYS: ReadonlySet<string> = new Set(['use', 'system', 'answer', 'output_tokens', 'caps', 'votes'])

const isText = (value: Json): value is string | null => value === null || typeof value === 'string'

// The shape of an answer, as a plan file writes it: `{ severity: low | high, files: [string], note?: string }`.

const TYPES: ReadonlySet<string> = new Set(['string', 'number', 'integer', 'boolean', 'json'])
const KEY = /^[A-Za-z_][\w-]{0,99}\??$/
const DEPTH_MAX = 16

/** The fault of a shape, as a sentence; null when it is valid. */
export function answerFault(shape: Json, depth = 0): string | null {
  if (depth > DEPTH_MAX) return 'it is too deep'
  if (typeof shape === 'string') {
    if (TYPES.has(shape) || choicesOf(shape) !== null) return null
    return `'${shape.slice(0, 60)}' is not a type; write string, number, integer, boolean, json, or choices such as 'low | high'`
  }
  if (Array.isArray(shape))
    return shape.length === 1 ? answerFault(shape[0] as Json, depth + 1) : 'a list has one type, such as [string]'
  if (!isMap(shape)) return 'write a type, a list with one type, or a map of them'
  const keys = Object.keys(shape)
  if (keys.length === 0) return 'a map names at least one value'
  for (const key of keys) {
    if (!KEY.test(key)) return `'${key.slice(0, 60)}' is not a valid name for a value`
    const fault = answerFault(shape[key] as Json, depth + 1)
    if (fault !== null) return fault
  }
  return null
}

/** The JSON Schema sent to the model. `?` after a name makes the value optional. */
export function answerSchema(shape: Json): JsonObject {
  if (typeof shape === 'string') {
    if (shape === 'json') return {}
    return TYPES.has(shape) ? { type: shape } : { type: 'string', enum: choicesOf(shape) ?? [] }
  }
  if (Array.isArray(shape)) return { type: 'array', items: answerSchema(shape[0] as Json) }
  const entries = Object.entries(shape as JsonObject)
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([key, value]) => [bare(key), answerSchema(value)])),
    required: entries.flatMap(([key]) => (key.endsWith('?') ? [] : [key])),
    additionalProperties: false,
  }
}

/** The outputs of a task with this answer: the keys of a map, else `answer`, else `text`. */
export function answerOutputs(shape: Json | null): readonly string[] {
  if (shape === null) return ['text']
  return isMap(shape) ? Object.keys(shape).map(bare) : ['answer']
}

const bare = (key: string): string => (key.endsWith('?') ? key.slice(0, -1) : key)

function choicesOf(text: string): readonly string[] | null {
  if (!text.includes('|')) return null
  const choices = text.split('|').map(choice => choice.trim())
  return choices.every(choice => choice !== '') && new Set(choices).size === choices.length ? choices : null
}

export const MODEL: ActionFacts<SpecAction<'model'>> = {
  effect: () => 'model',
  network: 'declared',
  prompts: true,
  sends: 'models',
  words: 'asks a model',
  isSupported: action => modelRequest(action) !== null,
  fields: { spec: 'values' },
  outputs: ({ action }) => {
    const request = modelRequest(action)
    return request === null ? null : answerOutputs(request.answer)
  },
  line: task => `model: ${firstSentence(task)}`,
}
