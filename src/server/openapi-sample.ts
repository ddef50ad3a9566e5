// Something that fits a schema, to show how it is asked: what must be there, and examples where there are any.

import type { Json, JsonObject } from '../domain/json.ts'
import { type OpenApi, resolved } from './openapi.ts'

const DEPTH_MAX = 4

export function sample(document: OpenApi, described: JsonObject, depth = 0): Json {
  const schema = resolved(document, described)
  if (Array.isArray(schema.examples) && schema.examples.length > 0) return schema.examples[0] as Json
  if (schema.default !== undefined) return schema.default
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return (schema.enum[0] ?? null) as Json
  if (depth > DEPTH_MAX) return null
  const choice = firstOf(schema.anyOf) ?? firstOf(schema.oneOf)
  if (choice !== null) return sample(document, choice, depth)
  const parts = listOf(schema.allOf)
  if (parts.length > 0) return Object.assign({}, ...parts.map(part => sample(document, part, depth))) as JsonObject
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'object':
      return objectOf(document, schema, depth)
    case 'array':
      return (schema.minItems as number | undefined) === undefined ? [] : [itemOf(document, schema, depth)]
    case 'string':
      return textFor(schema)
    case 'integer':
    case 'number':
      return typeof schema.minimum === 'number' ? Math.max(schema.minimum, 1) : 1
    case 'boolean':
      return true
    default:
      return null
  }
}

/** Tried in this order where a pattern must be met. */
const WORDS = ['…', 'name', '0'.repeat(64), '1', '30m', '2 USD', '2026-01-31T12:00:00Z', 'https://example.org/']

function textFor({ format, pattern, minLength }: JsonObject): string {
  const known = typeof format === 'string' ? FORMATS[format] : undefined
  if (known !== undefined || typeof pattern !== 'string')
    return known ?? '…'.repeat(Math.max(1, Number(minLength ?? 1)))
  return WORDS.find(word => new RegExp(pattern, 'u').test(word)) ?? '…'
}

const FORMATS: { readonly [format: string]: string } = {
  'date-time': '2026-01-31T12:00:00.000Z',
  date: '2026-01-31',
  uuid: '018f3a5b-0000-7000-8000-000000000000',
  uri: 'https://example.org/',
}

function objectOf(document: OpenApi, schema: JsonObject, depth: number): JsonObject {
  const properties = (schema.properties ?? {}) as { readonly [name: string]: JsonObject }
  const required = (schema.required ?? []) as readonly string[]
  // Where nothing must be there, the first few show what may be.
  const names = required.length > 0 ? required : depth === 0 ? Object.keys(properties).slice(0, 3) : []
  const made: Record<string, Json> = {}
  for (const name of names) made[name] = sample(document, properties[name] ?? {}, depth + 1)
  return made
}

const itemOf = (document: OpenApi, schema: JsonObject, depth: number): Json =>
  sample(document, (schema.items ?? {}) as JsonObject, depth + 1)

const listOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly JsonObject[]) : []
const firstOf = (value: Json | undefined): JsonObject | null => listOf(value)[0] ?? null
