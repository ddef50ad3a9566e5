// Raw routes pass the whole request to other code, behind the same guard, stop and limits as all other routes.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApi } from './api-docs/openapi.ts'
import { guarded } from './auth/guard.fixture.ts'
import { type RawRoute, rawRoute, under } from './route.ts'
import { type Served, served } from './server.fixture.ts'
import { exchange } from './socket.fixture.ts'

const respond: RawRoute['respond'] = async (request, { who }) => {
  const { pathname, search } = new URL(request.url)
  const said = { actor: who.actor, method: request.method, at: pathname + search, text: await request.text() }
  if (request.headers.get('accept') !== 'text/event-stream') return Response.json(said, { status: 202 })
  const body = new ReadableStream({
    start: controller => {
      controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(said)}\n\n`))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}
const shape = { path: '/protocol', right: 'operate', about: 'Speaks a protocol.', respond } as const
const answers = { 202: { about: 'what the protocol says', type: 'application/json' } }
const routes = under('test', [
  rawRoute({ ...shape, method: 'GET', answers }),
  rawRoute({ ...shape, method: 'POST', answers, bodyMaxBytes: 1_000 }),
])

const house = guarded()
const operator = house.token('opal', 'operator')
let service: Served
beforeAll(async () => {
  service = await served({ guard: house.guard, routes })
})
afterAll(() => service.close())

const post = (headers: string, body: string): Promise<string> =>
  exchange(
    service.url,
    `POST /protocol HTTP/1.1\r\nHost: ${new URL(service.url).host}\r\nConnection: close\r\n${headers}\r\n${body}`,
  )
const bearer = `Authorization: ${operator.authorization}\r\n`

describe('a raw route', () => {
  test('gets the request as it was sent; its response gets our headers beside its own', async () => {
    const answer = await service.ask('POST', '/api/protocol?a=1&a=2', '{"not":"checked"', operator)
    const said = { actor: 'opal', method: 'POST', at: '/api/protocol?a=1&a=2', text: '{"not":"checked"' }
    expect([answer.status, answer.body]).toEqual([202, said])
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    const read = await service.ask('GET', '/protocol', undefined, operator)
    expect([read.status, read.body.method]).toEqual([202, 'GET'])
  })

  test('takes a body in pieces', async () => {
    const text = await post(`${bearer}Transfer-Encoding: chunked\r\n`, '3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n')
    expect(text).toContain('"text":"abcde"')
  })

  test.each([
    ['told', () => post(`${bearer}Content-Length: 1001\r\n`, 'x'.repeat(1_001))],
    ['in pieces', () => post(`${bearer}Transfer-Encoding: chunked\r\n`, `3e9\r\n${'x'.repeat(1_001)}\r\n0\r\n\r\n`)],
  ])('never sees a body that is too large: %s', async (_, sent) => {
    expect(await sent()).toMatch(/^HTTP\/1\.1 413 [\s\S]*problem:too-large/)
  })

  test('is behind the guard: token, right, host, origin', async () => {
    const viewer = house.token('vi', 'viewer')
    expect((await service.ask('POST', '/protocol', '{}')).status).toBe(401)
    expect((await service.ask('POST', '/protocol', '{}', viewer)).status).toBe(403)
    const evil = { ...operator, origin: 'http://evil.example' }
    expect((await service.ask('POST', '/protocol', '{}', evil)).status).toBe(403)
    expect(await exchange(service.url, 'GET /protocol HTTP/1.1\r\nHost: evil.example\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 421/,
    )
    expect((await service.ask('DELETE', '/protocol', undefined, operator)).headers.get('allow')).toBe('GET, POST')
  })

  test('may answer with a stream, which ends soon after its token', async () => {
    const short = house.token('short', 'operator')
    const headers = { ...short, accept: 'text/event-stream' }
    const reader = (await fetch(`${service.url}/protocol`, { headers })).body!.getReader()
    expect(Buffer.from((await reader.read()).value!).toString()).toMatch(/^data: .*"actor":"short"/)
    house.revoke('short')
    await expect(reader.read()).rejects.toThrow()
  })

  test('is in the document', () => {
    const { paths } = openApi(routes, { version: '0' })
    expect(paths['/protocol']).toMatchObject({
      get: { 'x-right': 'operate' },
      post: { 'x-right': 'operate', requestBody: { required: true } },
    })
  })
})
