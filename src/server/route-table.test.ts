// Every route of the table, with every kind of token (A60, A69): made from the table itself, so that no route can be forgotten.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Actor } from '../domain/id.ts'
import type { JsonObject } from '../domain/json.ts'
import { RIGHTS, type Role } from '../engine/roles.ts'
import { external, gate, plan } from '../testing/plan.ts'
import { documentOf } from './answers.fixture.ts'
import { sample } from './api-docs/openapi.ts'
import { type Bearer, guarded } from './auth/guard.fixture.ts'
import type { ListedRoute } from './route.ts'
import { listRoutes } from './routes/route-list.ts'
import { type Served, served } from './server.fixture.ts'

const ROUTES = await listRoutes()

/** Anybody may call these; whatever is not named here needs a token. */
const PUBLIC = [
  'GET /',
  'GET /favicon.ico',
  'GET /health',
  'GET /ready',
  'GET /ui',
  'GET /ui/:place',
  'GET /ui/:place/:of',
  'GET /ui/assets/:file',
  'POST /auth/code',
  'POST /auth/logout',
]
const ROLES = Object.keys(RIGHTS) as readonly Role[]
const MARK = 'zq7secretzq7'
const named = (route: ListedRoute): string => `${route.method} ${route.path}`
const guardedRoutes = ROUTES.filter(route => route.right !== 'nothing')

const house = guarded()
let service: Served
let secret: { readonly [parameter: string]: string }
const tokens = {} as Record<Role, Bearer>

beforeAll(async () => {
  service = await served({ guard: house.guard })
  for (const role of ROLES) tokens[role] = house.token(`the-${role}`, role)
  const engine = service.composed.engine.as('ada' as Actor)
  const make = async (name: string, session: string) => {
    const tasks = [external(`${name}-work`, { title: `work of ${name}` }), gate(`${name}-gate`)]
    const definition = plan(name, ...tasks, { title: `title of ${name}` })
    const made = await engine.submit(null, { type: 'create', definition, session, goal: `goal-of-${session.length}` })
    if (!made.ok) throw new Error(made.refusal.message)
    await engine.submit(made.plan, { type: 'start' })
    return made.plan
  }
  const hidden = await make(MARK, `session-${MARK}`)
  const { items } = await engine.ask({ type: 'tasks', plan: hidden })
  const work = items.find(({ name }) => name === `${MARK}-work`)!
  secret = {
    plan: hidden,
    task: work.id,
    gate: `${MARK}-gate`,
    session: `session-${MARK}`,
    goal: `goal-of-${`session-${MARK}`.length}`,
  }
  const shown = await make('shown', 'session-shown')
  for (const role of ['viewer', 'operator', 'approver'] as const)
    scoped[role] = house.token(`scoped-${role}`, role, { scope: { plans: [shown] } })
})
afterAll(() => service.close())
const scoped = {} as Record<Exclude<Role, 'admin'>, Bearer>

describe('the table', () => {
  test('what anybody may call is on the list of what is public, and nothing else', () => {
    expect(
      ROUTES.filter(route => route.right === 'nothing')
        .map(named)
        .sort(),
    ).toEqual([...PUBLIC].sort())
  })

  test('what needs no token on the machine of the service is the description of the service, and nothing else', () => {
    expect(ROUTES.filter(route => route.isOpenHere === true).map(named)).toEqual(['GET /openapi.json', 'GET /docs'])
  })

  test('is large enough to be the real one', () => {
    expect(ROUTES.length).toBeGreaterThan(20)
  })
})

describe.each(guardedRoutes.map(route => [named(route), route] as const))('%s', (_, route) => {
  test('is closed to whoever has no token, a wrong, an expired or a revoked one', async () => {
    const expired = house.token('late', RIGHTS.admin.has(route.right as never) ? 'admin' : 'viewer', {
      expiresAt: house.now() - 1,
    })
    const revoked = house.token('gone', 'admin')
    house.revoke('gone')
    const wrong = { authorization: `Bearer planfold_${'x'.repeat(43)}` }
    expect((await call(route, {})).status).toBe(route.isOpenHere === true ? 200 : 401)
    expect([401, 429]).toContain((await call(route, wrong)).status)
    expect([401, 429]).toContain((await call(route, revoked)).status)
    const late = await call(route, expired)
    house.revoke('late')
    expect([late.status, JSON.parse(late.text).type]).toEqual([401, 'urn:planfold:problem:expired-token'])
  })

  test('is closed to every role that lacks the right, and says which role has it', async () => {
    for (const role of ROLES.filter(one => !RIGHTS[one].has(route.right as never))) {
      const { status, text } = await call(route, tokens[role])
      const body = JSON.parse(text)
      expect([role, status, body.type]).toEqual([role, 403, 'urn:planfold:problem:not-allowed'])
      expect(body.needs).toContain('admin')
    }
  })

  test.runIf(route.right !== 'administer')('shows nothing of a plan outside the scope of the token', async () => {
    const role = (['viewer', 'operator', 'approver'] as const).find(one => RIGHTS[one].has(route.right as never))!
    const { status, text } = await call(route, scoped[role])
    expect(text.replaceAll(/'[^']*' |"instance":"[^"]*"/g, '')).not.toContain(`title of ${MARK}`)
    expect(status).not.toBe(500)
    if (/:(plan|task|session)\b/.test(route.path)) {
      // What is asked for is named in the answer; what is known of it is not.
      expect([route.path, status, text]).toEqual([route.path, expect.toSatisfy(is => is === 404 || is === 422), text])
    } else expect(text).not.toContain(MARK)
  })
})

describe('a plan outside the scope of a token, named in a body or a query', () => {
  const ask = (method: string, path: string, body?: unknown, role: keyof typeof scoped = 'operator') =>
    service.ask(method, path, body, scoped[role])
  const versionOf = async () => (await service.composed.engine.ask({ type: 'summary', plan: secret.plan! }))?.version

  test('is not there, and stays as it is', async () => {
    const before = await versionOf()
    const { plan: hidden } = secret
    const task = { plan_id: hidden, title: 'x', task_type: 'x', sequence_order: 9 }
    expect((await ask('POST', '/tasks', task)).status).toBe(404)
    expect((await ask('POST', '/tasks', [task, task])).status).toBe(404)
    expect((await ask('POST', '/tasks/claim', { plan_id: hidden })).status).toBe(404)
    expect((await ask('PATCH', `/plans/${MARK}`, { status: 'paused' })).status).toBe(404)
    expect((await ask('PATCH', `/tasks/${secret.task}`, { status: 'running' })).status).toBe(404)
    expect(
      (await ask('POST', `/plans/${MARK}/gates/${secret.gate}/approve`, { rationale: 'x' }, 'approver')).status,
    ).toBe(404)
    expect((await ask('DELETE', '/plans', { ids: [hidden] })).body).toMatchObject({ archived: [], missing: [hidden] })
    expect((await ask('POST', '/engine/orders', { plan: hidden, order: { type: 'pause', reason: 'x' } })).status).toBe(
      404,
    )
    expect((await ask('POST', '/engine/queries', { query: { type: 'summary', plan: hidden } })).body).toEqual({
      answer: null,
    })
    expect(await versionOf()).toBe(before)
  })

  test('no fork is adopted from it or into it, and none of its files is restored', async () => {
    const before = await versionOf()
    const { plan: hidden } = secret
    const order = async (plan: string, what: object) => {
      const { status, body } = await ask('POST', '/engine/orders', { plan, order: what })
      return [status, JSON.stringify({ ...body, detail: '' }).includes(`title of ${MARK}`)]
    }
    expect(await order(hidden!, { type: 'adopt' })).toEqual([404, false])
    expect(await order(hidden!, { type: 'restore', paths: ['x'] })).toEqual([404, false])
    for (const into of [hidden!, MARK]) expect(await order('shown', { type: 'adopt', into })).toEqual([404, false])
    for (const query of [
      { type: 'adoption', plan: hidden },
      { type: 'adoption', plan: 'shown', into: MARK },
      { type: 'keptFiles', plan: hidden },
    ])
      expect((await ask('POST', '/engine/queries', { query })).body).toEqual({ answer: null })
    // Of its own plan it is told what is in the way.
    const own = await ask('POST', '/engine/orders', { plan: 'shown', order: { type: 'adopt' } })
    expect([own.status, own.body.detail]).toEqual([
      409,
      expect.stringContaining("'shown' is not a fork: it works in the workspace itself"),
    ])
    const nothing = await ask('POST', '/engine/orders', { plan: 'shown', order: { type: 'restore', paths: ['x'] } })
    expect(nothing.body.detail).toContain("no version of 'x' is kept")
    expect(await versionOf()).toBe(before)
  })

  test('is in no list, search or inbox', async () => {
    for (const path of [
      `/plans?session_id=${secret.session}`,
      `/plans?q=${MARK}`,
      `/plans?goal_id=${secret.goal}`,
      '/tasks',
      '/inbox',
      '/sessions',
    ]) {
      const { status, body } = await ask('GET', path)
      expect([path, status]).toEqual([path, 200])
      expect([path, JSON.stringify(body).includes(MARK)]).toEqual([path, false])
    }
    for (const path of [`/search?q=${MARK}`, `/tasks?plan_id=${secret.plan}`, `/steps?plan_id=${secret.plan}`]) {
      const { status, body } = await ask('GET', path)
      expect([path, [200, 403, 404].includes(status)]).toEqual([path, true])
      expect([path, JSON.stringify({ ...body, detail: '' }).includes(MARK)]).toEqual([path, false])
    }
  })

  test('is not claimed by whoever asks for the next task', async () => {
    const claimed = await ask('POST', '/tasks/claim', {})
    expect([claimed.status, JSON.stringify(claimed.body)]).toEqual([200, expect.not.stringContaining(MARK)])
    expect((await ask('POST', '/tasks/claim', {})).status).toBe(204)
  })

  test.each(['/events?after=0&progress=false', '/engine/entries?after=0'])('is not heard of at %s', async path => {
    const stop = new AbortController()
    const response = await fetch(service.url + path, { headers: scoped.viewer, signal: stop.signal })
    const reader = response.body!.getReader()
    let heard = ''
    // Its own events come behind those of the other plan: whoever hears them would have heard the others.
    while (!heard.includes('plan.started')) heard += Buffer.from((await reader.read()).value!).toString()
    stop.abort()
    expect(heard).toContain('title of shown')
    expect(heard).not.toContain(MARK)
    expect(heard).not.toContain(secret.plan!)
  })
})

/** With a body that fits, as far as one can be made up, so that the handler is reached. */
async function call(
  route: ListedRoute,
  headers: Bearer | object,
): Promise<{ readonly status: number; readonly text: string }> {
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(secret[name] ?? `${name}-x`))
  const body = bodyFor(route)
  const stop = new AbortController()
  const response = await fetch(service.url + path, {
    method: route.method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: stop.signal,
  })
  if ((response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    // A stream that was begun has said what it says without being asked.
    const first = await response.body!.getReader().read()
    stop.abort()
    return { status: response.status, text: Buffer.from(first.value ?? []).toString() }
  }
  return { status: response.status, text: await response.text() }
}

function bodyFor(route: ListedRoute): unknown {
  const document = documentOf(ROUTES)
  const template = route.path.replaceAll(/:(\w+)/g, '{$1}')
  const schema =
    document.paths[template]?.[route.method.toLowerCase()]?.requestBody?.content['application/json']?.schema
  return schema === undefined ? undefined : sample(document, schema as JsonObject)
}
