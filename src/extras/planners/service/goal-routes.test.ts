// Goals over HTTP: under other goals, with plans, and how far all that has come.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Asked, type Served, served } from '../../../server/server.fixture.ts'

let service: Served
beforeAll(async () => {
  service = await served()
})
afterAll(async () => {
  expect(service.errors).toEqual([])
  await service.close()
})

const ask: Served['ask'] = (...given) => service.ask(...given)
type Body = Asked['body']
const goal = async (more: object = {}): Promise<Body> => {
  const { status, body } = await ask('POST', '/goals', { title: 'Be faster', ...more })
  expect(status, JSON.stringify(body)).toBe(201)
  return body
}
const show = async (id: string): Promise<Body> => (await ask('GET', `/goals/${id}`)).body
/** A plan with so many tasks, of which some are done. */
async function plan(goal_id: string, total: number, done: number): Promise<Body> {
  const { body } = await ask('POST', '/plans', { goal_id, plan_type: 'parallel' })
  const tasks = Array.from({ length: total }, (_, at) => ({ plan_id: body.id, name: `t${at}` }))
  await ask('POST', '/tasks', tasks)
  for (let at = 0; at < done; at++) await ask('PATCH', `/tasks/${body.name}:t${at}`, { status: 'completed' })
  return body
}

describe('a goal that is asked for again', () => {
  test('is never told to be as it was when anything it shows has moved', async () => {
    const { id } = await goal()
    const tags = new Set<string>()
    const moved = async (): Promise<void> => {
      const { status, headers } = await ask('GET', `/goals/${id}`)
      const tag = headers.get('etag')!
      expect([status, tags.has(tag)]).toEqual([200, false])
      tags.add(tag)
      for (const said of [tag, `W/${tag}`, `"x", W/"y", ${tag}`, [...tags].join(','), '*'])
        expect((await ask('GET', `/goals/${id}`, undefined, { 'if-none-match': said })).status).toBe(304)
      for (const said of ['"x"', tag.replaceAll('"', ''), `"${1}"`, ''])
        expect((await ask('GET', `/goals/${id}`, undefined, { 'if-none-match': said })).status).toBe(200)
    }
    await moved()
    const made = await plan(id, 2, 0)
    await moved()
    await ask('PATCH', `/tasks/${made.name}:t0`, { status: 'completed' })
    await moved()
    const child = await goal({ parent_id: id, title: 'smaller' })
    await moved()
    await plan(child.id, 1, 1)
    await moved()
    await ask('PATCH', `/goals/${child.id}`, { title: 'smallest' })
    await moved()
    const { headers, body } = await ask('GET', `/goals/${id}`)
    // With what it was shown by it can be changed, as long as it is the same goal.
    const seen = { 'if-match': headers.get('etag')! }
    expect((await ask('PATCH', `/goals/${id}`, { priority: 7 }, seen)).status).toBe(200)
    expect((await ask('PATCH', `/goals/${id}`, { priority: 8 }, seen)).status).toBe(409)
    expect(body.version).toBe(1)
  })
})

describe('a goal', () => {
  test('is set, shown and listed', async () => {
    const { status, headers, body } = await ask('POST', '/goals', {
      title: 'Update the README & <others>; "now"',
      priority: 8,
      success_criteria: ['it reads well', 'links work'],
    })
    expect({ status, location: headers.get('location') }).toEqual({ status: 201, location: `/goals/${body.id}` })
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      title: 'Update the README & <others>; "now"',
      parent_id: null,
      priority: 8,
      status: 'open',
      success_criteria: ['it reads well', 'links work'],
      version: 1,
      created_at: expect.any(String),
      updated_at: body.created_at,
      known: true,
      children: [],
      plans: [],
      progress: { ratio: 0, plans: {}, tasks: 0, done: 0, goals: 0, complete: false, counted: true },
    })
    expect(await show(body.id)).toEqual(body)
    const { known: _, children: __, plans: ___, progress: ____, ...item } = body
    expect((await ask('GET', '/goals?limit=1')).body.items).toEqual([item])
  })

  test('has a priority from 1 to 10, 5 when not said', async () => {
    expect((await goal()).priority).toBe(5)
    for (const priority of [0, 11, 1.5, 'high'])
      expect((await ask('POST', '/goals', { title: 'x', priority })).status, String(priority)).toBe(422)
    expect((await ask('POST', '/goals', { titel: 'x' })).body.hint).toBe("did you mean 'title'?")
  })

  test('of an id of one’s own is there once', async () => {
    const id = '660e8400-e29b-41d4-a716-446655440001'
    expect((await goal({ id })).id).toBe(id)
    expect((await ask('POST', '/goals', { title: 'again', id })).body).toMatchObject({
      status: 409,
      type: 'urn:planfold:problem:exists',
    })
  })

  test('may have an id in any script; where it is comes in the characters of a header', async () => {
    const { status, headers } = await ask('POST', '/goals', { id: '目标', title: 'Be faster' })
    expect([status, headers.get('location')]).toEqual([201, '/goals/%E7%9B%AE%E6%A0%87'])
    expect((await ask('GET', headers.get('location')!)).body).toMatchObject({ id: '目标', title: 'Be faster' })
  })

  test('under one Idempotency-Key is set once', async () => {
    const set = (title: string) => ask('POST', '/goals', { title }, { 'idempotency-key': 'goal-1' })
    const [first, second, other] = [await set('a'), await set('a'), await set('b')]
    expect(second.body).toEqual(first.body)
    expect(other.status).toBe(409)
  })

  test('is changed, closed, opened again; who comes late is told so', async () => {
    const { id } = await goal()
    const patch = (body: object, headers = {}) => ask('PATCH', `/goals/${id}`, body, headers)
    expect((await patch({ title: 'Faster', priority: 2 })).body).toMatchObject({
      title: 'Faster',
      priority: 2,
      version: 2,
    })
    expect((await patch({ status: 'achieved', reason: 'measured' })).body).toMatchObject({
      status: 'achieved',
      progress: { ratio: 1 },
    })
    expect((await patch({ status: 'achieved' })).body.version).toBe(3)
    expect((await ask('GET', '/goals?status=achieved')).body.items.map((one: Body) => one.id)).toContain(id)
    expect((await patch({ status: 'open' })).body).toMatchObject({ status: 'open', title: 'Faster', priority: 2 })
    expect((await patch({ status: 'dropped' })).body.status).toBe('dropped')
    expect((await patch({ title: 'x' }, { 'if-match': '"1"' })).status).toBe(409)
    expect((await patch({ title: 'x', expected_version: 1 })).status).toBe(409)
    expect((await patch({ status: 'done' })).status).toBe(422)
    expect((await ask('PATCH', '/goals/nowhere', { title: 'x' })).status).toBe(404)
  })

  test('is not a part of itself, however far up', async () => {
    const a = await goal()
    const b = await goal({ parent_id: a.id })
    const c = await goal({ parent_id: b.id })
    const { status, body } = await ask('PATCH', `/goals/${a.id}`, { parent_id: c.id })
    expect({ status, type: body.type }).toEqual({ status: 422, type: 'urn:planfold:problem:cycle' })
    expect(body.detail).toContain(`${a.id} → ${c.id} → ${b.id} → ${a.id}`)
    expect((await ask('PATCH', `/goals/${a.id}`, { parent_id: a.id })).status).toBe(422)
    expect((await ask('POST', '/goals', { title: 'x', parent_id: 'nowhere' })).status).toBe(422)
    expect((await ask('PATCH', `/goals/${c.id}`, { parent_id: null })).body.parent_id).toBe(null)
    expect((await ask('GET', `/goals?parent_id=${a.id}`)).body.items.map((one: Body) => one.id)).toEqual([b.id])
  })

  test('has come as far as its plans and sub-goals', async () => {
    const top = await goal({ title: 'top' })
    const part = await goal({ title: 'part', parent_id: top.id })
    const dropped = await goal({ title: 'dropped', parent_id: top.id })
    await ask('PATCH', `/goals/${dropped.id}`, { status: 'dropped' })
    const mine = await plan(top.id, 4, 2)
    await plan(part.id, 2, 2)
    await plan(part.id, 2, 0)
    const cancelled = await plan(part.id, 3, 0)
    await ask('PATCH', `/plans/${cancelled.id}`, { status: 'cancelled' })
    expect((await show(part.id)).progress).toEqual({
      ratio: 0.5,
      plans: { completed: 1, draft: 1, cancelled: 1 },
      tasks: 7,
      done: 2,
      goals: 0,
      complete: false,
      counted: true,
    })
    const shown = await show(top.id)
    expect(shown.progress).toMatchObject({ ratio: 0.5, tasks: 11, done: 4, goals: 2 })
    expect(shown.children.map((one: Body) => [one.title, one.status])).toEqual([
      ['dropped', 'dropped'],
      ['part', 'open'],
    ])
    expect(shown.plans).toEqual([{ id: mine.id, name: mine.name, status: 'active', state: 'active' }])
    await ask('DELETE', `/plans/${mine.id}`)
    expect((await show(top.id)).plans).toEqual([])
  })
})

describe('a goal that nobody has set', () => {
  test('is kept with its plans and listed by them', async () => {
    const { body: one } = await ask('POST', '/plans', { goal_id: 'only-named' })
    expect(await show('only-named')).toMatchObject({
      id: 'only-named',
      known: false,
      title: null,
      version: 0,
      plans: [{ id: one.id }],
    })
    const { body } = await ask('GET', '/goals/only-named/plans')
    expect(body.items).toMatchObject([{ id: one.id, goal_id: 'only-named', status: 'draft' }])
    await goal({ id: 'only-named', title: 'now set' })
    expect(await show('only-named')).toMatchObject({ known: true, title: 'now set', plans: [{ id: one.id }] })
  })

  test('and that no plan names is not found', async () => {
    for (const path of ['/goals/nowhere', '/goals/nowhere/plans']) expect((await ask('GET', path)).status).toBe(404)
    const { id } = await goal()
    expect((await ask('GET', `/goals/${id}/plans`)).body).toEqual({ items: [], next: null })
  })
})

test("a goal is complete when its plans are, and not by somebody's word", async () => {
  const one = await goal()
  await plan(one.id, 1, 1)
  expect((await show(one.id)).progress).toMatchObject({ plans: { completed: 1 }, complete: true })
  await plan(one.id, 1, 0)
  expect((await show(one.id)).progress.complete).toBe(false)
  await ask('PATCH', `/goals/${one.id}`, { status: 'achieved' })
  expect((await show(one.id)).progress).toMatchObject({ ratio: 1, complete: false })
  const empty = await goal()
  await ask('PATCH', `/goals/${empty.id}`, { status: 'achieved' })
  expect((await show(empty.id)).progress.complete).toBe(false)
})
