// From what a model said to JSON that follows a schema, and what to tell the model when it does not.

import type { Json, JsonObject } from '../../domain/json.ts'
import { validateJson } from '../../format/expression/json-validation.ts'
import { RESERVED_KEYS } from '../../format/text/json.ts'

export type ReadAnswer =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly faults: readonly string[] }

const FAULTS_SHOWN = 12

export function readAnswer(
  text: string,
  schema: JsonObject,
  check: (value: Json) => readonly string[] = () => [],
): ReadAnswer {
  const value = jsonIn(text)
  if (value === undefined)
    return { ok: false, faults: [text.trim() === '' ? 'the answer is empty' : 'the answer is not JSON'] }
  const faults = validateJson(value, schema).map(({ at, message }) => `${at}: ${message}`)
  const wrong = faults.length > 0 ? faults : check(value)
  return wrong.length === 0 ? { ok: true, value } : { ok: false, faults: wrong.slice(0, FAULTS_SHOWN) }
}

/** The answer itself, or the block of JSON in it: models like to say something before and after. */
function jsonIn(text: string): Json | undefined {
  const trimmed = text.trim()
  const fenced = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/.exec(trimmed)?.[1]
  const from = trimmed.search(/[{[]/)
  const to = Math.max(trimmed.lastIndexOf('}'), trimmed.lastIndexOf(']'))
  for (const candidate of [trimmed, fenced, from < 0 ? undefined : trimmed.slice(from, to + 1)]) {
    const value = candidate === undefined ? undefined : parse(candidate)
    if (value !== undefined) return value
  }
  return undefined
}

/** Plain data only: a key that reaches into JavaScript's own objects makes it no JSON of ours. */
function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text, (key, value) => {
      if (RESERVED_KEYS.has(key)) throw new SyntaxError(key)
      return value
    })
  } catch {
    return undefined
  }
}

export function repairRequest(faults: readonly string[]): string {
  const lines = [
    'Your answer cannot be used:',
    ...faults.map(fault => `- ${fault}`),
    'Answer again, with the whole JSON and nothing else.',
  ]
  return lines.join('\n')
}
