// Text that no store keeps as it is, wherever a client may put it: refused at the door, with its place.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readJson } from './body.ts'
import { LIMITS } from './limits.ts'
import { type Served, served } from './server.fixture.ts'

let service: Served
beforeAll(async () => {
  service = await served()
})
afterAll(() => service.close())

const refused = (path: string, message: string) => ({
  status: 422,
  body: { type: 'urn:planfold:problem:invalid', faults: [{ path, message, hint: 'remove it' }] },
})

describe.each([
  ['\\u0000', 'the text contains a NUL character'],
  ['\\ud800', 'the text contains half a character (a lone surrogate)'],
])('%s in a body', (odd, message) => {
  test.each(['title', 'description', 'goal_id', 'agent_id', 'session_id'])('as %s of a plan', async key => {
    expect(await service.ask('POST', '/plans', `{"steps":[],"${key}":"a${odd}b"}`)).toMatchObject(refused(key, message))
  })

  test('of a task, of a change, of a plan for a session; nothing is written', async () => {
    const { body: plan } = await service.ask('POST', '/plans', { goal_id: 'g' })
    const { body: task } = await service.ask('POST', '/tasks', { plan_id: plan.id, title: 't' })
    const before = await service.rooms.engine.ask({ type: 'plans' })
    const asked = [
      ['POST', '/tasks', `{"plan_id":"${plan.id}","title":"${odd}"}`, 'title'],
      ['POST', '/tasks', `{"plan_id":"${plan.id}","title":"t","agent_id":"x${odd}"}`, 'agent_id'],
      ['PATCH', `/plans/${plan.id}`, `{"title":"${odd}"}`, 'title'],
      ['PATCH', `/tasks/${task.id}`, `{"agent_id":"${odd}"}`, 'agent_id'],
      ['POST', '/api/session/s/plan', `{"title":"${odd}","steps":[]}`, 'title'],
      ['POST', '/plans', `{"planfold":1,"tasks":[{"id":"a"},{"id":"b","title":"${odd}"}]}`, 'tasks[1].title'],
    ] as const
    for (const [method, path, body, place] of asked)
      expect(await service.ask(method, path, body)).toMatchObject(refused(place, message))
    expect(await service.rooms.engine.ask({ type: 'plans' })).toEqual(before)
  })

  test('as a key: the place is where the key stands', async () => {
    const key = message.replace('the text', 'a key')
    expect(await service.ask('POST', '/plans', `{"more":[{"a${odd}":1}]}`)).toMatchObject(refused('more[0]', key))
    expect(await service.ask('POST', '/plans', `{"${odd}":1}`)).toMatchObject(refused('', key))
  })
})

test('whole characters and what only looks like an escape are text like any other', () => {
  const text = String.raw`{"\u0061":["\ud83d\ude42", "\\u0000", "\\ud800", "\u0001"]}`
  expect(readJson(text, LIMITS)).toEqual({ value: { a: ['🙂', '\\u0000', '\\ud800', '\u0001'] } })
})

test('a NUL in an address: no such path, no such value', async () => {
  await service.ask('POST', '/plans', { planfold: 1, name: 'here', tasks: [{ id: 'a' }] })
  const { status, body } = await service.ask('GET', '/tasks?agent_id=x%00')
  expect({ status, faults: body.faults }).toEqual({
    status: 422,
    faults: [{ path: 'agent_id', message: 'the text contains a NUL character', hint: 'remove it' }],
  })
  expect((await service.ask('GET', '/tasks?agent_id=x&agent%00=1')).status).toBe(422)
  expect((await service.ask('GET', '/tasks?agent_id=%2500')).status).toBe(200)
  for (const path of ['/plans/here%00', '/plans/here%00x', '/tasks/here:a%00', '/sessions/s%00'])
    expect((await service.ask('GET', path)).status).toBe(404)
  expect((await service.ask('GET', '/plans/here')).status).toBe(200)
})

test('a NUL in a header does not come in', async () => {
  const key = (value: string) => service.ask('POST', '/plans', { goal_id: 'g' }, { 'idempotency-key': value })
  expect((await key('k\u00e9')).status).toBe(422)
  await expect(key('k\0')).rejects.toThrow()
})
