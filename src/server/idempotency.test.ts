// `Idempotency-Key` on every POST: asked twice under one key, everything happens once and is answered as it was. Every POST of the
// table is here, or says why a key changes nothing about it.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lacks } from '../composition/missing-extra.fixture.ts'
import type { PlanId } from '../domain/id.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { printJson } from '../format/plan/print.ts'
import { edit, external, gate, name, plan, task } from '../testing/index.ts'
import { listRoutes } from './routes/route-list.ts'
import { type Served, served } from './server.fixture.ts'

const ROUTES = await listRoutes()

let service: Served
beforeAll(async () => {
  const opencode = { name: 'opencode', title: 'opencode', version: '1', tested: '1', wire: 'openai-chat' } as const
  const installed = {
    install: 'opencode-ai',
    ...{ needsModel: false, from: 'planfold' as const, hasLogin: false },
    status: 'installed',
    road: 'acp',
    program: '/opencode',
  } as const
  service = await served({ agents: async () => [{ ...opencode, ...installed }] })
})
afterAll(() => service.close())

interface Asked {
  readonly at: { readonly [name: string]: string }
  readonly body?: unknown
}
type Scene = (fresh: string) => Promise<Asked>

/** Why a key changes nothing. */
const WITHOUT: { readonly [path: string]: string } = {
  '/mcp': 'a message of another protocol; its tools take a key of their own',
  '/auth/code': 'a code works once by itself',
  '/auth/codes': 'a code is a secret, and is not kept to be told again',
  '/auth/logout': 'nothing is left to be ended the second time',
  '/tokens': 'a token is a secret, and is not kept to be told again; its name is taken the second time',
  '/engine/queries': 'changes nothing',
  '/plans/:plan/redraft': 'changes nothing',
  '/halt': 'who said it first stands',
  ...Object.fromEntries(
    ['/sessions', '/session'].flatMap(path => [
      [`${path}/:session/pause`, 'is an order to each of its plans; what is paused stays so'],
      [`${path}/:session/resume`, 'is an order to each of its plans; what goes on goes on'],
    ]),
  ),
  '/tasks/:task/heartbeat': 'the same claim is held on to',
  '/plans/:plan/tasks/:task/heartbeat': 'the same claim is held on to',
  ...Object.fromEntries(
    (lacks('artifacts') ? [] : ['', '/plans/:plan']).map(path => [
      `${path}/tasks/:task/artifacts/:artifact`,
      'a part that is there is not taken again',
    ]),
  ),
}

/** Happens once all the same, and says the second time how things stand by then. */
const TELLS_NOW: { readonly [path: string]: number } = {
  // What was decided waits no longer, and without it nobody can say which review was meant.
  '/plans/:plan/review': 409,
}

/** Answered without a word about the first time: nothing was left to do, or the answer is a no. */
const UNTOLD: ReadonlySet<string> = new Set([
  '/sessions/:session/close',
  '/session/:session/close',
  '/templates',
  '/goals/:goal/decompose',
  '/plans/:plan/review',
])

async function make(definition: PlanDefinition, start = true, session?: string): Promise<PlanId> {
  const { engine } = service.composed
  const made = await engine.submit(null, { type: 'create', definition, session })
  if (!made.ok) throw new Error(made.refusal.message)
  if (start) await must(made.plan, { type: 'start' })
  return made.plan
}
async function must(id: PlanId, order: Parameters<Served['composed']['engine']['submit']>[1]) {
  const { engine } = service.composed
  const done = await engine.submit(id, order)
  if (!done.ok) throw new Error(`${order.type}: ${done.refusal.message}`)
  return done
}
const drive = (id: PlanId) => service.composed.worker.drive(id, { stop: new AbortController().signal })
const documentOf = (definition: PlanDefinition) => JSON.parse(printJson(definition)) as object

const external2 = (fresh: string) => plan(fresh, external('a'), external('b'))
const running: Scene = async fresh => ({ at: { plan: await make(external2(fresh)), task: 'a' } })
const taskAlone =
  (scene: Scene): Scene =>
  async fresh => {
    const { at, body } = await scene(fresh)
    return { at: { task: `${fresh}:${at.task}` }, body }
  }
const withBody =
  (scene: Scene, body: unknown): Scene =>
  async fresh => ({ ...(await scene(fresh)), body })
const draft: Scene = async fresh => ({ at: { plan: await make(external2(fresh), false) } })
const claimed: Scene = async fresh => {
  const id = await make(external2(fresh))
  const { claim } = await must(id, { type: 'claim', task: name('a') })
  return { at: { plan: id, task: 'a' }, body: { token: claim!.token, status: 'completed' } }
}
const ended: Scene = async fresh => {
  const id = await make(external2(fresh))
  await must(id, { type: 'skip', task: name('a'), reason: 'x' })
  await must(id, { type: 'skip', task: name('b'), reason: 'x' })
  return { at: { plan: id, task: 'a' } }
}
const gated =
  (definition: (fresh: string) => PlanDefinition, body: unknown): Scene =>
  async fresh => ({ at: { plan: await make(definition(fresh)), gate: 'g' }, body })
const asking: Scene = async fresh => {
  const id = await make(external2(fresh))
  await must(id, { type: 'ask', text: 'well?', form: [{ name: 'x', type: 'text' }] })
  const [question] = (await service.composed.engine.ask({ type: 'questions', plan: id }))!
  return { at: { plan: id, question: question!.id }, body: { answers: { x: 'y' } } }
}
const proposed: Scene = async fresh => {
  const id = await make(external2(fresh))
  await must(id, {
    type: 'propose',
    definition: plan(fresh, external('a'), external('b'), external('c')),
    rationale: 'x',
  })
  const [card] = (await service.composed.engine.ask({ type: 'proposals', plan: id }))!
  return { at: { plan: id, proposal: card!.id }, body: { hash: card!.hash, rationale: 'x' } }
}
const written: Scene = async fresh => {
  const id = await make(plan(fresh, edit('e', `${fresh}.txt`)))
  await drive(id)
  return { at: { plan: id }, body: {} }
}
/** A task whose outcome nobody knows waits for a person. */
const failing: Scene = async fresh => {
  const failed = task('g', {
    action: { type: 'run', command: { argv: ['false'] } },
    recover: [{ do: { type: 'ask' } }],
  })
  const id = await make(plan(fresh, failed))
  await drive(id)
  return { at: { plan: id, gate: 'g' }, body: { rationale: 'x' } }
}

const SCENES: { readonly [path: string]: Scene } = {
  '/plans': async fresh => ({ at: {}, body: documentOf(plan(fresh, external('a'))) }),
  '/tasks': async fresh => ({ at: {}, body: { plan_id: (await draft(fresh)).at.plan, description: 'do it' } }),
  '/plans/:plan/reorder': withBody(draft, { order: ['b'] }),
  '/plans/:plan/notes': withBody(draft, { text: 'hello' }),
  '/plans/:plan/budget': withBody(
    async fresh => ({ at: { plan: await make(plan(fresh, task('a'), { policy: { budget: { attempts: 3 } } })) } }),
    { attempts: 2 },
  ),
  '/plans/:plan/revisions': async fresh => ({
    ...(await draft(fresh)),
    body: { document: documentOf(plan(fresh, external('a'))), rationale: 'x' },
  }),
  '/plans/:plan/proposals': async fresh => ({
    ...(await running(fresh)),
    body: { document: documentOf(plan(fresh, external('a'))), rationale: 'x' },
  }),
  // Drafted without a model; the planner has to be asked again for something it can do.
  '/plans/:plan/replan': async () => {
    const goal = 'Fix the sum. Rename `add` to `sum`.'
    const { body } = await service.ask('POST', '/plans', { goal })
    await must(body.id, { type: 'start' })
    return { at: { plan: body.id }, body: { reason: 'Rename `sum` to `total`.' } }
  },
  '/plans/:plan/proposals/:proposal/accept': proposed,
  '/plans/:plan/proposals/:proposal/decline': proposed,
  '/plans/:plan/questions': withBody(running, { text: 'well?' }),
  '/plans/:plan/questions/:question/answer': asking,
  '/inbox/:id/answer': async fresh => {
    const id = await make(plan(fresh, gate('g')))
    const { items } = await service.composed.engine.ask({ type: 'inbox' })
    return {
      at: { id: items.find(one => one.plan === id)!.id },
      body: { answer: 'approve', rationale: 'x', unseen: true },
    }
  },
  '/plans/:plan/gates/:gate/approve': gated(fresh => plan(fresh, gate('g')), { rationale: 'x', unseen: true }),
  '/plans/:plan/gates/:gate/reject': gated(fresh => plan(fresh, gate('g')), { rationale: 'x' }),
  '/plans/:plan/gates/:gate/push-back': async fresh => {
    const id = await make(plan(fresh, external('a'), gate('g', { needs: ['a'] })))
    await must(id, { type: 'claim', task: name('a') })
    await must(id, { type: 'report', task: name('a'), result: { status: 'succeeded' } })
    return { at: { plan: id, gate: 'g' }, body: { rationale: 'again', to: 'a' } }
  },
  '/plans/:plan/gates/:gate/choose': gated(
    fresh =>
      plan(fresh, task('g', { action: { type: 'gate', gate: 'decision', options: [{ id: 'x' }, { id: 'y' }] } })),
    { option: 'x', rationale: 'x' },
  ),
  '/plans/:plan/gates/:gate/answer': gated(
    fresh =>
      plan(
        fresh,
        task('g', { action: { type: 'gate', gate: 'question', question: 'q', form: [{ name: 'x', type: 'text' }] } }),
      ),
    { answers: { x: 'y' } },
  ),
  '/plans/:plan/gates/:gate/done': async fresh => {
    const id = await make(plan(fresh, task('g', { action: { type: 'run', command: { argv: ['sleep', '60'] } } })))
    const [begun, stop, force] = [new AbortController(), new AbortController(), new AbortController()]
    const driving = service.composed.worker.drive(id, { stop: stop.signal, force: force.signal })
    for await (const { events } of service.composed.engine.watch({ plan: id, after: 0, signal: begun.signal }))
      if (events.some(({ type }) => type === 'attempt.started')) break
    // Ended by force in the middle, nobody knows what came of it.
    stop.abort()
    force.abort()
    await driving
    return { at: { plan: id, gate: 'g' }, body: { rationale: 'x' } }
  },
  '/plans/:plan/gates/:gate/again': failing,
  '/plans/:plan/gates/:gate/skip': failing,
  '/plans/:plan/review': async fresh => {
    const id = await make(plan(fresh, gate('g'), gate('h'), { policy: { review: { windowMs: 60_000, max: 2 } } }))
    return { at: { plan: id }, body: { verdict: 'approve', rationale: 'x', unseen: true } }
  },
  '/plans/:plan/execute': draft,
  '/plans/:plan/worker': withBody(draft, { agent: 'opencode' }),
  '/plans/:plan/pause': running,
  '/plans/:plan/resume': async fresh => {
    const scene = await running(fresh)
    await must(scene.at.plan as PlanId, { type: 'pause' })
    return { at: scene.at }
  },
  '/plans/:plan/cancel': running,
  '/plans/:plan/clone': draft,
  '/plans/:plan/fork': withBody(written, { from: 'e' }),
  '/plans/:plan/rollback': written,
  '/plans/:plan/checkpoints': withBody(running, { name: 'here' }),
  '/plans/:plan/tasks/:task/run': withBody(running, {}),
  '/plans/:plan/tasks/:task/claim': withBody(running, {}),
  '/plans/:plan/tasks/:task/report': claimed,
  '/plans/:plan/tasks/:task/skip': withBody(running, { reason: 'x' }),
  '/plans/:plan/tasks/:task/retry': ended,
  '/tasks/claim': async fresh => ({ at: {}, body: { plan_id: (await running(fresh)).at.plan } }),
  '/tasks/:task/evaluations': async fresh => {
    await draft(fresh)
    return { at: { task: `${fresh}:a` }, body: { score: 1 } }
  },
  '/goals': async fresh => ({ at: {}, body: { title: fresh } }),
  '/goals/:goal/decompose': async fresh => {
    await service.ask('POST', '/goals', { id: `goal-${fresh}`, title: 'Fix the sum. Rename `add` to `sum`.' })
    return { at: { goal: `goal-${fresh}` }, body: {} }
  },
  '/templates': async fresh => ({ at: {}, body: { plan_id: (await draft(fresh)).at.plan, name: `t-${fresh}` } }),
  '/templates/:template/plans': async fresh => {
    const { plan_id } = (await SCENES['/templates']!(`of-${fresh}`)).body as { readonly plan_id: string }
    await service.ask('POST', '/templates', { plan_id, name: `t-${fresh}` })
    return { at: { template: `t-${fresh}` }, body: { name: fresh, values: {} } }
  },
  '/sessions': async fresh => ({ at: {}, body: { id: fresh, title: 'x' } }),
  '/sessions/:session/messages': async fresh => {
    await service.ask('POST', '/sessions', { id: fresh })
    return { at: { session: fresh }, body: { text: 'hi' } }
  },
  '/sessions/:session/close': async fresh => {
    await service.ask('POST', '/sessions', { id: fresh })
    return { at: { session: fresh } }
  },
  '/sessions/:session/plans': async fresh => ({ at: { session: fresh }, body: { description: 'do it' } }),
  '/engine/orders': async fresh => ({
    at: {},
    body: { plan: null, order: { type: 'create', definition: documentOf(plan(fresh, external('a'))) } },
  }),
  '/engine/streams': async fresh => ({
    at: {},
    body: { of: 'sessions', do: 'append', id: fresh, events: [{ type: 'session.opened', title: 'x' }] },
  }),
}

/** The same thing at an address of a seed. */
const ALSO: readonly (readonly [RegExp, string])[] = [
  [/^\/plan\//, '/plans/'],
  [/^\/session\/:session\/plan$/, '/sessions/:session/plans'],
  [/^\/session\//, '/sessions/'],
]
const sceneOf = (path: string): Scene | undefined => {
  const also = ALSO.find(([form]) => form.test(path))
  const own = SCENES[path] ?? (also === undefined ? undefined : SCENES[path.replace(...also)])
  const inPlan = SCENES[`/plans/:plan${path}`]
  return own ?? (inPlan === undefined ? undefined : taskAlone(inPlan))
}

const posts = ROUTES.filter(({ method }) => method === 'POST').map(({ path }) => path)

test('every POST is here, or says why a key changes nothing', () => {
  expect(posts.filter(path => WITHOUT[path] === undefined && sceneOf(path) === undefined)).toEqual([])
  expect([...Object.keys(SCENES), ...Object.keys(WITHOUT)].filter(path => !posts.includes(path))).toEqual([])
})

test('who takes no notice of a key says so, and offers none', async () => {
  const deaf = ROUTES.filter(({ method, once }) => method === 'POST' && once === false)
  expect(deaf.map(({ path }) => path).sort()).toEqual([
    '/auth/code',
    '/auth/codes',
    '/auth/logout',
    '/engine/queries',
    '/halt',
    '/mcp',
    '/tokens',
  ])
  const { body } = await service.ask('GET', '/openapi.json')
  for (const [path, methods] of Object.entries<{ post?: { parameters?: { name: string }[] } }>(body.paths)) {
    if (methods.post === undefined) continue
    const takes = (methods.post.parameters ?? []).some(one => one.name === 'Idempotency-Key')
    const isDeaf = deaf.some(one => one.path.replaceAll(/:(\w+)/g, '{$1}') === path)
    expect({ path, takes }).toEqual({ path, takes: !isDeaf })
  }
})

describe('a key that was used to execute a plan', () => {
  const K = { 'idempotency-key': 'execute-once' }

  test('does not set it going again when it was paused since', async () => {
    const id = await make(external2('paused-since'), false)
    const first = await service.ask('POST', `/plans/${id}/execute`, undefined, K)
    expect(first).toMatchObject({ status: 202, body: { attached: false, state: 'active' } })
    await service.ask('POST', `/plans/${id}/pause`)
    const second = await service.ask('POST', `/plans/${id}/execute`, undefined, K)
    expect(second).toMatchObject({
      status: 202,
      body: { attached: false, state: 'paused', version: first.body.version, replayed: true },
    })
    const third = await service.ask('POST', `/plans/${id}/execute`, undefined, { 'idempotency-key': 'another' })
    expect(third).toMatchObject({ status: 202, body: { state: 'active' } })
    await service.ask('POST', `/plans/${id}/pause`)
    const fourth = await service.ask('POST', `/plans/${id}/execute`, undefined, { 'idempotency-key': 'another' })
    expect(fourth).toMatchObject({ status: 202, body: { state: 'paused', version: third.body.version } })
  })

  test('only attached to it, and attaches to it for ever', async () => {
    const id = await make(external2('attached-since'))
    const key = { 'idempotency-key': 'attach' }
    expect(await service.ask('POST', `/plans/${id}/execute`, undefined, key)).toMatchObject({ status: 200 })
    await service.ask('POST', `/plans/${id}/pause`)
    expect(await service.ask('POST', `/plans/${id}/execute`, undefined, key)).toMatchObject({
      status: 200,
      body: { attached: true, state: 'paused' },
    })
  })

  test('is no key to another plan', async () => {
    const id = await make(external2('another-plan'), false)
    const said = { status: 409, body: { detail: expect.stringContaining('used for something else') } }
    expect(await service.ask('POST', `/plans/${id}/execute`, undefined, K)).toMatchObject(said)
    await must(id, { type: 'start' })
    await must(id, { type: 'pause' })
    expect(await service.ask('POST', `/plans/${id}/execute`, undefined, K)).toMatchObject(said)
  })
})

test.each(posts.filter(path => sceneOf(path) !== undefined).map((path, at) => [path, `once-${at}`] as const))(
  'POST %s happens once',
  async (path, fresh) => {
    const { at, body } = await sceneOf(path)!(fresh)
    const where = path.replaceAll(/:(\w+)/g, (_, one: string) => encodeURIComponent(at[one]!))
    const key = { 'idempotency-key': `key-${fresh}` }
    const first = await service.ask('POST', where, body, key)
    expect({ status: first.status < 300, told: first.body }).toMatchObject({ status: true })
    const before = await everything()
    const second = await service.ask('POST', where, body, key)
    expect(second.status).toBe(TELLS_NOW[path] ?? first.status)
    if (second.status < 300) expect(idsIn(second.body)).toEqual(idsIn(first.body))
    const told = [first, second].map(({ headers }) => headers.get('idempotency-replayed'))
    expect(told).toEqual([null, UNTOLD.has(path) ? null : 'true'])
    expect(await everything()).toEqual(before)
    expect(service.errors).toEqual([])
  },
)

/** Where everything ends that is ever written to. */
async function everything(): Promise<unknown> {
  const { engine } = service.composed
  const streams = [await engine.sessions.list({ limit: 500 }), await engine.goals.list({ limit: 500 })]
  const position = await engine.ask({ type: 'position' })
  return { position, streams: streams.map(({ items }) => items.map(({ id, version }) => [id, version])) }
}

/** What says which thing was made. */
function idsIn(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body
  const {
    id,
    plan_id,
    plan: whole,
    task_id,
    token,
    version,
    name: called,
    evaluation_id,
  } = body as { readonly [key: string]: unknown }
  return { id, plan_id, plan: typeof whole === 'string' ? whole : null, task_id, token, version, called, evaluation_id }
}
