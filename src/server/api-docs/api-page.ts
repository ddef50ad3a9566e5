// Renders the OpenAPI document as an HTML page. It is rendered on the server and loads nothing, so it works offline and cannot
// run scripts.

import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import { listOf, type OpenApi, type Operation, type Parameter, type Response, resolved, sample } from './openapi.ts'

// HTML that is safe by construction: the `html` template tag escapes every value that it did not produce itself.

interface Html {
  readonly html: string
}

type Piece = string | number | Html | readonly Html[]

function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  return { html: strings.reduce((made, text, at) => made + shown(pieces[at - 1]!) + text) }
}

function sentence(text: string): Html {
  const pieces = text.split(/`([^`]+)`/)
  return {
    html: pieces.map((piece, at) => (at % 2 === 1 ? `<code>${escaped(piece)}</code>` : escaped(piece))).join(''),
  }
}

function shown(piece: Piece): string {
  if (typeof piece === 'string' || typeof piece === 'number') return escaped(String(piece))
  return 'html' in piece ? piece.html : piece.map(({ html }) => html).join('')
}

const ENTITIES: { readonly [char: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, char => ENTITIES[char]!)

// Renders a JSON Schema as a tree of names, types, limits and required fields. A named schema is rendered once and linked
// elsewhere.

const NONE: Html = { html: '' }
const DEPTH_MAX = 12

function schemaTree(schema: JsonObject, depth = 0): Html {
  if (depth > DEPTH_MAX) return html`<code>…</code>`
  const head = html`${typeName(schema)}${about(schema)}`
  const inner = branchesOf(schema, depth)
  return inner.length === 0 ? head : html`${head}<ul>${inner}</ul>`
}

function branchesOf(schema: JsonObject, depth: number): readonly Html[] {
  if (schema.type === 'array' && isMap(schema.items))
    return isPlain(schema.items) ? [] : branchesOf(schema.items, depth)
  const choices = choicesOf(schema)
  const all = listOf(schema.allOf)
  return [
    ...propertiesOf(schema).map(([name, one, isRequired]) =>
      branch(html`<code class="name">${name}</code>${must(isRequired)}`, one, depth),
    ),
    ...(isMap(schema.additionalProperties) && Object.keys(schema.additionalProperties).length > 0
      ? [branch(html`<em>any other name</em>`, schema.additionalProperties, depth)]
      : []),
    ...(choices.every(isPlain) ? [] : choices.map(one => branch(html`<em>or</em>`, one, depth))),
    ...all.map(one => branch(html`<em>and</em>`, one, depth)),
  ]
}

const branch = (name: Html, schema: JsonObject, depth: number): Html =>
  html`<li>${name} ${schemaTree(schema, depth + 1)}</li>`
const must = (isRequired: boolean): Html => (isRequired ? html`<b title="required">*</b>` : NONE)

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
    return isMap(schema.items) ? html`<i>list of</i> ${typeName(schema.items)}` : html`<i>list</i>`
  if (typeof schema.type === 'string') return html`<i>${schema.type}</i>${limits(schema)}`
  return schema.allOf === undefined ? html`<i>anything</i>` : html`<i>all of</i>`
}

const LIMITS = ['format', 'minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'pattern', 'default']

function limits(schema: JsonObject): Html {
  // The limits of the number type itself carry no information.
  const bounds = LIMITS.filter(
    key => schema[key] !== undefined && Math.abs(Number(schema[key])) !== Number.MAX_SAFE_INTEGER,
  )
  if (bounds.length === 0) return NONE
  return html` <small>${bounds.map(key => `${key} ${textOf(schema[key]!)}`).join(', ')}</small>`
}

const about = (schema: JsonObject): Html =>
  typeof schema.description === 'string' ? html` <span>${sentence(schema.description)}</span>` : NONE

const joined = (pieces: readonly Html[]): Html =>
  pieces.length === 0 ? NONE : pieces.reduce((made, one) => html`${made} or ${one}`)

function propertiesOf(schema: JsonObject): readonly (readonly [string, JsonObject, boolean])[] {
  const required = (schema.required ?? []) as readonly string[]
  const properties = isMap(schema.properties) ? schema.properties : {}
  return Object.entries(properties).map(([name, one]) => [name, isMap(one) ? one : {}, required.includes(name)])
}

const choicesOf = (schema: JsonObject): readonly JsonObject[] => [...listOf(schema.anyOf), ...listOf(schema.oneOf)]

function isPlain(schema: JsonObject): boolean {
  if (schema.$ref !== undefined) return true
  if (schema.properties !== undefined || schema.allOf !== undefined || schema.description !== undefined) return false
  return (!isMap(schema.items) || isPlain(schema.items)) && choicesOf(schema).every(isPlain)
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

export interface Page {
  readonly text: string
  readonly policy: string
}

/** Renders section by section and yields in between, so that other requests are answered meanwhile. */
export async function apiPage(document: OpenApi): Promise<Page> {
  const nouns = document.tags.map(({ name }) => name)
  const operations: { readonly tags: readonly string[]; readonly block: Html }[] = []
  for (const each of operationsOf(document)) {
    operations.push({ tags: each.operation.tags, block: operationBlock(document, each) })
    await setImmediate()
  }
  const schemas: Html[] = []
  for (const [name, schema] of Object.entries(document.components.schemas ?? {})) {
    schemas.push(
      html`<details id="schema-${name}"><summary><code>${name}</code></summary><div>${schemaTree(schema as never)}</div></details>`,
    )
    await setImmediate()
  }
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Planfold: routes</title>
<style>${{ html: STYLE }}</style></head><body>
<header><h1>Planfold <small>${String(document.info.version)}</small></h1><p>${sentence(String(document.info.description))}</p>
<p>For programs: <a href="/openapi.json">openapi.json</a>. Send a token as <code>Authorization: Bearer …</code>; a browser that opened the printed link is known by its cookie.</p></header>
<nav>${nouns.map(noun => html`<a href="#${noun}">${noun}</a> `)}<a href="#schemas">schemas</a></nav>
<main>${nouns.map(
    noun =>
      html`<section id="${noun}"><h2>${noun}</h2>${operations
        .filter(({ tags }) => tags.includes(noun))
        .map(({ block }) => block)}</section>`,
  )}
<section id="schemas"><h2>schemas</h2>${schemas}</section></main></body></html>
`
  return { text: page.html, policy: POLICY }
}

interface Listed {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

function operationsOf({ paths }: OpenApi): readonly Listed[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
}

const RIGHTS: { readonly [right: string]: string } = {
  nothing: 'anybody',
  read: 'viewer',
  inspect: 'operator or approver',
  operate: 'operator',
  decide: 'approver',
  administer: 'admin',
}

function operationBlock(document: OpenApi, listed: Listed): Html {
  const { method, path, operation } = listed
  const { parameters = [], requestBody, responses } = operation
  return html`<details id="${operation.operationId}"><summary><b class="${method}">${method}</b> <code>${path}</code> <span>${sentence(operation.summary)}</span></summary><div>
<p>For: ${RIGHTS[operation['x-right']] ?? operation['x-right']}</p>
${parameters.length === 0 ? '' : html`<h3>Parameters</h3><ul>${parameters.map(parameterLine)}</ul>`}
${
  requestBody === undefined
    ? ''
    : html`<h3>Body${requestBody.required ? '' : ' (may be left out)'}</h3>${Object.entries(requestBody.content).map(
        ([type, { schema = {} }]) => html`<div><code>${type}</code> ${schemaTree(schema)}</div>`,
      )}`
}
<h3>Answers</h3><ul>${Object.entries(responses).map(([status, response]) => responseLine(document, status, response))}</ul>
<h3>Try it</h3><pre>${curl(document, listed)}</pre></div></details>`
}

const parameterLine = ({ name, in: place, required, description = '', schema }: Parameter): Html =>
  html`<li><code class="name">${name}</code>${required ? html`<b title="required">*</b>` : ''} <small>${place}</small> ${schemaTree(schema)} <span>${sentence(description)}</span></li>`

function responseLine(document: OpenApi, status: string, response: Response): Html {
  const { description = '', content = {} } = resolved(document, response)
  const bodies = Object.entries(content).map(
    ([type, { schema = {} }]) => html`<div><code>${type}</code> ${schemaTree(schema)}</div>`,
  )
  return html`<li><b>${status}</b> <span>${sentence(description)}</span>${bodies}</li>`
}

function curl(document: OpenApi, { method, path, operation }: Listed): string {
  const { parameters = [], requestBody } = operation
  const asked = parameters
    .filter(({ in: place, required }) => place === 'query' && required)
    .map(({ name, schema }) => `${name}=${encodeURIComponent(String(sample(document, schema)))}`)
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${name.replaceAll(/\W/g, '_').toUpperCase()}`)
  const schema = requestBody?.content['application/json']?.schema
  const words = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} "$URL${filled}${asked.length === 0 ? '' : `?${asked.join('&')}`}"`,
    ...(operation['x-right'] === 'nothing' ? [] : [`-H "Authorization: Bearer $TOKEN"`]),
    ...(schema === undefined
      ? []
      : [
          `-H 'Content-Type: application/json'`,
          `-d '${JSON.stringify(sample(document, schema)).replaceAll("'", "'\\''")}'`,
        ]),
  ]
  return words.join(' \\\n  ')
}

const STYLE = `:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:0 auto;padding:0 1rem 4rem}
h1 small{font-weight:400;font-size:.6em}h2{margin:2rem 0 .5rem;border-bottom:1px solid #8886}h3{margin:.8rem 0 .2rem;font-size:1em}
nav{position:sticky;top:0;padding:.5rem 0;background:Canvas}nav a{margin-right:.6rem}details{margin:.2rem 0}details>div{margin:.2rem 0 1rem 1.2rem}
summary{cursor:pointer}summary span,small,li>span{opacity:.75}code,pre{font-family:ui-monospace,monospace;font-size:.92em}pre{padding:.6rem;overflow:auto;border:1px solid #8886;border-radius:4px}
ul{margin:.1rem 0;padding-left:1.2rem}p{margin:.2rem 0}b.GET{color:#2a7}b.POST{color:#27c}b.PATCH,b.PUT{color:#a60}b.DELETE{color:#c33}.name{font-weight:600}`

const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
