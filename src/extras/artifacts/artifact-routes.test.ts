// Artifacts over HTTP: uploaded in parts, listed, described, downloaded whole or in part.

import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { servedHere } from '../../server/server.fixture.ts'

const service = servedHere()

test('what a claimant uploads is listed, described and downloaded, from any byte on', async () => {
  const outputs = { notes: { report: true, kind: 'report', retention: '30d' } }
  const document = { planfold: 1, name: 'left', tasks: [{ id: 'w', instruction: 'write', outputs }] }
  const made = await service.ask('POST', '/session/s/plan', { document, auto_execute: true })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  const plan = `/plans/${made.body.id}`
  const { token } = (await service.ask('POST', `${plan}/tasks/w/claim`, {})).body
  const whole = 'ab\u{1b}[2Jcd'
  const send = (from: number, part: string, name = 'notes') =>
    service.ask('POST', `${plan}/tasks/w/artifacts/${name}`, {
      ...{ token, sha256: hash('sha256', whole), bytes: whole.length, from },
      data: Buffer.from(part).toString('base64'),
    })
  expect((await send(0, whole.slice(0, 2))).body).toMatchObject({ received: 2, bytes: 8, complete: false })
  expect((await service.ask('GET', `${plan}/tasks/w/uploads`)).body.items).toMatchObject([
    { name: 'notes', received: 2 },
  ])
  expect((await send(4, 'x')).status).toBe(409)
  expect((await send(2, whole.slice(2))).body).toMatchObject({ received: 8, complete: true })
  expect((await send(0, whole, '..%2Fx')).status).toBe(422)

  const page = await service.ask('GET', `${plan}/artifacts?task=w&limit=1`)
  const [listed] = page.body.items
  expect(page.body.next).toBeNull()
  expect(listed).toMatchObject({
    address: 'left/w/notes@1',
    kind: 'report',
    bytes: 8,
    retention: '30d',
    expired: false,
  })
  expect((await service.ask('GET', `${plan}/tasks/w/artifacts/notes`)).body).toMatchObject({
    content: 'kept',
    provenance: { revision: 1, inputs: [] },
  })
  for (const path of ['/tasks/w/artifacts/none', '/tasks/w/artifacts/notes?version=2', `/artifacts/${'0'.repeat(64)}`])
    expect([path, (await service.ask('GET', plan + path)).status]).toEqual([path, 404])

  const get = (headers: Record<string, string> = {}) => fetch(`${service.url}${listed.href}`, { headers })
  const first = await get()
  expect([first.status, first.headers.get('content-type'), await first.text()]).toEqual([
    200,
    'application/octet-stream',
    whole,
  ])
  expect(first.headers.get('content-disposition')).toMatch(/^attachment; filename="notes"$/)
  const tag = first.headers.get('etag')!
  const rest = await get({ range: 'bytes=6-', 'if-range': tag })
  expect([rest.status, rest.headers.get('content-range'), await rest.text()]).toEqual([206, 'bytes 6-7/8', 'cd'])
  const other = await get({ range: 'bytes=6-', 'if-range': '"another"' })
  expect([other.status, await other.text()]).toEqual([200, whole])
  const beyond = await get({ range: 'bytes=8-' })
  expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */8'])
})

test('a range is read as RFC 9110 says', async () => {
  const { rangeIn } = await import('./artifact-routes.ts')
  const ranges = [
    'bytes=0-',
    'bytes=2-3',
    'bytes=-2',
    'bytes=-20',
    'bytes=3-99',
    'bytes=8-',
    'bytes=-0',
    'bytes=3-2',
    'bytes=0-1,3-4',
    'bytes=-',
    'lines=1-2',
  ]
  expect(ranges.map(text => rangeIn(text, 8))).toEqual([
    [0, 7],
    [2, 3],
    [6, 7],
    [0, 7],
    [3, 7],
    'beyond',
    'beyond',
    null,
    null,
    null,
    null,
  ])
})
