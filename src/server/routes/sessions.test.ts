// Sessions, their messages and their plans, over HTTP.

import { describe, expect, test } from 'vitest'
import type { Actor } from '../../domain/id.ts'
import { external, plan } from '../../testing/index.ts'
import { servedHere } from '../server.fixture.ts'

const service = servedHere()

describe('sessions', () => {
  test('one is opened, found and listed', async () => {
    const made = await service.ask('POST', '/sessions', { id: 'first', title: 'Our first' })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe('/sessions/first')
    expect(made.body).toMatchObject({ id: 'first', title: 'Our first', status: 'open', messages: 0, version: 1 })
    expect((await service.ask('GET', '/session/first/')).body).toEqual(made.body)
    expect((await service.ask('GET', '/sessions?limit=1')).body.items).toEqual([made.body])
    expect((await service.ask('GET', '/sessions?status=closed')).body.items).toEqual([])
  })

  test('an id is used once; under the same key it is the same session', async () => {
    expect((await service.ask('POST', '/sessions', { id: 'twice' })).status).toBe(201)
    expect((await service.ask('POST', '/sessions', { id: 'twice' })).status).toBe(409)
    const key = { 'idempotency-key': 'open-1' }
    const [a, b] = [await service.ask('POST', '/sessions', {}, key), await service.ask('POST', '/sessions', {}, key)]
    expect(b.body).toEqual(a.body)
    expect((await service.ask('POST', '/sessions', { title: 'other' }, key)).status).toBe(409)
  })

  test('messages are kept in order, and read page by page', async () => {
    await service.ask('POST', '/sessions', { id: 'talk' })
    for (const text of ['one', 'two', 'three'])
      expect(
        (await service.ask('POST', '/sessions/talk/messages', { role: 'agent', text, data: { n: text } })).status,
      ).toBe(201)
    const first = await service.ask('GET', '/sessions/talk/messages?limit=3')
    expect(first.body.items.map((one: { text: string }) => one.text)).toEqual(['one', 'two'])
    const rest = await service.ask('GET', `/sessions/talk/messages?cursor=${first.body.next}`)
    expect(rest.body).toMatchObject({
      items: [{ text: 'three', role: 'agent', by: 'anyone', data: { n: 'three' } }],
      next: null,
    })
  })

  test('what is not there is not found; what does not fit is told', async () => {
    expect((await service.ask('GET', '/sessions/nobody')).status).toBe(404)
    expect((await service.ask('POST', '/sessions/nobody/messages', { text: 'x' })).status).toBe(404)
    expect((await service.ask('POST', '/sessions', { id: '../x' })).status).toBe(422)
    expect((await service.ask('POST', '/session/a%2Fb/plan', { description: 'x' })).status).toBe(422)
    expect(
      (await service.ask('POST', '/sessions/talk/messages', { text: 'x', role: 'boss' })).body.faults[0].path,
    ).toBe('role')
  })
})

describe('a closed session', () => {
  test('takes no message, stays closed, and is listed as such', async () => {
    await service.ask('POST', '/sessions', { id: 'over' })
    expect((await service.ask('POST', '/sessions/over/close')).body).toMatchObject({ status: 'closed' })
    expect((await service.ask('POST', '/session/over/close')).status).toBe(200)
    expect((await service.ask('POST', '/sessions/over/messages', { text: 'x' })).status).toBe(409)
    expect((await service.ask('POST', '/session/over/plan', { description: 'x' })).status).toBe(409)
    expect((await service.ask('GET', '/sessions?status=closed')).body.items).toMatchObject([{ id: 'over' }])
  })
})

describe('the active plan of a session', () => {
  const held = async (name: string) => (await service.ask('GET', `/plans/${name}`)).body.state
  const document = (name: string) => ({ planfold: 1, name, tasks: [{ id: 'work' }] })
  const make = async (name: string, auto_execute: boolean) =>
    await service.ask('POST', '/sessions/desk/plans', { document: document(name), auto_execute })

  test('is the one under way that moved last, else the latest draft; found by its conversation', async () => {
    expect((await service.ask('GET', '/sessions/desk/plan')).status).toBe(404)
    await make('desk-1', false)
    await make('desk-2', false)
    expect((await service.ask('GET', '/sessions/desk/plan')).body.name).toBe('desk-2')
    expect((await service.ask('POST', '/plans/desk-1/execute')).body).toMatchObject({ state: 'active' })
    for (const path of ['/sessions/desk/plan', '/api/session/desk/plan', '/plans/desk'])
      expect((await service.ask('GET', path)).body.name, path).toBe('desk-1')
    const listed = await service.ask('GET', '/plans?conversation_id=desk')
    expect(listed.body.items.map((one: { name: string }) => one.name)).toEqual(['desk-2', 'desk-1'])
    // A plan of this name comes before the session of this id.
    await service.ask('POST', '/plans', document('desk'))
    expect((await service.ask('GET', '/plans/desk')).body.session_id).toBeNull()
  })

  test('has a tag of its own: another plan of the same version is shown to whoever knows the one before', async () => {
    const begin = (name: string) =>
      service.ask('POST', '/sessions/table/plans', { document: document(name), auto_execute: true })
    await begin('table-1')
    const seen = await service.ask('GET', '/plans/table')
    const known = { 'if-none-match': seen.headers.get('etag')! }
    expect((await service.ask('GET', '/plans/table', undefined, known)).status).toBe(304)
    await begin('table-2')
    const now = await service.ask('GET', '/plans/table', undefined, known)
    expect([now.status, now.body?.name, now.body?.version]).toEqual([200, 'table-2', seen.body.version])
  })

  test('is paused and resumed with all others of the session; drafts and other sessions stay as they are', async () => {
    await make('desk-3', true)
    await service.ask('POST', '/sessions/elsewhere/plans', { document: document('not-here'), auto_execute: true })
    const paused = await service.ask('POST', '/sessions/desk/pause', { reason: 'lunch' })
    expect(paused.body).toMatchObject({
      session_id: 'desk',
      status: 'paused',
      plans: [{ name: 'desk-3' }, { name: 'desk-1' }],
      refused: [],
    })
    const states = async () => [
      await held('desk-1'),
      await held('desk-2'),
      await held('desk-3'),
      await held('not-here'),
    ]
    expect(await states()).toEqual(['paused', 'draft', 'paused', 'active'])
    expect((await service.ask('GET', '/plans/desk-3')).body.reason).toBe('lunch')
    // What is paused stays the active plan, and pausing once more finds nothing.
    expect((await service.ask('GET', '/sessions/desk/plan')).body.state).toBe('paused')
    expect((await service.ask('POST', '/session/desk/pause', {})).body.plans).toEqual([])
    expect((await service.ask('POST', '/session/desk/resume')).body.plans).toHaveLength(2)
    expect(await states()).toEqual(['active', 'draft', 'active', 'active'])
    for (const verb of ['pause', 'resume'])
      expect((await service.ask('POST', `/sessions/nobody/${verb}`, verb === 'pause' ? {} : undefined)).status).toBe(
        404,
      )
  })
})

describe('a plan and a message', () => {
  test('are written together, and the message names the plan', async () => {
    const message = { role: 'agent', text: 'I will do it so', data: { tokens: 7 } }
    const body = { description: 'Paint the shed', message }
    const { status, body: made } = await service.ask('POST', '/sessions/shed/plans', body, {
      'idempotency-key': 'shed-1',
    })
    expect(status).toBe(201)
    expect((await service.ask('GET', '/sessions/shed/messages')).body.items).toMatchObject([
      { ...message, plan_id: made.id, session_id: 'shed' },
    ])
    const again = await service.ask('POST', '/sessions/shed/plans', body, { 'idempotency-key': 'shed-1' })
    expect(again.body).toMatchObject({ id: made.id, replayed: true })
    expect((await service.ask('GET', '/sessions/shed')).body.messages).toBe(1)
  })

  test('are not written when either is wrong', async () => {
    for (const body of [
      { description: 'x', message: { text: '' } },
      { document: 'planfold: 1\nname: bad\ntasks: [{ id: a, needs: [b] }]\n', message: { text: 'hi' } },
    ])
      expect((await service.ask('POST', '/sessions/nothing/plans', body)).status).toBe(422)
    expect((await service.ask('GET', '/sessions/nothing')).status).toBe(404)
  })
})

describe('plans of a session', () => {
  test('a description is planned from what stands in the workspace, and says how', async () => {
    const { status, body } = await service.ask('POST', '/api/session/s1/plan', {
      description: 'Fix the parser\nthoroughly',
    })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      name: 'fix-the-parser',
      session_id: 's1',
      description: 'Fix the parser\nthoroughly',
      status: 'pending',
      state: 'draft',
      planner: 'heuristic',
      planned: expect.stringMatching(/Assumed: /),
      analysis: { files: [], commands: { test: null } },
      auto_execute: false,
      current_step: 0,
      completed_at: null,
      cloned_from: null,
    })
    expect(body.steps.length).toBeGreaterThan(1)
    expect((await service.ask('GET', '/sessions/s1')).body).toMatchObject({ title: 'Fix the parser', status: 'open' })
  })

  test('a document is taken as it stands, in any format, and can be started at once', async () => {
    const steps = [
      { id: 'find', description: 'look', tool: 'search', params: { pattern: 'TODO' } },
      { id: 'mend', description: 'edit', tool: 'edit_file', dependencies: ['find'], retryable: true, max_retries: 2 },
    ]
    const { status, body } = await service.ask('POST', '/session/s1/plan', {
      description: 'Tidy up',
      steps,
      auto_execute: true,
    })
    expect(status).toBe(201)
    expect(body).toMatchObject({ status: 'executing', state: 'active', auto_execute: true, description: 'Tidy up' })
    expect(body.steps).toMatchObject([
      { id: 'find', tool: 'search', params: { pattern: 'TODO' }, state: 'ready', status: 'pending' },
      { id: 'mend', tool: 'edit_file', dependencies: ['find'], retryable: true, max_retries: 2, state: 'pending' },
    ])
    const text = 'planfold: 1\nname: written\ntasks:\n  - id: a\n    instruction: do it\n'
    const other = await service.ask('POST', '/session/s1/plan', { document: text })
    expect(other.body).toMatchObject({ name: 'written', planned: 'as the document says (planfold)' })
  })

  test('regression 6: a plan that is made and cannot be started is an error that names it', async () => {
    const document = { planfold: 1, name: 'later', tasks: [{ id: 'a', research: { topic: 'x' } }] }
    const { status, body } = await service.ask('POST', '/session/s2/plan', { document, auto_execute: true })
    expect(status).toBe(501)
    expect(body).toMatchObject({ created: true, plan_id: expect.any(String), hint: expect.any(String) })
  })

  test('faults of a document are told at their places, and nothing is made', async () => {
    const { status, body } = await service.ask('POST', '/session/s3/plan', {
      document: { planfold: 1, name: 'bad', tasks: [{ id: 'a', needs: ['b'] }] },
    })
    expect(status).toBe(422)
    expect(body.faults[0]).toMatchObject({ path: 'tasks[0].needs[0]', line: expect.any(Number) })
    expect((await service.ask('GET', '/session/s3/plans')).status).toBe(404)
    expect((await service.ask('POST', '/session/s3/plan', {})).body.faults[0].path).toBe('description')
    expect((await service.ask('POST', '/session/s3/plan', { description: 'x', x: 1 })).body.faults[0].path).toBe('x')
  })

  test('under one key a plan is made once, and started once', async () => {
    const ask = () =>
      service.ask('POST', '/session/s4/plan', { description: 'once', auto_execute: true }, { 'idempotency-key': 'p-1' })
    const [a, b] = [await ask(), await ask()]
    expect([a.status, b.status, b.body.id, b.body.replayed]).toEqual([201, 201, a.body.id, true])
    expect((await service.ask('GET', '/session/s4/plans')).body).toHaveLength(1)
  })

  test('lists are bare at the singular, pages at the plural', async () => {
    const bare = await service.ask('GET', '/session/s1/plans?limit=2')
    expect(bare.body).toHaveLength(2)
    const link = /<(.+)>/.exec(bare.headers.get('link') ?? '')?.[1] ?? ''
    expect((await service.ask('GET', link)).body).toHaveLength(1)
    expect((await service.ask('GET', '/sessions/s1/plans')).body).toMatchObject({ next: null, items: [{}, {}, {}] })
  })

  test('the history has pages with a total, a search, statuses, and a cursor', async () => {
    for (let n = 1; n <= 5; n++)
      await service.ask('POST', '/session/s5/plan', { description: `number ${n}`, auto_execute: n === 2 })
    const page = await service.ask('GET', '/session/s5/plans/history?page=2&limit=2')
    expect(page.body).toMatchObject({ page: 2, limit: 2, total: 5, total_pages: 3 })
    expect(page.body.plans.map((one: { description: string }) => one.description)).toEqual(['number 3', 'number 2'])
    const next = await service.ask(
      'GET',
      `/session/s5/plans/history?limit=2&cursor=${encodeURIComponent(page.body.next)}`,
    )
    expect(next.body).toMatchObject({
      page: null,
      total: null,
      next: null,
      plans: [{ description: 'number 1', step_count: expect.any(Number) }],
    })
    const running = await service.ask('GET', '/session/s5/plans/history?status=executing')
    expect(running.body).toMatchObject({
      total: 1,
      plans: [{ description: 'number 2', status: 'executing', duration: expect.any(Number) }],
    })
    expect((await service.ask('GET', '/session/s5/plans/history?search=number')).body.total).toBe(5)
    expect((await service.ask('GET', '/session/s5/plans/history?search=4')).body.total).toBe(1)
    expect((await service.ask('GET', '/session/s5/plans/history?status=planning')).body.total).toBe(0)
    expect((await service.ask('GET', '/session/s5/plans/history?status=busy')).status).toBe(422)
  })
})

describe('what is said of a session', () => {
  test('a description beside a document is kept and shown', async () => {
    const document = { planfold: 1, name: 'beside', tasks: [{ id: 'a', run: 'true' }] }
    const made = await service.ask('POST', '/session/beside/plan', { description: 'Make it faster', document })
    expect(made.body).toMatchObject({ name: 'beside', description: 'Make it faster' })
    const own = await service.ask('POST', '/session/beside/plan', {
      description: 'Make it faster',
      document: { ...document, goal: 'A goal of its own', title: 'A title' },
    })
    expect(own.body.description).toBe('Make it faster')
    const current = await service.composed.engine.ask({ type: 'definition', plan: own.body.id })
    expect(current?.definition).toMatchObject({ goal: 'A goal of its own', extra: { description: 'Make it faster' } })
  })

  test('a bad id is one of the path', async () => {
    const { status, body } = await service.ask('POST', '/session/%20/plan', { description: 'x' })
    expect({ status, detail: body.detail }).toEqual({
      status: 422,
      detail: "'session' of the path: cannot be the id of a session",
    })
    expect((await service.ask('POST', '/sessions', { id: ' ' })).body.detail).toMatch(/^'id' of the body/)
  })

  test('one that a plan names is known, whoever opened it or not; any other is not', async () => {
    const definition = plan('lonely', external('a'))
    await service.composed.engine.as('ana' as Actor).submit(null, { type: 'create', definition, session: 'unopened' })
    const { status, body } = await service.ask('GET', '/session/unopened/plans')
    expect({ status, names: body.map((one: { name: string }) => one.name) }).toEqual({ status: 200, names: ['lonely'] })
    for (const path of ['plans', 'plans/history'])
      expect((await service.ask('GET', `/session/nobody/${path}`)).status).toBe(404)
  })
})
