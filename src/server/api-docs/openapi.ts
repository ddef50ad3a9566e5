// The OpenAPI document, made from the table of routes.

import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { Schema } from '../../format/wire/wire.ts'
import type { ListedRoute, Route } from '../route.ts'
import { operationId } from './operation-id.ts'

// Collects the schemas that get a name in `components`.

interface Components {
  /** For request schemas: a reference if the schema has a name, otherwise the schema itself. */
  use(schema: Schema<unknown>): JsonObject
  inline(schema: Schema<unknown>): JsonObject
  /** For answer types: a reference by type name. */
  answer(name: string): JsonObject
  all(): { readonly [name: string]: JsonObject }
}

function openComponents(answers: AnswerSchemas): Components {
  /** The JSON text stored under each name; the names of answer types are reserved first. */
  const texts = new Map(Object.keys(answers).map(name => [name, name === 'Json' ? ANY_JSON : '']))
  const schemas = new Map<string, JsonObject>()

  /** The name, or `NameInput`, `NameInput2` … if another schema has it. Equal schemas share a name. */
  const reserve = (wanted: string, text: string): string => {
    for (let count = 0; ; count++) {
      const name = count === 0 ? wanted : `${wanted}Input${count === 1 ? '' : count}`
      if ((texts.get(name) ?? text) !== text) continue
      texts.set(name, text)
      return name
    }
  }

  /** Reserves all names before storing anything, because definitions may refer to each other and to the root. */
  const take = (schema: Schema<unknown>, name: string | null): JsonObject => {
    const { $defs, ...described } = schema.describe()
    const defined = Object.entries(($defs ?? {}) as { readonly [name: string]: JsonObject })
    const text = JSON.stringify(described)
    const own = name ?? (text.includes('"$ref":"#"') ? partName(text) : null)
    const whole = own === null ? null : reserve(own, text)
    const names = new Map<string, string>(whole === null ? [] : [['#', whole]])
    for (const [each, one] of defined) {
      // References between definitions are normalised, so that equal schemas are recognised.
      const target = JSON.stringify(one).replaceAll(`"#/$defs/${each}"`, '"#"')
      const wanted = target === ANY_JSON ? 'Json' : each.startsWith('__') ? partName(target) : each
      names.set(`#/$defs/${each}`, reserve(wanted, target))
    }
    for (const [each, one] of defined) {
      const named = names.get(`#/$defs/${each}`)!
      schemas.set(named, named === 'Json' ? ANYTHING : renamed(one, names))
    }
    if (whole === null) return renamed(described, names)
    schemas.set(whole, renamed(described, names))
    return { $ref: `#/components/schemas/${whole}` }
  }

  const answer = (name: string): JsonObject => {
    const schema = answers[name]
    assert(schema !== undefined, `format/wire/answers exports no type '${name}': build again if it is new`)
    if (!schemas.has(name)) {
      schemas.set(name, schema)
      for (const [, part] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/(\w+)"/g)) answer(part!)
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  return {
    use: schema => take(schema, schema.name),
    inline: schema => take(schema, null),
    answer,
    all: () => Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** Written as an open schema: as a recursive union, generated client types would not compile. */
const ANYTHING: JsonObject = { description: 'Any JSON value.' }

const ANY_JSON = JSON.stringify({
  anyOf: [
    { type: 'string' },
    { type: 'number' },
    { type: 'boolean' },
    { type: 'null' },
    { type: 'array', items: { $ref: '#' } },
    { type: 'object', propertyNames: { type: 'string' }, additionalProperties: { $ref: '#' } },
  ],
})

function partName(text: string): string {
  let hash = 5381
  for (const char of text) hash = ((hash * 33) ^ char.codePointAt(0)!) >>> 0
  return `Part${hash.toString(36)}`
}

function renamed<T extends Json>(value: T, names: ReadonlyMap<string, string>): T {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(item => renamed(item as Json, names)) as unknown as T
  const made: Record<string, Json> = {}
  for (const [key, inner] of Object.entries(value as JsonObject)) {
    const name = key === '$ref' && typeof inner === 'string' ? names.get(inner) : undefined
    made[key] = name === undefined ? renamed(inner, names) : `#/components/schemas/${name}`
  }
  return made as unknown as T
}

const CONTENT: JsonObject = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }

const PROBLEM_RESPONSES: JsonObject = {
  NotSignedIn: { description: 'There is no token, or not one that is known.', content: CONTENT },
  NotAllowed: { description: 'The role of this token does not reach so far.', content: CONTENT },
  NotFound: { description: 'There is no such thing, or it is out of reach for this token.', content: CONTENT },
  Conflict: {
    description: 'It cannot be done as things stand; `allowed` says what can, where that is known.',
    content: CONTENT,
  },
  NotValid: { description: 'What was sent does not fit; `faults` says where.', content: CONTENT },
  Problem: { description: 'What went wrong.', content: CONTENT },
}

// Builds the OpenAPI 3.1 document. It reads the same route values that drive routing, checks and the guard, so the two cannot
// disagree.

export interface OpenApi {
  readonly openapi: '3.1.0'
  readonly info: JsonObject
  readonly servers: readonly JsonObject[]
  readonly tags: readonly { readonly name: string }[]
  readonly security: readonly JsonObject[]
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: { readonly [kind: string]: JsonObject }
}

export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly 'x-right': string
  readonly security?: readonly JsonObject[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: { readonly [status: string]: Response }
}
export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonObject
}
export type Content = { readonly [type: string]: { readonly schema?: JsonObject } }
export interface Response {
  readonly $ref?: string
  readonly description?: string
  readonly headers?: JsonObject
  readonly content?: Content
}

type Loose = Route<unknown, unknown> & Pick<ListedRoute, 'noun'>

const ABOUT = [
  'Plans that survive crashes, with gates, checkpoints and a journal.',
  'Every path is answered at `/` and under `/api`, with and without a slash at the end.',
  'Errors are problem documents (RFC 9457) with a `hint`. Lists are `{items, next}`; hand `next` back as `cursor`.',
].join(' ')

interface About {
  readonly version: string
  /** Default: the schemas of the build. */
  readonly answers?: AnswerSchemas
}

export function openApi(routes: readonly ListedRoute[], about: About): OpenApi {
  const making = makeOpenApi(routes, about)
  for (let step = making.next(); ; step = making.next()) if (step.done === true) return step.value
}

/** Yields after each route: the whole document takes half a second, which would block other requests. */
export async function openApiSlowly(routes: readonly ListedRoute[], about: About): Promise<OpenApi> {
  const making = makeOpenApi(routes, about)
  for (let step = making.next(); ; step = making.next()) {
    if (step.done === true) return step.value
    await setImmediate()
  }
}

function* makeOpenApi(routes: readonly ListedRoute[], { version, answers }: About): Generator<void, OpenApi> {
  const components = openComponents(answers ?? answerSchemas())
  components.answer('Problem')
  const paths: Record<string, Record<string, Operation>> = {}
  for (const route of routes as readonly unknown[] as readonly Loose[]) {
    const path = templateOf(route.path)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, components) }
    yield
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Planfold', version, description: ABOUT },
    servers: [{ url: '/' }, { url: '/api', description: 'the same' }],
    tags: [...new Set(routes.map(({ noun }) => noun))].map(name => ({ name })),
    security: [{ token: [] }, { cookie: [] }, { secureCookie: [] }],
    paths,
    components: {
      schemas: components.all(),
      responses: PROBLEM_RESPONSES,
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'The token the service made for its owner, or one made for somebody.',
        },
        cookie: cookie(
          'planfold_session_8011',
          'What a browser gets for the code in the printed link; its name ends with the port of the address.',
        ),
        secureCookie: cookie('__Host-planfold_session_443', 'The same, over TLS.'),
      },
    },
  }
}

const cookie = (name: string, description: string): JsonObject => ({ type: 'apiKey', in: 'cookie', name, description })

export const templateOf = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}')

function operationOf(route: Loose, components: ReturnType<typeof openComponents>): Operation {
  const parameters = [...pathParameters(route), ...queryParameters(route, components), ...headerParameters(route)]
  const isOpen = route.right === 'nothing'
  return {
    operationId: operationId(route),
    tags: [route.noun],
    summary: route.about,
    'x-right': route.right,
    ...(isOpen ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...bodyOf(route, components),
    responses: { ...answersOf(route, components), ...problemsOf(route) },
  }
}

function pathParameters({ path }: Loose): readonly Parameter[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    ...(PARAMETERS[name!] === undefined ? {} : { description: PARAMETERS[name!]! }),
    schema: { type: 'string' },
  }))
}

const PARAMETERS: { readonly [name: string]: string } = {
  plan: 'A plan: its UUID or its name.',
  task: 'A task: its UUID, `plan:task`, or its name where the plan is said.',
  session: 'The id of a session.',
  goal: 'The id of a goal.',
  gate: 'The name of the task that asks.',
  question: 'The id of a question that was asked in the middle of work.',
  proposal: 'The id of a proposal.',
  revision: 'The number of a revision, from 1.',
  template: 'The name of a template.',
  artifact: 'The name of an artifact.',
  sha256: 'The SHA-256 of the bytes: 64 lower-case hexadecimal digits.',
  name: 'The name of whom the token is for.',
  id: 'The id of something that waits, as the inbox has it.',
  place: 'A place of the page: `plans`, `inbox` or `new`.',
  of: 'The name of a plan, or the id of something that waits.',
  file: 'The name of a file, as the page names it.',
}

function queryParameters({ query }: Loose, components: ReturnType<typeof openComponents>): readonly Parameter[] {
  if (query === undefined) return []
  const described = components.inline(query)
  const required = (described.required ?? []) as readonly string[]
  return Object.entries((described.properties ?? {}) as { readonly [name: string]: JsonObject }).map(
    ([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      required: required.includes(name),
      ...(typeof description === 'string' ? { description } : {}),
      schema,
    }),
  )
}

function headerParameters({ method, path, headers = {}, answers, once }: Loose): readonly Parameter[] {
  const own = Object.entries(headers).map(
    ([name, description]): Parameter => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
    }),
  )
  const none: Parameter = {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'The ETag of what you have; 304 when it is still so.',
    schema: { type: 'string' },
  }
  const key: Parameter = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'Asked again with the same key, the first answer is given again and nothing is done twice.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
  }
  const match: Parameter = {
    name: 'If-Match',
    in: 'header',
    required: false,
    description: 'The ETag of the plan as it was seen; 409 when it has moved on.',
    schema: { type: 'string' },
  }
  return [
    ...own,
    ...(method === 'POST' && once !== false ? [key] : []),
    ...(method !== 'GET' && path.includes(':') ? [match] : []),
    ...(method === 'GET' && answers[200]?.tag === true ? [none] : []),
  ]
}

function bodyOf(route: Loose, components: ReturnType<typeof openComponents>): Pick<Operation, 'requestBody'> {
  const { body, texts = [], isRaw, method } = route
  if (isRaw === true && method !== 'GET')
    return { requestBody: { required: true, content: { 'application/json': { schema: AS_SENT } } } }
  if (body === undefined && texts.length === 0) return {}
  const content: Record<string, { schema?: JsonObject }> = {}
  if (body !== undefined) content['application/json'] = { schema: components.use(body) }
  for (const type of texts) content[type] = { schema: { type: 'string' } }
  // A missing body is read as `{}`.
  return { requestBody: { required: body === undefined || !body.read({}).ok, content } }
}

const AS_SENT: JsonObject = { description: 'As the protocol says.' }

function answersOf(
  { method, answers, once, isRaw }: Loose,
  components: ReturnType<typeof openComponents>,
): Operation['responses'] {
  const responses: Record<string, Response> = {}
  for (const [status, { about, body, type, texts = [], tag }] of Object.entries(answers)) {
    const content: { [type: string]: { readonly schema?: JsonObject } } = {}
    if (body !== undefined) content[type ?? 'application/json'] = { schema: components.answer(body) }
    else if (type !== undefined) content[type] = { schema: isRaw === true ? AS_SENT : { type: 'string' } }
    for (const text of texts) content[text] = { schema: { type: 'string' } }
    responses[status] = {
      description: about,
      ...headersOf({
        ...(status === '201' ? { Location: LOCATION } : {}),
        ...(tag === true ? { ETag: TAG } : {}),
        ...(method === 'POST' && once !== false ? { 'Idempotency-Replayed': REPLAYED } : {}),
      }),
      ...(Object.keys(content).length === 0 ? {} : { content }),
    }
  }
  if (method === 'GET' && answers[200]?.tag === true)
    responses[304] = { description: 'it is still as you have it', ...headersOf({ ETag: TAG }) }
  return responses
}

const headersOf = (headers: JsonObject): Pick<Response, 'headers'> =>
  Object.keys(headers).length === 0 ? {} : { headers }
const LOCATION: JsonObject = { description: 'Where it is now.', required: true, schema: { type: 'string' } }
const TAG: JsonObject = { description: 'The version of what is shown, for If-Match.', schema: { type: 'string' } }
const REPLAYED: JsonObject = {
  description: '`true` when this was done before under the same key, and is only told again.',
  schema: { type: 'string', enum: ['true'] },
}

function problemsOf({ right, path, query, body, method, answers }: Loose): Operation['responses'] {
  const takes = query !== undefined || body !== undefined
  const problems: readonly (readonly [boolean, number, string])[] = [
    [right !== 'nothing', 401, 'NotSignedIn'],
    [right !== 'nothing', 403, 'NotAllowed'],
    [path.includes(':'), 404, 'NotFound'],
    [method !== 'GET', 409, 'Conflict'],
    [takes, 422, 'NotValid'],
  ]
  const responses: Record<string, Response> = { default: { $ref: '#/components/responses/Problem' } }
  for (const [counts, status, name] of problems)
    if (counts && answers[status] === undefined) responses[status] = { $ref: `#/components/responses/${name}` }
  return responses
}

export function resolved<T extends object>(document: OpenApi, value: T): T {
  const reference = (value as { readonly $ref?: unknown }).$ref
  if (typeof reference !== 'string') return value
  let at: Json | undefined = document as unknown as JsonObject
  for (const part of reference.replace(/^#\//, '').split('/')) at = (at as JsonObject | undefined)?.[unescaped(part)]
  return (at ?? {}) as T
}
const unescaped = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')

// Makes an example value for a schema: required fields, and given examples where there are any.

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

/** Candidates for a string with a pattern, tried in this order. */
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
  // If nothing is required, the first few optional fields serve as the example.
  const names = required.length > 0 ? required : depth === 0 ? Object.keys(properties).slice(0, 3) : []
  const made: Record<string, Json> = {}
  for (const name of names) made[name] = sample(document, properties[name] ?? {}, depth + 1)
  return made
}

const itemOf = (document: OpenApi, schema: JsonObject, depth: number): Json =>
  sample(document, (schema.items ?? {}) as JsonObject, depth + 1)

export const listOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly JsonObject[]) : []
const firstOf = (value: Json | undefined): JsonObject | null => listOf(value)[0] ?? null

// Loads the JSON Schemas of the answers. They are generated from the types in format/wire/answers during the build
// (scripts/answer-schemas.mjs).

type AnswerSchemas = { readonly [name: string]: JsonObject }

/** Found relative to the package root, because bundling moves this file. */
export function answerSchemas(): AnswerSchemas {
  const root = dirname(createRequire(import.meta.url).resolve('planfold/package.json'))
  return JSON.parse(readFileSync(join(root, 'dist/answer-schemas.json'), 'utf8')) as AnswerSchemas
}
