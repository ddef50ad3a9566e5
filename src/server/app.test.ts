// One way for every route: paths, methods, bodies, keys and whatever is wrong with them.

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { StoreGone } from '../stores/store.ts'
import { type Served, served } from './server.fixture.ts'
import { exchange } from './socket.fixture.ts'

let service: Served
beforeAll(async () => {
  service = await served()
})
afterAll(() => service.close())

describe('the service', () => {
  test.each(['/health', '/health/', '/api/health', '/api/health/'])('answers at %s', async path => {
    const { status, body } = await service.ask('GET', path)
    expect({ status, body }).toEqual({ status: 200, body: { status: 'ok' } })
  })

  test('says where nothing is, as a problem with a hint', async () => {
    const { status, headers, body } = await service.ask('GET', '/nowhere')
    expect(status).toBe(404)
    expect(headers.get('content-type')).toBe('application/problem+json')
    expect(body).toMatchObject({ type: 'urn:planfold:problem:not-found', status: 404, hint: expect.any(String) })
  })

  test('says which methods are answered', async () => {
    const { status, headers, body } = await service.ask('DELETE', '/health')
    expect({ status, allow: headers.get('allow'), allowed: body.allowed }).toEqual({
      status: 405,
      allow: 'GET',
      allowed: ['GET'],
    })
  })

  test('HEAD answers as GET, without a body', async () => {
    const { status, body } = await service.ask('HEAD', '/health')
    expect({ status, body }).toEqual({ status: 200, body: '' })
  })

  test('HEAD says how long the answer to GET would be', async () => {
    const [head, get] = [await fetch(`${service.url}/health`, { method: 'HEAD' }), await fetch(`${service.url}/health`)]
    expect(head.headers.get('content-length')).toBe(String((await get.text()).length))
  })

  test('a word goes before a parameter, also for a method that it does not answer', async () => {
    const { status, headers } = await service.ask('GET', '/tasks/claim')
    expect([status, headers.get('allow')]).toEqual([405, 'POST'])
  })

  test.each([':plan', '*', '__proto__', 'constructor', 'a%2Fb', '..%2F..', '%25', 'é'])(
    'a name in a path is taken as it is: %s',
    async name => {
      const { status, body } = await service.ask('GET', `/plans/${name}/board`)
      expect([status, body.detail]).toEqual([404, expect.stringContaining(`'${decodeURIComponent(name)}'`)])
    },
  )

  test('dots in a path lead nowhere', async () => {
    const text = await exchange(
      service.url,
      `GET /plans/../health HTTP/1.1\r\nHost: ${new URL(service.url).host}\r\nConnection: close\r\n\r\n`,
    )
    expect(text).toMatch(/^HTTP\/1\.1 404/)
  })

  test.each(['GET /health\\x', 'OPTIONS *'])('what names no path is turned away: %s', async asked => {
    const text = await exchange(service.url, `${asked} HTTP/1.1\r\nHost: ${new URL(service.url).host}\r\n\r\n`)
    expect(text).toMatch(/^HTTP\/1\.1 421 [\s\S]*frame-ancestors 'none'[\s\S]*problem:misdirected/)
  })

  test('an unknown query key is refused', async () => {
    const { status, body } = await service.ask('GET', '/health?x=1')
    expect({ status, path: body.faults[0].path }).toEqual({ status: 422, path: 'x' })
  })

  test('a path that cannot be decoded is not found', async () => {
    expect((await service.ask('GET', '/%E0%A4%A')).status).toBe(404)
    expect((await service.ask('GET', '/plans/%E0%A4%A')).body.detail).toBe('there is nothing at /plans/%E0%A4%A')
    expect((await service.ask('GET', '/plans/a%00b')).body.detail).toBe('there is nothing at /plans/a%00b')
  })
})

test('a state folder that vanishes under it: it is not ready, and acknowledges nothing any more', async () => {
  const doomed = await served()
  expect((await doomed.ask('POST', '/plans', { goal_id: 'before' })).status).toBe(201)
  rmSync(doomed.rooms.stateDir, { recursive: true })
  await vi.waitFor(async () => expect((await doomed.ask('GET', '/ready')).status).toBe(503), 120_000)
  const { status, body } = await doomed.ask('POST', '/plans', { goal_id: 'after' })
  expect({ status, body }).toMatchObject({
    status: 503,
    body: { type: 'urn:planfold:problem:gone', detail: expect.stringContaining('gone'), hint: expect.any(String) },
  })
  expect((await doomed.ask('GET', '/health')).status).toBe(200)
  expect(doomed.errors).toContainEqual(expect.objectContaining({ message: 'request failed' }))
  await doomed.close()
})

test('while it drives plans as well: nothing is tried again and again, and it can be stopped', async () => {
  const doomed = await served({ attend: true })
  const tasks = [
    { id: 'a', run: 'until [ -e go ]; do sleep 0.02; done' },
    { id: 'b', run: 'true', needs: ['a'] },
  ]
  expect((await doomed.ask('POST', '/plans?start=true', { planfold: 1, name: 'driven', tasks })).status).toBe(201)
  await vi.waitFor(
    async () => expect((await doomed.ask('GET', '/tasks/driven:a')).body.status).toBe('running'),
    120_000,
  )
  rmSync(doomed.rooms.stateDir, { recursive: true })
  writeFileSync(join(doomed.folder, 'go'), '')
  await vi.waitFor(async () => expect((await doomed.ask('GET', '/ready')).status).toBe(503), 120_000)
  await vi.waitFor(() => expect(doomed.troubles.length).toBeGreaterThan(0), 120_000)
  // Each turn of the event loop would bring one more.
  for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve))
  expect(doomed.troubles.length).toBeLessThan(20)
  await doomed.close().catch(error => expect(error).toBeInstanceOf(StoreGone))
})
