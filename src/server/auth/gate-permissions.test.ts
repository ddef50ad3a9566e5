// Whoever runs a plan does not get past its gates, by whatever route (the rules themselves: engine/permissions/gate-rules.test.ts); and
// whoever only looks is shown nothing they could act with.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PlanId } from '../../domain/id.ts'
import type { PlanDefinition, Policy, TaskDefinition } from '../../domain/plan.ts'
import { printJson } from '../../format/plan/print.ts'
import { external, gate, plan, task } from '../../testing/index.ts'
import { listRoutes } from '../routes/route-list.ts'
import { type Served, served } from '../server.fixture.ts'
import { type Bearer, type Guarded, guarded } from './guard.fixture.ts'

const ROUTES = await listRoutes()

let service: Served
let guard: Guarded
let olga: Bearer
let ana: Bearer
let vera: Bearer
let root: Bearer
beforeAll(async () => {
  guard = guarded()
  service = await served({ guard: guard.guard })
  olga = guard.token('olga', 'operator')
  ana = guard.token('ana', 'approver')
  vera = guard.token('vera', 'viewer')
  root = guard.token('root', 'admin')
})
afterAll(() => service.close())

let count = 0
const fresh = (): string => `kept-${++count}`
/** The gate asks at once, unless it needs something. */
const shape = (called: string, policy?: Policy, needs: readonly string[] = []): PlanDefinition =>
  plan(
    called,
    external('a'),
    gate('g', needs.length === 0 ? {} : { needs }),
    external('m', { needs: ['g'] }),
    external('dep', { needs: ['m'] }),
    ...(policy === undefined ? [] : [{ policy }]),
  )
async function make(definition: PlanDefinition, start = true): Promise<PlanId> {
  const { engine } = service.composed
  const made = await engine.submit(null, { type: 'create', definition })
  if (!made.ok) throw new Error(made.refusal.message)
  if (start) await engine.submit(made.plan, { type: 'start' })
  return made.plan
}
const documentOf = (definition: PlanDefinition) => JSON.parse(printJson(definition)) as object
const open = (called: string): object => documentOf(plan(called, external('a'), external('dep')))

type Way = (id: PlanId, called: string) => readonly [method: string, path: string, body?: unknown]
const ordered =
  (order: (called: string) => unknown): Way =>
  (id, called) => ['POST', '/engine/orders', { plan: id, order: order(called) }]

const WAYS: { readonly [what: string]: Way } = {
  'to skip it': id => ['POST', `/plans/${id}/tasks/g/skip`, { reason: 'x' }],
  'to set it skipped': (_, called) => ['PATCH', `/tasks/${called}:g`, { status: 'skipped' }],
  'to order that it is skipped': ordered(() => ({ type: 'skip', task: 'g', reason: 'x' })),
  'to skip what stands behind it': ordered(() => ({ type: 'skip', task: 'm', reason: 'x' })),
  'to say that the plan is complete': id => ['PATCH', `/plans/${id}`, { status: 'completed' }],
  'to order that the plan is complete': ordered(() => ({ type: 'finish', as: 'completed', reason: 'x' })),
  'to let a task depend on nothing': (_, called) => ['PATCH', `/tasks/${called}:m`, { depends_on: [] }],
  'to change what a task needs': ordered(() => ({ type: 'change', task: 'dep', set: {}, unset: ['needs'] })),
  'to change the gate': ordered(() => ({ type: 'change', task: 'g', set: { title: 'harmless' } })),
  'to give it another title': (_, called) => ['PATCH', `/tasks/${called}:g`, { title: 'harmless' }],
  'to remove it with what needs it': ordered(() => ({ type: 'remove', tasks: ['g', 'm', 'dep'] })),
  'to revise the plan': (id, called) => ['POST', `/plans/${id}/revisions`, { document: open(called) }],
  'to order a revision': ordered(called => ({ type: 'revise', definition: open(called), rationale: 'x' })),
  'to run the gate with inputs': id => ['POST', `/plans/${id}/tasks/g/run`, { inputs: { x: 1 } }],
}

describe('an operator may not get past a gate:', () => {
  test.each(Object.entries(WAYS))('%s', async (_, way) => {
    const called = fresh()
    const id = await make(shape(called))
    const before = await service.composed.engine.ask({ type: 'summary', plan: id })
    const [method, path, body] = way(id, called)
    const said = await service.ask(method, path, body, olga)
    if (path.endsWith('/run')) expect(said.status).toBe(409)
    else
      expect(said).toMatchObject({
        status: 403,
        body: { type: 'urn:planfold:problem:not-allowed', hint: expect.stringContaining(`${called}/proposals`) },
      })
    expect(await service.composed.engine.ask({ type: 'summary', plan: id })).toEqual(before)
    expect(service.errors).toEqual([])
  })

  test('to delete it', async () => {
    const called = fresh()
    await make(plan(called, external('a'), gate('g', { needs: ['a'] })))
    expect(await service.ask('DELETE', `/tasks/${called}:g`, undefined, olga)).toMatchObject({ status: 403 })
    expect(await service.ask('DELETE', `/tasks/${called}:g`, undefined, root)).toMatchObject({ status: 204 })
    // That others need it is still a conflict with them.
    const other = fresh()
    await make(plan(other, external('a'), external('b', { needs: ['a'] })))
    expect(await service.ask('DELETE', `/tasks/${other}:a`, undefined, olga)).toMatchObject({ status: 409 })
  })

  test('by a proposal that takes effect by itself', async () => {
    for (const [replan, status] of [
      ['auto', 403],
      ['ask', 201],
    ] as const) {
      const called = fresh()
      const id = await make(shape(called, { replan }, ['a']))
      const body = { document: { ...open(called), policy: { replan } }, rationale: 'x' }
      const said = await service.ask('POST', `/plans/${id}/proposals`, body, olga)
      expect({ replan, status: said.status }).toEqual({ replan, status })
      expect((await service.composed.engine.ask({ type: 'definition', plan: id }))?.revision).toBe(1)
    }
  })

  test('that was rejected', async () => {
    const id = await make(shape(fresh()))
    const done = await service.ask('POST', `/plans/${id}/gates/g/reject`, { rationale: 'no' }, ana)
    expect(done.status).toBe(200)
    expect(await service.ask('POST', `/plans/${id}/tasks/g/skip`, { reason: 'x' }, olga)).toMatchObject({ status: 403 })
  })
})

test('the inbox offers each token what it may answer, and takes that answer', async () => {
  const definition = plan(fresh(), gate('g'), external('w', { assignee: 'olga' }))
  const id = await make(definition)
  interface Item {
    readonly id: string
    readonly task: string
    readonly answers: readonly unknown[]
  }
  const look = async (who: Bearer) => {
    const { items } = (await service.ask('GET', `/inbox?plan_id=${id}`, undefined, who)).body
    return new Map((items as Item[]).map(item => [item.task, item]))
  }
  const [hers, theirs] = [await look(olga), await look(ana)]
  expect([hers.get('g')!.answers.length, hers.get('w')!.answers.length > 0]).toEqual([0, true])
  expect([theirs.get('g')!.answers.length > 0, theirs.get('w')!.answers.length]).toEqual([true, 0])
  const say = (who: Bearer, task: string, answer: string) =>
    service.ask('POST', `/inbox/${hers.get(task)!.id}/answer`, { answer, unseen: true }, who)
  expect((await say(olga, 'g', 'approve')).body).toMatchObject({
    status: 403,
    detail: "a token with the role 'operator' may not do this",
    hint: 'use one with the role approver or admin',
  })
  expect((await say(ana, 'w', 'claim')).status).toBe(403)
  expect((await say(vera, 'w', 'claim')).status).toBe(403)
  expect((await say(olga, 'w', 'claim')).status).toBe(200)
  expect((await say(ana, 'g', 'approve')).status).toBe(200)
})

describe('an operator may', () => {
  test('change a draft freely', async () => {
    for (const what of ['to revise the plan', 'to change the gate', 'to let a task depend on nothing']) {
      const called = fresh()
      const id = await make(shape(called), false)
      const [method, path, body] = WAYS[what]!(id, called)
      expect((await service.ask(method, path, body, olga)).status).toBeLessThan(300)
    }
  })

  test('work before a gate, behind one that was passed, and beside it', async () => {
    const called = fresh()
    const id = await make(shape(called))
    const ok = async (method: string, path: string, body?: unknown, by = olga) =>
      expect((await service.ask(method, path, body, by)).status).toBeLessThan(300)
    await ok('POST', `/plans/${id}/tasks/a/skip`, { reason: 'x' })
    await ok('PATCH', `/tasks/${called}:dep`, { title: 'Ship it', depends_on: ['g'] })
    await ok('POST', '/tasks', { plan_id: id, name: 'more', agent_id: 'x', task_type: 'x' })
    await ok('POST', `/plans/${id}/reorder`, { order: ['a', 'dep', 'm', 'g'] })
    await ok('POST', `/plans/${id}/gates/g/approve`, { rationale: 'fine', unseen: true }, ana)
    await ok('POST', `/plans/${id}/tasks/m/skip`, { reason: 'x' })
    await ok('PATCH', `/plans/${id}`, { status: 'completed' })
    expect(service.errors).toEqual([])
  })

  test('say that a plan has failed, and cancel it', async () => {
    const failed = await make(shape(fresh()))
    expect(await service.ask('PATCH', `/plans/${failed}`, { status: 'failed' }, olga)).toMatchObject({ status: 200 })
    const cancelled = await make(shape(fresh()))
    expect((await service.ask('POST', `/plans/${cancelled}/cancel`, {}, olga)).status).toBe(200)
  })

  test('repeat under a key what was done, and expect a version', async () => {
    const called = fresh()
    const id = await make(shape(called))
    const key = { ...olga, 'idempotency-key': `key-${called}` }
    const skip = (headers: { readonly [name: string]: string }) =>
      service.ask('POST', `/plans/${id}/tasks/a/skip`, { reason: 'x' }, { ...key, ...headers })
    const version = (await service.composed.engine.ask({ type: 'summary', plan: id }))!.version
    expect(await skip({ 'if-match': `"${version + 1}"` })).toMatchObject({ status: 409 })
    expect(await skip({ 'if-match': `"${version - 1}"` })).toMatchObject({ status: 409 })
    const first = await skip({ 'if-match': `"${version}"` })
    expect(first.status).toBe(200)
    const again = await skip({})
    expect([again.status, again.body.version]).toEqual([200, first.body.version])
  })
})

describe('nobody who may not decide has', () => {
  const forked = async (id: PlanId, order: object, by: Bearer) =>
    await service.ask('POST', '/engine/orders', { plan: id, order: { type: 'fork', here: true, ...order } }, by)
  const statusesOf = async (id: PlanId) => {
    const board = (await service.composed.engine.ask({ type: 'board', plan: id })) ?? []
    return Object.fromEntries(board.map(({ name, status }) => [name, status]))
  }

  test('a fork that goes on from an approval: it asks again, where what it releases is still to do', async () => {
    const id = await make(shape(fresh()))
    await service.ask('POST', `/plans/${id}/gates/g/approve`, { rationale: 'fine', unseen: true }, ana)
    const [mine, theirs] = [await forked(id, { from: 'g' }, olga), await forked(id, { from: 'g' }, root)]
    expect([mine.status, theirs.status]).toEqual([200, 200])
    expect(await statusesOf(mine.body.plan)).toMatchObject({ g: 'pending', m: 'pending' })
    // Who may decide at the gate has decided by forking from behind it.
    expect(await statusesOf(theirs.body.plan)).toMatchObject({ g: 'completed', m: 'pending' })
    await service.ask('POST', '/engine/orders', { plan: mine.body.plan, order: { type: 'start' } }, olga)
    expect(await service.composed.engine.ask({ type: 'summary', plan: mine.body.plan })).toMatchObject({
      waiting: [{ task: 'g' }],
    })
    // Behind what it released, nothing is open that it would be asked about.
    await service.ask('POST', `/plans/${id}/tasks/m/skip`, { reason: 'x' }, olga)
    const later = await forked(id, { from: 'm' }, olga)
    expect(await statusesOf(later.body.plan)).toMatchObject({ g: 'completed', m: 'skipped', dep: 'pending' })
  })

  test('a plan that says a gate was passed', async () => {
    const definition = documentOf(shape('any'))
    const said = async (status: string, by: Bearer) => {
      const order = { type: 'create', definition, taken: 'number', imported: [{ task: 'g', status }] }
      return await service.ask('POST', '/engine/orders', { plan: null, order }, by)
    }
    for (const status of ['completed', 'skipped']) {
      expect(await said(status, olga)).toMatchObject({ status: 403, body: { detail: expect.stringContaining("'g'") } })
      expect((await said(status, root)).status).toBe(200)
    }
    expect((await said('failed', olga)).status).toBe(200)
  })

  test('a second task that does what a gate holds back', async () => {
    const run = (id: string, ...needs: readonly string[]) =>
      task(id, { action: { type: 'run', command: { argv: ['ship', 'it'] } }, ...(needs.length === 0 ? {} : { needs }) })
    const gated = (called: string, ...more: readonly TaskDefinition[]) =>
      plan(called, external('a'), gate('g', { needs: ['a'] }), run('ship', 'g'), ...more)
    const called = fresh()
    const id = await make(gated(called))
    const revised = async (by: Bearer, ...more: readonly TaskDefinition[]) =>
      await service.ask('POST', `/plans/${id}/revisions`, { document: documentOf(gated(called, ...more)) }, by)
    const copy = run('again')
    expect(await revised(olga, copy)).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining("'again'") },
    })
    expect(await revised(olga, task('again', { action: { type: 'subplan', tasks: [copy] } }))).toMatchObject({
      status: 403,
    })
    expect((await revised(olga, external('again'))).status).toBeLessThan(300)
    expect(await revised(olga, copy)).toMatchObject({ status: 403 })
    expect((await revised(olga, external('again'), run('more', 'g'))).status).toBeLessThan(300)
    expect((await revised(root, copy)).status).toBeLessThan(300)
  })
})

test('whoever may decide may do all of it', async () => {
  for (const what of ['to skip it', 'to say that the plan is complete', 'to revise the plan', 'to change the gate']) {
    const called = fresh()
    const id = await make(shape(called, undefined, ['a']))
    const [method, path, body] = WAYS[what]!(id, called)
    expect({ what, status: (await service.ask(method, path, body, root)).status < 300 }).toEqual({ what, status: true })
  }
})

test('only an admin may halt and lift', () => {
  const halting = ROUTES.filter(({ path, method }) => path.endsWith('/halt') && method !== 'GET')
  expect(halting.map(({ right }) => right)).toEqual(['administer', 'administer'])
})

describe('who only looks is shown', () => {
  test("no token of another's claim", async () => {
    const called = fresh()
    const id = await make(shape(called))
    const claimed = await service.ask('POST', `/plans/${id}/tasks/a/claim`, {}, olga)
    const { token } = claimed.body
    expect(token).toMatch(/.{16}/)
    const position = (await service.composed.engine.ask({ type: 'position' })) - 10
    const seen: string[] = []
    for (const path of ['entries', 'audit', 'replay', 'handoff', 'board', 'attempts', 'status', 'digest', 'full']) {
      const told = await service.ask('GET', `/${path === 'full' ? 'plan' : 'plans'}/${id}/${path}`, undefined, vera)
      expect({ path, status: told.status, errors: service.errors }).toEqual({ path, status: 200, errors: [] })
      seen.push(JSON.stringify(told.body))
    }
    for (const type of ['entries', 'audit', 'chain', 'replay', 'board', 'checkpoints', 'handoff', 'summary', 'next']) {
      const told = await service.ask('POST', '/engine/queries', { query: { type, plan: id } }, vera)
      expect({ type, status: told.status }).toEqual({ type, status: 200 })
      seen.push(JSON.stringify(told.body))
    }
    const cut = new AbortController()
    const stream = await fetch(`${service.url}/engine/entries?after=${Math.max(0, position)}&plan=${id}`, {
      headers: vera,
      signal: cut.signal,
    })
    let text = ''
    for await (const chunk of stream.body!) {
      text += Buffer.from(chunk).toString('utf8')
      if (text.includes('"claim":{')) break
    }
    cut.abort()
    seen.push(text)
    expect(seen.filter(one => one.includes(token))).toEqual([])
    expect(text).toContain('"claim":{"by":"olga"}')
    const reported = { token, status: 'completed' }
    expect((await service.ask('POST', `/plans/${id}/tasks/a/report`, reported, olga)).status).toBe(200)
  })

  test('no bytes of the workspace; whoever works or decides is', async () => {
    const sha256 = '0'.repeat(64)
    for (const [who, status] of [
      [vera, 403],
      [olga, 404],
      [ana, 404],
      [root, 404],
    ] as const) {
      expect((await service.ask('GET', `/blobs/${sha256}`, undefined, who)).status).toBe(status)
      const asked = await service.ask('POST', '/engine/queries', { query: { type: 'blob', sha256 } }, who)
      expect(asked.status).toBe(status === 403 ? 403 : 200)
    }
    const id = await make(plan(fresh(), external('a')))
    expect(await service.ask('GET', `/plans/${id}/artifacts/${sha256}`, undefined, vera)).toMatchObject({ status: 404 })
  })
})
