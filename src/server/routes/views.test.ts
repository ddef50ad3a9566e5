// What a page shows of a plan with one call each: its state, a task, a gate.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { evolve } from '../../domain/state/evolve.ts'
import { packFold, unpackFold } from '../../domain/state/fold.ts'
import { board } from '../../domain/views/board.ts'
import { codingFor } from '../compression.ts'
import { type Served, served } from '../server.fixture.ts'

let service: Served
beforeAll(async () => {
  service = await served()
})
afterAll(() => service.close())

let made = 0
async function make(tasks: readonly object[], more: object = {}): Promise<string> {
  const document = { planfold: 1, name: `viewed-${++made}`, tasks, ...more }
  const { status, body } = await service.ask('POST', '/plans?start=1', document)
  expect({ status, body }).toMatchObject({ status: 201 })
  return body.id
}

const drive = (plan: string) => service.composed.worker.drive(plan as never, { stop: new AbortController().signal })

describe('the state of a plan', () => {
  test('is unpacked and carried on by whoever has it, and then is that of the service', async () => {
    const plan = await make([
      { id: 'a', run: 'true' },
      { id: 'b', instruction: 'x', needs: ['a'] },
      { id: 'c', instruction: 'y', needs: ['b'] },
    ])
    await drive(plan)
    await service.ask('POST', `/plans/${plan}/tasks/b/claim`, {})
    const first = await service.ask('GET', `/plans/${plan}/state`)
    expect(first.body).toMatchObject({ plan_id: plan, name: `viewed-${made}` })
    expect(JSON.stringify(first.body)).not.toContain('token')
    const open = ({ fold, definition }: { fold: JsonObject; definition: PlanDefinition }) =>
      unpackFold(fold, definition)
    const state = open(first.body)
    expect(state.version).toBe(first.body.version)
    expect(board(state).map(({ status, claimedBy }) => [status, claimedBy])).toEqual([
      ['completed', null],
      ['running', 'anyone'],
      ['pending', null],
    ])
    expect(await service.composed.engine.ask({ type: 'position' })).toBe(first.body.position)

    await service.ask('POST', `/plans/${plan}/tasks/b/report`, { outcome: 'success' })
    await service.ask('POST', `/plans/${plan}/notes`, { text: 'so it goes on' })
    const later = await service.ask('GET', `/plans/${plan}/entries?after=${state.version}`)
    expect(later.body.items.length).toBeGreaterThan(0)
    for (const { events, at, version } of later.body.items) {
      for (const event of events) evolve(state, event, Date.parse(at))
      state.version = version
    }
    const second = await service.ask('GET', `/plans/${plan}/state`)
    expect(board(state)).toEqual(board(open(second.body)))
    expect(packFold(state)).toMatchObject({ version: second.body.version, status: second.body.fold.status })
  })

  test('has a tag that changes with it, and is not sent again to whoever has it', async () => {
    const plan = await make([{ id: 'a', instruction: 'x' }])
    const { headers } = await service.ask('GET', `/plans/${plan}/state`)
    const tag = headers.get('etag')!
    const again = () => service.ask('GET', `/plans/${plan}/state`, undefined, { 'if-none-match': tag })
    // What happens to others does not change it.
    await make([{ id: 'a', instruction: 'x' }])
    expect((await again()).status).toBe(304)
    await service.ask('POST', `/plans/${plan}/notes`, { text: 'news' })
    const { status, headers: next } = await again()
    expect([status, next.get('etag') === tag]).toEqual([200, false])
    expect((await service.ask('GET', '/plans/nobody/state')).status).toBe(404)
  })
})

describe('compression', () => {
  test('of a long answer, when the client takes it, with a tag that is known again', async () => {
    const tasks = Array.from({ length: 50 }, (_, at) => ({ id: `t${at}`, instruction: 'the same for all of them' }))
    const plan = await make(tasks)
    const path = `${service.url}/plans/${plan}/state`
    const plain = await fetch(path, { headers: { 'accept-encoding': 'identity' } })
    expect(plain.headers.get('content-encoding')).toBe(null)
    expect(plain.headers.get('vary')).toBe('accept-encoding')
    const text = await plain.text()
    for (const coding of ['br', 'gzip']) {
      const coded = await fetch(path, { headers: { 'accept-encoding': coding } })
      expect(coded.headers.get('content-encoding')).toBe(coding)
      expect(Number(coded.headers.get('content-length'))).toBeLessThan(text.length / 3)
      expect(coded.headers.get('etag')).toBe(`W/${plain.headers.get('etag')}`)
      expect(await coded.text()).toBe(text)
      const head = await fetch(path, { method: 'HEAD', headers: { 'accept-encoding': coding } })
      expect(head.headers.get('content-length')).toBe(coded.headers.get('content-length'))
      for (const tag of [coded.headers.get('etag')!, plain.headers.get('etag')!]) {
        const known = await fetch(path, { headers: { 'accept-encoding': coding, 'if-none-match': tag } })
        expect([known.status, await known.text()]).toEqual([304, ''])
      }
      const written = await service.ask('POST', `/plans/${plan}/notes`, { text: coding }, { 'if-match': 'W/"999-x"' })
      expect(written.status).toBe(409)
    }
  })

  test('never of a stream, of what is short, or of what holds a token', async () => {
    const asked = { headers: { 'accept-encoding': 'br, gzip' } }
    const stream = await fetch(`${service.url}/events`, asked)
    expect(stream.headers.get('content-encoding')).toBe(null)
    await stream.body?.cancel()
    const short = await fetch(`${service.url}/health`, asked)
    expect([short.headers.get('content-encoding'), short.headers.get('vary')]).toEqual([null, null])
    const note = 'n'.repeat(5_000)
    const plan = await make([{ id: 'a', instruction: note }])
    const claimed = await fetch(`${service.url}/plans/${plan}/tasks/a/claim`, { method: 'POST', ...asked })
    expect(claimed.headers.get('content-encoding')).toBe(null)
    expect((await claimed.text()).length).toBeGreaterThan(5_000)
  })

  test.each([
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['identity', null],
    ['', null],
    ['gzip;q=0', null],
    ['br;q=abc, gzip;q=0.001', 'gzip'],
  ])('of what is accepted (%s) takes the best: %s', (accepted, coding) => {
    expect(codingFor(accepted)).toBe(coding)
  })
})
