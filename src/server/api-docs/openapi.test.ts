// The document says what the table does, and is one by its own specification; the page shows all of it and runs nothing.

import { createHash } from 'node:crypto'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { JsonObject } from '../../domain/json.ts'
import { wire } from '../../format/wire/wire.ts'
import { documentOf, validateAnswer } from '../answers.fixture.ts'
import { ok, route, under } from '../route.ts'
import { apiPage } from '../routes/api.ts'
import { listRoutes } from '../routes/route-list.ts'
import { type Served, served } from '../server.fixture.ts'
import { answerSchemas, type OpenApi, type Operation, openApi, openApiSlowly, sample } from './openapi.ts'

const ROUTES = await listRoutes()

let service: Served
beforeAll(async () => {
  service = await served()
})
afterAll(() => service.close())

const document = documentOf(ROUTES)
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
)

const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems']
const isSchema = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null

const KEYED: ReadonlySet<string> = new Set(
  ROUTES.filter(({ method, once }) => method === 'POST' && once !== false).map(
    ({ path }) => `POST ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
  ),
)

describe('the OpenAPI document', () => {
  test('is one by its own specification', async () => {
    const { status, body } = await service.ask('GET', '/openapi.json')
    expect(status).toBe(200)
    const checked = await new Validator().validate(body)
    expect(checked.errors ?? []).toEqual([])
    expect(checked.valid).toBe(true)
  })

  test('comes compressed to whoever takes that', async () => {
    const { headers } = await fetch(`${service.url}/openapi.json`, { headers: { 'accept-encoding': 'gzip' } })
    expect([headers.get('content-encoding'), Number(headers.get('content-length')) < 100_000]).toEqual(['gzip', true])
  })

  test('has every route, with the right it needs', () => {
    const told = operations.map(({ name, operation }) => `${name} ${operation['x-right']}`)
    const table = ROUTES.map(({ method, path, right }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')} ${right}`)
    expect(told.sort()).toEqual(table.sort())
  })

  test('names every operation once, by a verb and what it is done to', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([])
    expect(ids.filter(id => !/^[a-z]+(?:[A-Z][a-z]*)*$/.test(id) || /^(?:post|put|patch)|By[A-Z]/.test(id))).toEqual([])
    const named = Object.fromEntries(operations.map(({ name, operation }) => [name, operation.operationId]))
    expect(named).toMatchObject({
      'GET /plans': 'listPlans',
      'POST /plans': 'createPlan',
      'GET /plans/{plan}': 'getPlan',
      'PATCH /plans/{plan}': 'updatePlan',
      'DELETE /plans/{plan}': 'archivePlan',
      'POST /plans/{plan}/pause': 'pausePlan',
      'POST /tasks': 'createTask',
      'POST /tasks/{task}/claim': 'claimTask',
      'POST /plans/{plan}/gates/{gate}/push-back': 'pushBackPlanGate',
      'GET /plans/{plan}/analyze': 'analyzePlan',
      'GET /goals/{goal}': 'getGoal',
    })
  })

  test('no schema is part of itself but through a property, so that generated types compile', () => {
    const { schemas = {} } = document.components
    /** What a type is made of at once: a property of an object is looked at when it is needed. */
    const madeOf = (schema: JsonObject): readonly string[] => {
      const inner = [schema.items, schema.additionalProperties, ...LISTS.flatMap(key => (schema[key] ?? []) as never[])]
      const own = typeof schema.$ref === 'string' ? [schema.$ref.split('/').at(-1)!] : []
      return [...own, ...inner.flatMap(one => (isSchema(one) ? madeOf(one) : []))]
    }
    const reached = (name: string, seen: Set<string>): ReadonlySet<string> => {
      for (const next of madeOf((schemas[name] ?? {}) as JsonObject)) if (!seen.has(next)) reached(next, seen.add(next))
      return seen
    }
    expect(Object.keys(schemas).filter(name => reached(name, new Set()).has(name))).toEqual([])
    // What may be any JSON is taken as such.
    expect(schemas.Json).toEqual({ description: 'Any JSON value.' })
  })

  test('POST /plans says which forms it takes, and what is in them', () => {
    const { schemas = {} } = document.components as { readonly [kind: string]: { readonly [name: string]: JsonObject } }
    const body = document.paths['/plans']!.post!.requestBody!.content['application/json']!.schema!
    expect(body).toEqual({ $ref: '#/components/schemas/NewPlan' })
    const forms = (schemas.NewPlan!.anyOf as readonly JsonObject[]).map(({ $ref }) => $ref)
    expect(forms.slice(0, 3)).toEqual(
      ['PlanDocument', 'PlanStorePlan', 'PlanOfNodes'].map(name => `#/components/schemas/${name}`),
    )
    expect(schemas.PlanDocument).toMatchObject({
      required: expect.arrayContaining(['tasks']),
      properties: { tasks: { type: 'array', items: { $ref: '#/components/schemas/PlanDocumentPart1' } } },
    })
    expect(schemas.PlanDocumentPart1).toMatchObject({ properties: { id: {}, run: {}, needs: {} } })
    expect(schemas.PlanStorePlan).toMatchObject({ properties: { goal_id: {}, steps: {}, plan_type: {} } })
  })

  test('is made once, route by route, while others are answered', async () => {
    const made = openApiSlowly(ROUTES, { version: '0' })
    let turns = 0
    let isMade = false
    const turning = (async () => {
      while (!isMade) {
        await new Promise(resolve => setImmediate(resolve))
        turns++
      }
    })()
    expect(await made).toEqual(openApi(ROUTES, { version: '0' }))
    isMade = true
    await turning
    expect(turns).toBeGreaterThanOrEqual(ROUTES.length)
    const [first, again] = [await service.ask('GET', '/openapi.json'), await service.ask('GET', '/openapi.json')]
    expect(again.body).toEqual(first.body)
  })

  test('every reference in it leads somewhere', () => {
    const dangling: string[] = []
    const look = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      const { $ref } = value as { readonly $ref?: unknown }
      if (typeof $ref === 'string' && at(document, $ref) === undefined) dangling.push($ref)
      for (const inner of Object.values(value)) look(inner)
    }
    look(document)
    expect(dangling).toEqual([])
  })

  test('every answer has a body that is described, a media type, or none at all', () => {
    const faults = operations.flatMap(({ name, operation }) =>
      Object.entries(operation.responses).flatMap(([status, { content, $ref }]) => {
        const isEmpty = content === undefined && $ref === undefined
        return isEmpty && !['204', '202', '302', '303', '304'].includes(status) ? [`${name} ${status}`] : []
      }),
    )
    expect(faults).toEqual([])
  })

  test('every POST takes a key or ignores it, every error is a problem document, and only what is open needs no token', () => {
    for (const { name, operation } of operations) {
      const headers = (operation.parameters ?? []).filter(({ in: place }) => place === 'header').map(one => one.name)
      expect({ [name]: headers.includes('Idempotency-Key') }).toEqual({ [name]: KEYED.has(name) })
      expect(operation.responses.default).toEqual({ $ref: '#/components/responses/Problem' })
      expect({ [name]: operation.security !== undefined }).toEqual({ [name]: operation['x-right'] === 'nothing' })
    }
  })

  test('every parameter says what it is for', () => {
    const silent = operations.flatMap(({ name, operation }) =>
      (operation.parameters ?? [])
        .filter(({ description = '' }) => description === '')
        .map(one => `${name} ${one.name}`),
    )
    expect(silent).toEqual([])
  })

  test('headers are told: where a thing is, its version, what a stream begins behind, that an answer was given before', () => {
    const found = (name: string): Operation => operations.find(one => one.name === name)!.operation
    const read = (name: string) =>
      (found(name).parameters ?? []).filter(({ in: place }) => place === 'header').map(one => one.name)
    const told = (name: string, status: number) => Object.keys(found(name).responses[status]?.headers ?? {})
    expect(read('GET /plans/{plan}')).toEqual(['If-None-Match'])
    expect([told('GET /plans/{plan}', 200), told('GET /plans/{plan}', 304)]).toEqual([['ETag'], ['ETag']])
    expect(told('POST /plans', 201)).toEqual(['Location', 'ETag', 'Idempotency-Replayed'])
    const streams = operations.filter(({ operation }) => operation.responses[200]?.content?.['text/event-stream'])
    expect(streams.length).toBe(4)
    for (const { name } of streams) expect(read(name)).toEqual(['Last-Event-ID'])
    for (const { name, operation } of operations)
      if (operation.responses[201])
        expect({ [name]: told(name, 201) }).toEqual({ [name]: expect.arrayContaining(['Location']) })
  })

  test('what is told of ETags is done', async () => {
    const made = await service.ask('POST', '/plans', { planfold: 1, name: 'tagged', tasks: [{ id: 'a' }] })
    const shown = await service.ask('GET', '/plans/tagged')
    const tag = shown.headers.get('etag')!
    expect([made.headers.get('location'), tag]).toEqual([`/plans/${shown.body.id}`, made.headers.get('etag')])
    expect((await service.ask('GET', '/plans/tagged', undefined, { 'if-none-match': tag })).status).toBe(304)
    expect((await service.ask('GET', '/plans/tagged', undefined, { 'if-none-match': '"0"' })).status).toBe(200)
    // What changes something is answered with its body, whatever the caller knows.
    const changed = await service.ask('PATCH', '/plans/tagged', { title: 'New' }, { 'if-none-match': '*' })
    expect([changed.status, changed.body?.title]).toEqual([200, 'New'])
  })

  test('every query is a list of parameters', () => {
    const faults = ROUTES.filter(one => {
      const described = (one.query as { describe(): JsonObject } | undefined)?.describe()
      return described !== undefined && described.type !== 'object'
    })
    expect(faults.map(({ path }) => path)).toEqual([])
  })

  test('what it shows as an example fits its own schema', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false })
    ajv.addSchema(document as object, 'document')
    const misfits = operations.flatMap(({ name, operation }) => {
      const schema = operation.requestBody?.content['application/json']?.schema
      if (schema === undefined) return []
      const shown = sample(document, schema)
      const [path, method] = [name.slice(name.indexOf(' ') + 1), name.split(' ')[0]!.toLowerCase()]
      const pointer = ['paths', path, method, 'requestBody', 'content', 'application/json', 'schema']
        .map(part => encodeURIComponent(part.replaceAll('/', '~1')))
        .join('/')
      return ajv.validate({ $ref: `document#/${pointer}` }, shown)
        ? []
        : [`${name}: ${JSON.stringify(shown)}: ${ajv.errorsText()}`]
    })
    expect(misfits).toEqual([])
  })

  test('a schema with a name is told once, one that is called as an answer twice, and a round one refers to itself', () => {
    const tree: z.ZodType = z.strictObject({
      name: z.string(),
      get children() {
        return z.array(tree)
      },
    })
    const named = wire(z.strictObject({ size: z.string().default('small') }), 'Thing')
    const made = openApi(
      under('n', [
        route({ ...SHAPE, path: '/a', body: named, answers: { 200: { about: 'a', body: 'Thing' } } }),
        route({
          ...SHAPE,
          path: '/b',
          body: wire(tree, 'Tree'),
          answers: { 200: { about: 'b', body: 'Answer' } },
        }),
      ]),
      {
        version: '1',
        answers: { ...SAID, Thing: NUMBERED, Answer: { $ref: '#/components/schemas/Part' }, Part: NUMBERED, Rest: {} },
      },
    )
    expect(Object.keys(made.components.schemas!).sort()).toEqual([
      'Answer',
      'Part',
      'Problem',
      'ProblemFault',
      'Thing',
      'ThingInput',
      'Tree',
    ])
    expect(JSON.stringify(made.components.schemas!.Tree)).toContain('"$ref":"#/components/schemas/Tree"')
    expect(() => validate(made, 'POST', '/b', { n: 1 })).not.toThrow()
    expect(() => validate(made, 'POST', '/b', { n: 'x' })).toThrow(/must be integer/)
  })
})

const SAID = answerSchemas()
const NUMBERED = {
  type: 'object',
  properties: { n: { type: 'integer' } },
  required: ['n'],
  additionalProperties: false,
}
const SHAPE = { method: 'POST', right: 'read', about: 'x', handle: async () => ok({}) } as const
const validate = (made: OpenApi, method: string, path: string, body: unknown) =>
  validateAnswer(made, method, path, { status: 200, type: 'application/json; charset=utf-8', body })

describe('every answer of every test is held against it', () => {
  const made = openApi(
    under('n', [
      route({ ...SHAPE, path: '/told', answers: { 200: { about: 'a', body: 'Numbered' } } }),
      route({ ...SHAPE, path: '/untold', answers: { 200: { about: 'a' } } }),
      route({ ...SHAPE, path: '/:any', answers: { 200: { about: 'a', body: 'Nothing' } } }),
    ]),
    {
      version: '1',
      answers: { ...SAID, Numbered: NUMBERED, Nothing: { type: 'object', additionalProperties: false } },
    },
  )

  test('what fits passes, at both addresses', () => {
    expect(() => validate(made, 'POST', '/told', { n: 1 })).not.toThrow()
    expect(() => validate(made, 'POST', '/api/told/?x=1', { n: 1 })).not.toThrow()
  })

  test('another body, an unknown key, a body nobody described, a status nobody told: faults', () => {
    expect(() => validate(made, 'POST', '/told', { n: 'x' })).toThrow(/must be integer/)
    expect(() => validate(made, 'POST', '/told', { n: 1, more: 1 })).toThrow(/additional properties/)
    expect(() => validate(made, 'POST', '/untold', {})).toThrow(/describes no application\/json/)
    expect(() => validateAnswer(made, 'POST', '/told', { status: 201, type: '', body: '' })).toThrow(/no such status/)
    expect(() => validateAnswer(made, 'POST', '/told', { status: 404, type: 'application/json', body: {} })).toThrow()
  })

  test('a problem document is one', () => {
    const came = { status: 404, type: 'application/problem+json' }
    const good = { type: 'urn:planfold:problem:not-found', title: 'x', status: 404, detail: 'd', instance: 'i' }
    expect(() => validateAnswer(made, 'GET', '/nowhere', { ...came, body: good })).not.toThrow()
    expect(() => validateAnswer(made, 'GET', '/nowhere', { ...came, body: { ...good, type: 'x' } })).toThrow(/problem/)
  })
})

describe('the page', () => {
  test('shows every route, loads nothing and runs nothing', async () => {
    const { status, headers, body } = await service.ask('GET', '/docs')
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    for (const { name } of operations) expect(body).toContain(`<td>${name.replace(' ', '</td><td><code>')}</code></td>`)
    expect(body).not.toMatch(/<script|<link|<img|<iframe|javascript:|\son\w+=|@import|url\(/i)
    const style = /<style>([^<]*)<\/style>/.exec(body)![1]!
    const policy = headers.get('content-security-policy')!
    expect(policy).toContain(`style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`)
    expect(policy).toMatch(/^default-src 'none';.*frame-ancestors 'none'/)
    // What our sentences call code is shown as such.
    expect(body).not.toContain('`')
    // No inline style, which the policy would not allow.
    expect(body).not.toContain('style="')
  })

  test('what stands in the table is text, whatever it looks like', async () => {
    const evil = '</summary><script>alert(1)</script>"\'&'
    const operation: Operation = {
      operationId: 'x" onclick="y',
      tags: ['n'],
      summary: evil,
      'x-right': 'read',
      responses: { 200: { description: evil } },
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { type: 'string', description: evil } } },
      },
    }
    const { text } = apiPage({
      ...document,
      tags: [{ name: 'n' }],
      paths: { [evil]: { get: operation } },
      components: { schemas: { [evil]: {} } },
    })
    expect(text).not.toContain('<script')
    expect(text).not.toContain('" onclick')
  })
})

function at(value: unknown, reference: string): unknown {
  return reference
    .slice(2)
    .split('/')
    .reduce<unknown>(
      (inner, part) =>
        (inner as { readonly [key: string]: unknown } | undefined)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')],
      value,
    )
}
