// What is wrong is said about the right thing, and what is not meant is not taken.

import { describe, expect, test } from 'vitest'
import { listRoutes } from './routes/route-list.ts'
import { type Served, servedHere } from './server.fixture.ts'
import { exchange } from './socket.fixture.ts'

const ROUTES = await listRoutes()

const service = servedHere()
const LIMIT = {
  type: 'integer',
  minimum: 1,
  maximum: 1_000,
  description: 'How many at most; 100 when it is not said.',
}
const ask: Served['ask'] = (...given) => service.ask(...given)
const document = (more: object = {}) => ({ planfold: 1, name: 'words', tasks: [{ id: 'a' }], ...more })

describe('a number of a query', () => {
  test.each(['0', '-1', '0x10', '1e2', '1.5', '', ' 7', '1001'])('limit=%j is refused with its bounds', async text => {
    const { status, body } = await ask('GET', `/plans?limit=${encodeURIComponent(text)}`)
    expect(status).toBe(422)
    expect(body.detail).toBe("'limit' of the query: must be a whole number, 1 to 1000")
  })
  test('in digits it is taken', async () => {
    expect((await ask('GET', '/plans?limit=1000')).status).toBe(200)
  })
  test('limit is the same of every list: 1 to 1000, 100 when it is not said', () => {
    const limits = ROUTES.flatMap(({ query, method, path }) => {
      const { limit } = (query?.describe().properties ?? {}) as { readonly [name: string]: object }
      return limit === undefined ? [] : [[`${method} ${path}`, limit] as const]
    })
    expect(limits.length).toBeGreaterThan(10)
    for (const one of limits) expect(one).toEqual([one[0], expect.objectContaining(LIMIT)])
  })
  test('a limit is kept to: 600 are shown where 1000 were asked for, and 100 where nothing was', async () => {
    const { body: plan } = await ask('POST', '/plans', document({ name: 'long' }))
    // In bodies short enough to be read where they are.
    for (let from = 0; from < 599; from += 100) {
      const length = Math.min(100, 599 - from)
      const some = Array.from({ length }, (_, at) => ({ plan_id: plan.id, name: `t${from + at}` }))
      expect((await ask('POST', '/tasks', some)).status).toBe(201)
    }
    const shown = async (query: string): Promise<number> =>
      (await ask('GET', `/tasks?plan_id=${plan.id}${query}`)).body.items.length
    expect([await shown('&limit=1000'), await shown('')]).toEqual([600, 100])
  })
  test('of entries says so; of events, that it is no id', async () => {
    const { body: plan } = await ask('POST', '/plans', document())
    const { body } = await ask('GET', `/plans/${plan.id}/entries?after=x`)
    expect(body.detail).toBe("'after' of the query: must be a whole number, 0 or more")
    expect((await ask('GET', '/events?after=x')).body.detail).toBe("'after' of the query: is not an event id")
    const page = await ask('GET', `/plans/${plan.id}/entries?limit=1`)
    expect(page.body.next).toBe('1')
  })
})

describe('a body', () => {
  test.each(['gzip', 'br', 'deflate, gzip', 'zstd'])('compressed as %s is not taken, and is told so', async coding => {
    const { status, body } = await ask('POST', '/plans', document(), { 'content-encoding': coding })
    expect([status, body.type, body.detail]).toEqual([
      415,
      'urn:planfold:problem:media-type',
      `a body compressed as '${coding}' is not taken here`,
    ])
    expect(body.hint).toContain('Content-Encoding')
  })
  test('that says it is not compressed is taken', async () => {
    const { status } = await ask('POST', '/plans', document({ name: 'plain' }), { 'content-encoding': 'identity' })
    expect(status).toBe(201)
  })
  test('in another charset is not taken', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-16' }
    expect((await ask('POST', '/plans', document(), headers)).status).toBe(415)
    const utf8 = { 'content-type': 'application/json; charset="UTF-8"' }
    expect((await ask('POST', '/plans', document(), utf8)).status).toBe(201)
  })
  test('names one session', async () => {
    const { status, body } = await ask('POST', '/plans?session_id=s1', document({ session: 's2' }))
    expect(status).toBe(422)
    expect(body.detail).toContain("'s1', and the document 's2'")
  })
  test('that would be read slowly is not taken when it is large', async () => {
    const yaml = `planfold: 1\ntasks:\n${'  - id: a\n'.repeat(50_000)}`
    const headers = { 'content-type': 'application/yaml' }
    const response = await fetch(`${service.url}/plans`, { method: 'POST', headers, body: yaml })
    expect(response.status).toBe(413)
  })
})

test('a request for a whole address is told so', async () => {
  const { host } = new URL(service.url)
  const told = await exchange(
    service.url,
    `GET http://evil.example/plans HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
  )
  expect(told).toContain(' 421 ')
  expect(told).toContain('names a whole address')
})

test('a template of more tasks than can be read quickly is refused', async () => {
  const tasks = Array.from({ length: 2_001 }, (_, at) => ({ id: `t${at}` }))
  const { body: plan } = await ask('POST', '/plans', document({ name: 'large', tasks }))
  const { status, body } = await ask('POST', '/templates', { plan_id: plan.id, name: 'large' })
  expect([status, body.detail]).toEqual([422, 'a template has at most 2000 tasks'])
})

test('a hint names the task it is about', async () => {
  const { body: plan } = await ask(
    'POST',
    '/plans?start=true',
    document({ name: 'gated', tasks: [{ id: 'g', gate: 'approval' }] }),
  )
  const { body } = await ask('POST', `/plans/${plan.id}/tasks/g/report`, { status: 'completed' })
  expect(body.hint).toContain('/gates/g/approve')
})
