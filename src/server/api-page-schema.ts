// A JSON Schema as a tree people can read: names, types, limits, what must be there. What has a name is told once and linked.

import type { Json, JsonObject } from '../domain/json.ts'
import { type Html, html, sentence } from './html.ts'

const NONE: Html = { html: '' }
const DEPTH_MAX = 12

export function schemaTree(schema: JsonObject, depth = 0): Html {
  if (depth > DEPTH_MAX) return html`<code>…</code>`
  const head = html`${typeName(schema)}${about(schema)}`
  const inner = branchesOf(schema, depth)
  return inner.length === 0 ? head : html`${head}<ul>${inner}</ul>`
}

function branchesOf(schema: JsonObject, depth: number): readonly Html[] {
  // What a list holds is told under it, without a level of its own.
  if (schema.type === 'array' && isObject(schema.items))
    return isPlain(schema.items) ? [] : branchesOf(schema.items, depth)
  const choices = choicesOf(schema)
  const all = listOf(schema.allOf)
  return [
    ...propertiesOf(schema).map(([name, one, isRequired]) =>
      branch(html`<code class="name">${name}</code>${must(isRequired)}`, one, depth),
    ),
    ...(isObject(schema.additionalProperties) && Object.keys(schema.additionalProperties).length > 0
      ? [branch(html`<em>any other name</em>`, schema.additionalProperties, depth)]
      : []),
    ...(choices.every(isPlain) ? [] : choices.map(one => branch(html`<em>or</em>`, one, depth))),
    ...all.map(one => branch(html`<em>and</em>`, one, depth)),
  ]
}

const branch = (name: Html, schema: JsonObject, depth: number): Html =>
  html`<li>${name} ${schemaTree(schema, depth + 1)}</li>`
const must = (isRequired: boolean): Html => (isRequired ? html`<b title="required">*</b>` : NONE)

/** In one line: `string`, `list of integer`, `'a' or 'b'`, a link. */
function typeName(schema: JsonObject): Html {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').at(-1)!
    return html`<a href="#schema-${name}">${name}</a>`
  }
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`
  if (Array.isArray(schema.enum))
    return joined((schema.enum as readonly Json[]).map(one => html`<code>${JSON.stringify(one)}</code>`))
  const choices = choicesOf(schema)
  if (choices.length > 0) return choices.every(isPlain) ? joined(choices.map(typeName)) : html`<i>one of</i>`
  if (Array.isArray(schema.type)) return joined((schema.type as readonly string[]).map(type => html`<i>${type}</i>`))
  if (schema.type === 'array')
    return isObject(schema.items) ? html`<i>list of</i> ${typeName(schema.items)}` : html`<i>list</i>`
  if (typeof schema.type === 'string') return html`<i>${schema.type}</i>${limits(schema)}`
  return schema.allOf === undefined ? html`<i>anything</i>` : html`<i>all of</i>`
}

const LIMITS = ['format', 'minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'pattern', 'default']

function limits(schema: JsonObject): Html {
  // Bounds of the number type itself say nothing.
  const told = LIMITS.filter(
    key => schema[key] !== undefined && Math.abs(Number(schema[key])) !== Number.MAX_SAFE_INTEGER,
  )
  if (told.length === 0) return NONE
  return html` <small>${told.map(key => `${key} ${textOf(schema[key]!)}`).join(', ')}</small>`
}

const about = (schema: JsonObject): Html =>
  typeof schema.description === 'string' ? html` <span>${sentence(schema.description)}</span>` : NONE

const joined = (pieces: readonly Html[]): Html =>
  pieces.length === 0 ? NONE : pieces.reduce((made, one) => html`${made} or ${one}`)

function propertiesOf(schema: JsonObject): readonly (readonly [string, JsonObject, boolean])[] {
  const required = (schema.required ?? []) as readonly string[]
  const properties = isObject(schema.properties) ? schema.properties : {}
  return Object.entries(properties).map(([name, one]) => [name, isObject(one) ? one : {}, required.includes(name)])
}

const choicesOf = (schema: JsonObject): readonly JsonObject[] => [...listOf(schema.anyOf), ...listOf(schema.oneOf)]

/** Fits into one line. */
function isPlain(schema: JsonObject): boolean {
  if (schema.$ref !== undefined) return true
  if (schema.properties !== undefined || schema.allOf !== undefined || schema.description !== undefined) return false
  return (!isObject(schema.items) || isPlain(schema.items)) && choicesOf(schema).every(isPlain)
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))
const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const listOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly JsonObject[]) : []
