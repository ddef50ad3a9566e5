// The table of routes as an OpenAPI 3.1 document. Everything in it comes from the values that also route, check and guard, so that
// it cannot say anything else than what is done.

import type { Json, JsonObject } from '../domain/json.ts'
import { openComponents } from './openapi-components.ts'
import { PROBLEM, PROBLEM_RESPONSES } from './openapi-problems.ts'
import { operationId } from './operation-id.ts'
import type { AnyRoute, Route } from './route.ts'

export interface OpenApi {
  readonly openapi: '3.1.0'
  readonly info: JsonObject
  readonly servers: readonly JsonObject[]
  readonly tags: readonly { readonly name: string }[]
  readonly security: readonly JsonObject[]
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: { readonly [kind: string]: JsonObject }
}

/** One route. */
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

type Loose = Route<unknown, unknown>

const ABOUT = [
  'Plans that survive crashes, with gates, checkpoints and a journal.',
  'Every path is answered at `/` and under `/api`, with and without a slash at the end.',
  'Errors are problem documents (RFC 9457) with a `hint`. Lists are `{items, next}`; hand `next` back as `cursor`.',
].join(' ')

export function openApi(routes: readonly AnyRoute[], { version }: { readonly version: string }): OpenApi {
  const components = openComponents()
  const paths: Record<string, Record<string, Operation>> = {}
  for (const route of routes as readonly unknown[] as readonly Loose[]) {
    const path = templateOf(route.path)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, components) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Planfold', version, description: ABOUT },
    servers: [{ url: '/' }, { url: '/api', description: 'the same' }],
    tags: [...new Set(routes.map(({ noun }) => noun))].map(name => ({ name })),
    security: [{ token: [] }, { cookie: [] }, { secureCookie: [] }],
    paths,
    components: {
      schemas: { ...components.all(), Problem: PROBLEM },
      responses: PROBLEM_RESPONSES,
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'The token of `planfold serve`, or one made for somebody.',
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

/** `/plans/:plan` as `/plans/{plan}`. */
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
  sha256: 'The SHA-256 of the bytes: 64 lower-case hexadecimal digits.',
  name: 'The name of whom the token is for.',
  id: 'The id of something that waits, as the inbox has it.',
}

function queryParameters({ query }: Loose, components: ReturnType<typeof openComponents>): readonly Parameter[] {
  if (query === undefined) return []
  const described = components.inline(query, 'input')
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
  const { body, texts = [] } = route
  if (body === undefined && texts.length === 0) return {}
  const content: Record<string, { schema?: JsonObject }> = {}
  if (body !== undefined) content['application/json'] = { schema: components.use(body, 'input') }
  for (const type of texts) content[type] = { schema: { type: 'string' } }
  // Left out, it is read as `{}`.
  return { requestBody: { required: body === undefined || !body.read({}).ok, content } }
}

function answersOf(
  { method, answers, once }: Loose,
  components: ReturnType<typeof openComponents>,
): Operation['responses'] {
  const responses: Record<string, Response> = {}
  for (const [status, { about, body, type, texts = [], tag }] of Object.entries(answers)) {
    const content: { [type: string]: { readonly schema?: JsonObject } } = {}
    if (body !== undefined) content[type ?? 'application/json'] = { schema: components.use(body, 'output') }
    else if (type !== undefined) content[type] = { schema: { type: 'string' } }
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
  const told: readonly (readonly [boolean, number, string])[] = [
    [right !== 'nothing', 401, 'NotSignedIn'],
    [right !== 'nothing', 403, 'NotAllowed'],
    [path.includes(':'), 404, 'NotFound'],
    [method !== 'GET', 409, 'Conflict'],
    [takes, 422, 'NotValid'],
  ]
  const responses: Record<string, Response> = { default: { $ref: '#/components/responses/Problem' } }
  for (const [counts, status, name] of told)
    if (counts && answers[status] === undefined) responses[status] = { $ref: `#/components/responses/${name}` }
  return responses
}

/** Follows a reference within the document, once. */
export function resolved<T extends object>(document: OpenApi, value: T): T {
  const reference = (value as { readonly $ref?: unknown }).$ref
  if (typeof reference !== 'string') return value
  let at: Json | undefined = document as unknown as JsonObject
  for (const part of reference.replace(/^#\//, '').split('/')) at = (at as JsonObject | undefined)?.[unescaped(part)]
  return (at ?? {}) as T
}
const unescaped = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')
