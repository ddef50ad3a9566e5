// For tests: holds every answer against the document that describes it. An answer nobody described is a fault of the route.

import { type Ajv2020 as Ajv, Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

import formats from 'ajv-formats'
import { type OpenApi, openApi, type Response } from './api-docs/openapi.ts'
import { normalPath } from './app.ts'
import type { ListedRoute } from './route.ts'

/** What came back; `body` is read when it is JSON. */
export interface Came {
  readonly status: number
  readonly type: string
  readonly body: unknown
  readonly headers?: Headers
}

/** Throws, with what is wrong, when the document does not describe it. */
export function validateAnswer(document: OpenApi, method: string, path: string, came: Came): void {
  const { status, body } = came
  if (method === 'HEAD' || status === 304) return
  const type = came.type.split(';', 1)[0]!.trim()
  const say = (what: string): Error => new Error(`${method} ${path} answered ${status}: ${what}`)
  if (status >= 400 && type === 'application/problem+json') {
    const fault = faultOf(document, ['components', 'schemas', 'Problem'], body)
    if (fault !== null) throw say(`the problem document is not one: ${fault}`)
    return
  }
  const template = templateFor(document, method, normalPath(path))
  if (template === null) throw say('there is no such route, and it is no problem document')
  const at = ['paths', template, method.toLowerCase(), 'responses', String(status)]
  const response = document.paths[template]![method.toLowerCase()]!.responses[status] as Response | undefined
  if (response === undefined) throw say('the route has no such status among its answers')
  const misled = headerFault(method, response, came)
  if (misled !== null) throw say(misled)
  if (type === '') {
    if (response.content !== undefined) throw say('the route says that there is a body')
    return
  }
  if (response.content?.[type] === undefined)
    throw say(
      `the route describes no ${type} (it has ${Object.keys(response.content ?? {}).join(', ') || 'no body'}); add \`body\`, or \`type\` for what is not JSON`,
    )
  if (!/[/+]json$/.test(type)) return
  const fault = faultOf(document, [...at, 'content', type, 'schema'], body)
  if (fault !== null) throw say(`the body is not as described: ${fault}\n${JSON.stringify(body)?.slice(0, 2_000)}`)
}

/** What the route says of its headers is so, and nothing else is. */
function headerFault(method: string, { headers: told = {} }: Response, { status, type, headers }: Came): string | null {
  if (headers === undefined) return null
  const says = (name: string): boolean => told[name] !== undefined
  if (status === 201 && headers.get('location') === null) return 'it does not say where it is'
  if (headers.has('etag') && !says('ETag')) return 'it has an ETag that the route does not tell of; add `tag: true`'
  const isShown = method === 'GET' && /[/+]json\b/.test(type)
  if (isShown && says('ETag') && !headers.has('etag')) return 'the route says that there is an ETag'
  if (headers.has('idempotency-replayed') && !says('Idempotency-Replayed')) return 'nobody told of Idempotency-Replayed'
  return null
}

const documents = new WeakMap<readonly ListedRoute[], OpenApi>()

/** The document of a table, made once. */
export function documentOf(routes: readonly ListedRoute[]): OpenApi {
  const known = documents.get(routes) ?? openApi(routes, { version: '0.0.0-test' })
  documents.set(routes, known)
  return known
}

/** The path of the document that is meant: words go before parameters. */
function templateFor(document: OpenApi, method: string, path: string): string | null {
  const parts = path.split('/')
  const fits = Object.keys(document.paths).filter(template => {
    const words = template.split('/')
    if (words.length !== parts.length || document.paths[template]![method.toLowerCase()] === undefined) return false
    return words.every((word, index) => (word.startsWith('{') ? parts[index] !== '' : word === parts[index]))
  })
  return (
    fits.sort((a, b) =>
      a.replaceAll(/\{\w+\}/g, '\u{10ffff}') < b.replaceAll(/\{\w+\}/g, '\u{10ffff}') ? -1 : 1,
    )[0] ?? null
  )
}

const validators = new WeakMap<OpenApi, { readonly ajv: Ajv; readonly known: Map<string, ValidateFunction> }>()

function faultOf(document: OpenApi, at: readonly string[], body: unknown): string | null {
  let held = validators.get(document)
  if (held === undefined) {
    const ajv = new Ajv2020({ strict: false, allErrors: false, validateSchema: false })
    formats.default(ajv)
    ajv.addFormat('base64', true)
    ajv.addSchema(document as object, 'document')
    held = { ajv, known: new Map() }
    validators.set(document, held)
  }
  const pointer = at.map(part => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')
  let validate = held.known.get(pointer)
  if (validate === undefined) {
    validate = held.ajv.compile({ $ref: `document#/${pointer}` })
    held.known.set(pointer, validate)
  }
  if (validate(body)) return null
  return (validate.errors ?? [])
    .slice(0, 5)
    .map(({ instancePath, message, params }) => `${instancePath || 'it'} ${message} ${JSON.stringify(params)}`)
    .join('; ')
}
