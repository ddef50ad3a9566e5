// Whatever a client sends, to whichever route: the answer is one that the document describes, and never a fault of ours.

import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Json, JsonObject } from '../domain/json.ts'
import { external, gate, plan } from '../testing/index.ts'
import { documentOf } from './answers.fixture.ts'
import { sample } from './api-docs/openapi.ts'
import { listRoutes } from './routes/route-list.ts'
import { type Served, served } from './server.fixture.ts'

const ROUTES = await listRoutes()

const RUNS = Number(process.env.PLANFOLD_WHATEVER_RUNS ?? 2)

let service: Served
beforeAll(async () => {
  service = await served()
  const { engine } = service.composed
  const made = await engine.submit(null, {
    type: 'create',
    definition: plan('p', external('a'), gate('g')),
    session: 's',
  })
  if (made.ok) await engine.submit(made.plan, { type: 'start' })
})
afterAll(() => service.close())

const document = documentOf(ROUTES)
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    // A stream that is open would not end.
    .filter(([, { responses }]) => !/event-stream|ndjson/.test(Object.keys(responses['200']?.content ?? {}).join()))
    .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)

const NAMES: { readonly [name: string]: readonly string[] } = {
  plan: ['p', 'p', 'nobody', '01a1dfb3-4b55-73fc-8c85-6a2700000000'],
  task: ['a', 'p:a', 'nobody'],
  gate: ['g', 'a'],
  session: ['s', 'nobody'],
}
const odd = fc.constantFrom('', ' ', '...', 'a/b', '%', 'é', '__proto__', '0', '-1', 'null', 'x'.repeat(300))
const anything: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1e308, '', [], {}, { toString: '' }, { length: 3 }),
  fc.string({ maxLength: 20 }),
  fc.jsonValue({ maxDepth: 3 }),
)

/** What fits, with something in it changed, left out, or added. */
function nearly(fits: Json): fc.Arbitrary<unknown> {
  if (fits === null || typeof fits !== 'object' || Array.isArray(fits)) return fc.oneof(fc.constant(fits), anything)
  const entries = Object.entries(fits as JsonObject)
  const changed = entries.map(([key, value]) =>
    fc.oneof(
      { weight: 5, arbitrary: fc.constant([[key, value]] as [string, unknown][]) },
      { weight: 2, arbitrary: nearly(value).map(other => [[key, other]] as [string, unknown][]) },
      { weight: 1, arbitrary: fc.constant([] as [string, unknown][]) },
    ),
  )
  const more = fc.option(fc.tuple(fc.constantFrom('more', 'id', 'status', 'name'), anything), { freq: 5, nil: null })
  return fc
    .tuple(fc.tuple(...changed), more)
    .map(([kept, added]) => Object.fromEntries([...kept.flat(), ...(added === null ? [] : [added])]))
}

test.each(operations)('$method $path', async ({ method, path, operation }) => {
  const errors = service.errors.length
  const schema = operation.requestBody?.content['application/json']?.schema
  const queries = (operation.parameters ?? []).filter(({ in: place }) => place === 'query')
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1]!)
  const asked = fc.record({
    at: fc.tuple(
      ...names.map(name => fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...(NAMES[name] ?? ['1', 'x'])) }, odd)),
    ),
    query: fc.tuple(
      ...queries.map(({ name, schema: one }) =>
        fc.option(
          fc.oneof(odd, fc.constant(String(sample(document, one)))).map(value => [name, value] as const),
          { freq: 2, nil: null },
        ),
      ),
    ),
    body: schema === undefined ? fc.constant(undefined) : nearly(sample(document, schema)),
  })
  await fc.assert(
    fc.asyncProperty(asked, async ({ at, query, body }) => {
      const where = names.reduce((made, name, index) => made.replace(`{${name}}`, encodeURIComponent(at[index]!)), path)
      const said = new URLSearchParams(Object.fromEntries(query.filter(one => one !== null)))
      const { status, body: told } = await service.ask(method, `${where}?${said}`, body)
      expect({ status: status < 500 || status === 501, told: status === 500 ? told : null }).toEqual({
        status: true,
        told: null,
      })
    }),
    { numRuns: RUNS },
  )
  expect(service.errors.slice(errors)).toEqual([])
})
