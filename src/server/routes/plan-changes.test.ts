// Plans that change over HTTP: their status, what is kept beside them, the order of their tasks, their end. Nothing is done by
// halves, and what is refused says what is allowed.

import { describe, expect, test } from 'vitest'
import { lacks } from '../../composition/missing-extra.fixture.ts'
import type { Actor } from '../../domain/id.ts'
import { type Bearer, guarded } from '../auth/guard.fixture.ts'
import { type Asked, type Served, served, servedHere } from '../server.fixture.ts'

const service = servedHere()

const ask: Served['ask'] = (...given) => service.ask(...given)
const STEPS = [
  { step: 1, action: 'research' },
  { step: 2, action: 'implement' },
  { step: 3, action: 'test' },
]
type Body = Asked['body']

const made = async (more: object = {}): Promise<Body> =>
  (await ask('POST', '/plans', { goal_id: 'g', steps: STEPS, ...more })).body
const patch = async (plan: Body, body: object, headers = {}): Promise<Asked> =>
  await ask('PATCH', `/plans/${plan.id}`, body, headers)
const become = async (plan: Body, ...statuses: readonly string[]): Promise<Body> => {
  let body = plan
  for (const status of statuses) {
    const answer = await patch(plan, { status })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    body = answer.body
  }
  return body
}
const tasksOf = async (plan: Body): Promise<Body[]> => (await ask('GET', `/tasks?plan_id=${plan.id}`)).body.items

describe('a status', () => {
  test.skipIf(lacks('dialects'))(
    'active makes tasks of the steps and starts the plan; to ask again changes nothing',
    async () => {
      const plan = await made()
      const active = await become(plan, 'ACTIVE')
      expect(active).toMatchObject({ status: 'active', state: 'active', steps: STEPS, revision: 2 })
      expect((await tasksOf(plan)).map(task => [task.name, task.depends_on, task.state])).toEqual([
        ['research', [], 'ready'],
        ['implement', ['research'], 'pending'],
        ['test', ['implement'], 'pending'],
      ])
      expect((await become(plan, 'active')).version).toBe(active.version)
    },
  )

  test.skipIf(lacks('dialects'))(
    'leads wherever it may: paused, active again, completed; what is open is passed over by the caller',
    async () => {
      const plan = await made()
      const done = await become(plan, 'active', 'paused', 'active', 'completed')
      expect(done).toMatchObject({ status: 'completed', state: 'completed' })
      expect(done.progress.counts).toMatchObject({ skipped: 3 })
      const reasons = (await tasksOf(plan)).map(task => task.reason)
      expect(reasons).toEqual(Array(3).fill('a client marked the plan as completed'))
      expect((await become(plan, 'completed')).version).toBe(done.version)
    },
  )

  test.skipIf(lacks('dialects'))('completed on a draft makes tasks of its steps first', async () => {
    expect(await become(await made(), 'completed')).toMatchObject({ status: 'completed', revision: 2 })
  })

  test('failed ends it with its reason', async () => {
    const plan = await made()
    await become(plan, 'active')
    const { body } = await patch(plan, { status: 'failed', reason: 'no money left' })
    expect(body).toMatchObject({ status: 'failed', reason: expect.stringContaining('no money left') })
  })

  test('cancelled ends it', async () => {
    expect(await become(await made(), 'active', 'cancelled')).toMatchObject({ status: 'cancelled' })
  })

  test.each([
    [[], 'paused', ['active', 'completed', 'failed', 'cancelled']],
    [['active'], 'draft', ['paused', 'completed', 'failed', 'cancelled']],
    [['active', 'paused'], 'blocked', ['active', 'completed', 'failed', 'cancelled']],
    [['active', 'completed'], 'active', []],
    [['active', 'cancelled'], 'completed', []],
    [['active', 'failed'], 'completed', []],
  ] as const)('that cannot be reached after %j is refused with what can: %s', async (before, wanted, allowed) => {
    const plan = await made()
    const now = await become(plan, ...before)
    const { status, body } = await patch(plan, { status: wanted, current_step: 7 })
    expect({ status, type: body.type, allowed: body.allowed }).toEqual({
      status: 409,
      type: 'urn:planfold:problem:illegal-transition',
      allowed,
    })
    // Nothing was done by halves.
    const { body: after } = await ask('GET', `/plans/${plan.id}`)
    expect(after.version).toBe(plan.version === now.version ? plan.version : now.version)
  })

  test('regression 4 over HTTP: one that nobody knows is refused, not coerced', async () => {
    const plan = await made()
    const { status, body } = await patch(plan, { status: 'complete' })
    expect({ status, hint: body.hint }).toEqual({ status: 422, hint: "did you mean 'completed'?" })
    expect((await patch(plan, { status: 5 })).status).toBe(422)
    expect((await ask('GET', `/plans/${plan.id}`)).body).toEqual(plan)
  })

  test('regression 2 over HTTP: an empty plan is never complete', async () => {
    const plan = await made({ steps: [] })
    const { status, body } = await patch(plan, { status: 'completed' })
    expect(status).toBe(409)
    expect(body.detail).toContain('an empty plan is never complete')
    expect(body.allowed).not.toContain('completed')
    expect((await patch(plan, { status: 'active' })).status).toBe(409)
    expect((await ask('GET', `/plans/${plan.id}`)).body).toMatchObject({ status: 'draft', progress: { ratio: 0 } })
  })

  test('completed is refused when a required task has failed, and the plan has failed by itself', async () => {
    const plan = await made({ steps: [] })
    const { body: task } = await ask('POST', '/tasks', { plan_id: plan.id, name: 'only' })
    await ask('POST', '/tasks', { plan_id: plan.id, name: 'other' })
    await ask('PATCH', `/tasks/${task.id}`, { status: 'failed', error: 'it broke' })
    const { status, body } = await patch(plan, { status: 'completed' })
    expect(status).toBe(409)
    expect(body.detail).toContain("'only' is required, and it is failed")
    expect(body.allowed).toEqual(['paused', 'failed', 'cancelled'])
  })

  test.skipIf(lacks('dialects'))('steps that cannot be tasks are told, and the plan stays a draft', async () => {
    const plan = await made({ steps: [{ step: 1, action: 'a', depends_on: 9 }] })
    const { status, body } = await patch(plan, { status: 'active' })
    expect({ status, type: body.type }).toEqual({ status: 422, type: 'urn:planfold:problem:invalid-plan' })
    expect((await ask('GET', `/plans/${plan.id}`)).body.version).toBe(plan.version)
  })
})

describe('what a client says of a plan', () => {
  test('is kept beside it: its step, its times, and whatever nobody knows', async () => {
    const plan = await made()
    const { body } = await patch(plan, {
      current_step: 2,
      started_at: '2026-01-24T10:00:00Z',
      completed_at: '2026-01-24T11:00:00.123456',
      mood: { good: true },
    })
    expect(body).toMatchObject({
      current_step: 2,
      client: { started_at: '2026-01-24T10:00:00Z', completed_at: '2026-01-24T11:00:00.123456' },
      started_at: null,
      completed_at: null,
      extra: { mood: { good: true } },
      revision: 1,
    })
    const { body: later } = await patch(plan, { completed_at: '2026-01-25', mood: null })
    expect(later).toMatchObject({
      current_step: 2,
      client: { started_at: '2026-01-24T10:00:00Z', completed_at: '2026-01-25' },
      extra: {},
    })
  })

  test('about its definition makes a revision', async () => {
    const plan = await made({ title: 'Old' })
    const { body } = await patch(plan, {
      title: 'New',
      description: 'why',
      labels: ['a'],
      steps: [],
      plan_type: 'parallel',
    })
    expect(body).toMatchObject({
      title: 'New',
      description: 'why',
      labels: ['a'],
      steps: [],
      plan_type: 'parallel',
      revision: 2,
    })
    expect((await patch(plan, { title: null })).body).toMatchObject({ title: null, revision: 3 })
  })

  test('about what it belongs to is refused, unless it is so already', async () => {
    const plan = await made({ agent_id: 'a1' })
    for (const field of ['goal_id', 'agent_id', 'session_id', 'id', 'name']) {
      const { status, body } = await patch(plan, { [field]: 'other', current_step: 3 })
      expect({ status, path: body.faults[0].path }).toEqual({ status: 422, path: field })
    }
    expect((await patch(plan, { goal_id: 'g', agent_id: 'a1', id: plan.id })).status).toBe(200)
    expect((await ask('GET', `/plans/${plan.id}`)).body.current_step).toBe(0)
  })

  test('may be a whole body as it was shown: only what is new is said', async () => {
    const plan = await made({ note: 'kept', title: 'T' })
    await become(plan, 'active')
    const { body: shown } = await ask('GET', `/plans/${plan.id}`)
    expect((await patch(plan, { ...shown, current_step: undefined })).body).toEqual(shown)
    const { body } = await patch(plan, { ...shown, title: 'New', extra: { ...shown.extra, more: 1 } })
    expect(body).toMatchObject({ title: 'New', extra: { note: 'kept', more: 1 }, revision: shown.revision + 1 })
    const { body: less } = await patch(plan, { note: null, extra: { more: null } })
    expect(less.extra).toEqual({})
    for (const wrong of [
      { version: 99 },
      { progress: {} },
      { client: { started_at: 5 } },
      { extra: { status: 'x' } },
      { extra: 5 },
    ])
      expect((await patch(plan, wrong)).status, JSON.stringify(wrong)).toBe(422)
  })

  test('about its definition loses nothing of what others add meanwhile', async () => {
    const plan = await made({ steps: [] })
    const adds = Array.from({ length: 12 }, (_, at) => ask('POST', '/tasks', { plan_id: plan.id, name: `t${at}` }))
    const titles = Array.from({ length: 4 }, (_, at) => patch(plan, { [at % 2 === 0 ? 'title' : 'owner']: `x${at}` }))
    const statuses = (await Promise.all([...adds, ...titles])).map(({ status }) => status)
    expect(statuses).toEqual([...Array(12).fill(201), ...Array(4).fill(200)])
    expect(await tasksOf(plan)).toHaveLength(12)
    const { body } = await ask('GET', `/plans/${plan.id}`)
    expect({ title: body.title, owner: body.owner }).toEqual({ title: expect.any(String), owner: expect.any(String) })
  })

  test.each([
    ['started_at', 'yesterday'],
    ['current_step', 1.5],
    ['current_step', '2'],
    ['expected_revision', 0],
  ])('%s = %j is refused', async (field, value) => {
    expect((await patch(await made(), { [field]: value })).status).toBe(422)
  })
})

describe('who comes late', () => {
  test('with an old If-Match or expected_revision is told so, and changes nothing', async () => {
    const plan = await made()
    await patch(plan, { title: 'other' })
    const old = await patch(plan, { current_step: 1 }, { 'if-match': '"1"' })
    expect({ status: old.status, version: old.body.version }).toEqual({ status: 409, version: 2 })
    const older = await patch(plan, { current_step: 1, expected_revision: 1 })
    expect({ status: older.status, revision: older.body.revision }).toEqual({ status: 409, revision: 2 })
    const now = await patch(plan, { current_step: 1, expected_revision: 2 }, { 'if-match': 'W/"2"' })
    expect({ status: now.status, etag: now.headers.get('etag') }).toEqual({ status: 200, etag: '"3"' })
    expect((await patch(plan, {}, { 'if-match': 'soon' })).status).toBe(422)
    // What a proxy that compresses makes of the tag of a GET.
    const weak = `W/${(await ask('GET', `/plans/${plan.id}`)).headers.get('etag')}`
    expect(weak).toMatch(/^W\/"3/)
    expect((await patch(plan, { current_step: 2 }, { 'if-match': weak })).status).toBe(200)
    expect((await patch(plan, { current_step: 1 }, { 'if-match': weak })).status).toBe(409)
  })

  test('regression 9 over HTTP: of two writers at once one gets a conflict, and no update is lost', async () => {
    const plan = await made()
    const writers = Array.from({ length: 8 }, (_, at) =>
      patch(plan, { [`by_${at}`]: at }, { 'if-match': `"${plan.version}"` }),
    )
    const statuses = (await Promise.all(writers)).map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array(7).fill(409)])
    // Without If-Match everybody’s word is kept.
    await Promise.all(Array.from({ length: 8 }, (_, at) => patch(plan, { [`by_${at}`]: at })))
    const { extra } = (await ask('GET', `/plans/${plan.id}`)).body
    expect(extra).toEqual(Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`by_${at}`, at])))
  })
})

describe('many who change an active plan without If-Match', () => {
  test('20 writers with 15 changes each: 300 of 300, also for those who may not decide at gates', async () => {
    const guard = guarded()
    const [olga, root] = [guard.token('olga', 'operator'), guard.token('root', 'admin')]
    const other = await served({ guard: guard.guard })
    try {
      const asked = (who: Bearer, method: string, path: string, body?: object) => other.ask(method, path, body, who)
      const plan = (await asked(root, 'POST', '/plans', { name: 'busy', goal_id: 'g', steps: STEPS })).body
      expect((await asked(root, 'PATCH', `/plans/${plan.id}`, { status: 'active' })).status).toBe(200)
      const statuses = await Promise.all(
        Array.from({ length: 20 }, async (_, writer) => {
          const who = writer % 2 === 0 ? olga : root
          const seen: number[] = []
          for (let at = 0; at < 15; at++) {
            const key = `w${writer}_${at}`
            const one =
              at % 4 === 0
                ? asked(who, 'POST', '/tasks', { plan_id: plan.id, name: `t${writer}-${at}`, description: key })
                : at % 4 === 1
                  ? asked(who, 'PATCH', `/tasks/busy:t${writer}-${at - 1}`, { description: key, sequence_order: at })
                  : at % 4 === 2
                    ? asked(who, 'PATCH', `/plans/${plan.id}`, { title: key, [key]: at })
                    : asked(who, 'DELETE', `/tasks/busy:t${writer}-${at - 3}`)
            seen.push((await one).status)
          }
          return seen
        }),
      )
      const of = (writer: readonly number[]) => writer.map(status => (status < 300 ? 'done' : status))
      expect(statuses.flatMap(of)).toEqual(Array(300).fill('done'))
      const { items } = (await asked(root, 'GET', `/tasks?plan_id=${plan.id}&limit=100`)).body
      expect(items).toHaveLength(STEPS.length + 20)
      const { extra } = (await asked(root, 'GET', `/plans/${plan.id}`)).body
      expect(Object.keys(extra)).toHaveLength(20 * 4)
      expect(other.errors).toEqual([])
    } finally {
      await other.close()
    }
  })
})

describe('a status that is asked for with If-Match', () => {
  test('is given to the first of many, and the others are told', async () => {
    const plan = await made({ steps: [] })
    await ask('POST', '/tasks', [
      { plan_id: plan.id, name: 'a' },
      { plan_id: plan.id, name: 'b' },
    ])
    const tag = async () => ({ 'if-match': (await ask('GET', `/plans/${plan.id}`)).headers.get('etag')! })
    expect((await patch(plan, { status: 'active' }, await tag())).status).toBe(200)
    const seen = await tag()
    const asked = await Promise.all([
      patch(plan, { status: 'paused' }, seen),
      patch(plan, { current_step: 5 }, seen),
      ask('PATCH', `/tasks/${plan.name}:a`, { status: 'skipped' }, seen),
      ask('PATCH', `/tasks/${plan.name}:b`, { status: 'running' }, seen),
    ])
    expect(asked.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
  })
})

describe('deleting', () => {
  test('archives the plan with its tasks; one that is open is cancelled first', async () => {
    const plan = await made()
    await become(plan, 'active')
    const [task] = await tasksOf(plan)
    await ask('PATCH', `/tasks/${task.id}`, { status: 'running' })
    const { status, body } = await ask('DELETE', `/plans/${plan.id}`)
    expect({ status, body }).toEqual({ status: 204, body: '' })
    expect((await ask('GET', `/plans/${plan.id}`)).body).toMatchObject({ archived: true, status: 'cancelled' })
    const ids = async (query: string) => (await ask('GET', query)).body.items.map((one: Body) => one.id)
    expect(await ids('/plans?goal_id=g')).not.toContain(plan.id)
    expect(await ids('/plans?goal_id=g&archived=true')).toContain(plan.id)
    expect(await ids('/tasks?limit=500')).not.toContain(task.id)
    expect((await ask('DELETE', `/plans/${plan.id}`)).status).toBe(204)
    expect((await patch(plan, { current_step: 1 })).status).toBe(409)
  })

  test('regression 1 over HTTP: of plans that are there and that are not does exactly what it says', async () => {
    const [one, two, three] = [await made(), await made(), await made()]
    await become(two, 'active')
    const { status, body } = await ask('DELETE', '/plans', { ids: [one.id, 'missing-plan', two.name, one.id] })
    expect({ status, ...body }).toEqual({
      status: 200,
      archived: [one.id, two.name],
      missing: ['missing-plan'],
      refused: [],
    })
    const archived = async (plan: Body) => (await ask('GET', `/plans/${plan.id}`)).body.archived
    expect([await archived(one), await archived(two), await archived(three)]).toEqual([true, true, false])
    expect((await ask('DELETE', '/plans', { ids: [] })).status).toBe(422)
    expect((await ask('DELETE', '/plans')).status).toBe(422)
  })

  test('for good is for those who may, and not there yet', async () => {
    const plan = await made()
    const { status, body } = await ask('DELETE', `/plans/${plan.id}?purge=true`)
    expect({ status, type: body.type }).toEqual({ status: 501, type: 'urn:planfold:problem:not-supported' })
    const who = { actor: 'op' as Actor, role: 'operator' as const, token: 't', scope: null }
    const other = await served({ folder: service.folder, guard: { admit: () => who, takesAnyType: () => false } })
    try {
      expect((await other.ask('DELETE', `/plans/${plan.id}?purge=true`)).status).toBe(403)
    } finally {
      await other.close()
    }
    expect((await ask('GET', `/plans/${plan.id}`)).body.archived).toBe(false)
  })
})

describe('the order of tasks', () => {
  const withTasks = async (): Promise<{ plan: Body; tasks: Body[] }> => {
    const plan = await made({ steps: [] })
    const tasks = ['a', 'b', 'c', 'd'].map((name, at) => ({ plan_id: plan.id, name, sequence_order: at + 1 }))
    return { plan, tasks: (await ask('POST', '/tasks', tasks)).body }
  }

  test('regression 5 over HTTP: follows the list, by id or name; the others follow as they stood', async () => {
    const { plan, tasks } = await withTasks()
    const { status, body } = await ask('POST', `/plans/${plan.id}/reorder`, { order: ['d', tasks[1].id] })
    expect({ status, order: body.order, revision: body.revision }).toEqual({
      status: 200,
      order: ['d', 'b', 'a', 'c'],
      revision: expect.any(Number),
    })
    const listed = await tasksOf(plan)
    expect(listed.map(task => [task.name, task.sequence_order])).toEqual([
      ['d', 1],
      ['b', 2],
      ['a', 3],
      ['c', 4],
    ])
    // Ids stay what they were.
    expect(new Set(listed.map(task => task.id))).toEqual(new Set(tasks.map(task => task.id)))
    expect(listed.map(task => task.priority)).toEqual([-1, -2, -3, -4])
  })

  test('regression 5 over HTTP: unknown ids and repeats are named, and nothing is changed', async () => {
    const { plan, tasks } = await withTasks()
    const other = await withTasks()
    const before = (await ask('GET', `/plans/${plan.id}`)).body
    const { status, body } = await ask('POST', `/plans/${plan.id}/reorder`, {
      order: ['c', 'x', other.tasks[0].id, 'a', tasks[2].id],
    })
    expect({ status, unknown: body.unknown }).toEqual({ status: 422, unknown: ['x', other.tasks[0].id] })
    expect(body.faults.map((fault: Body) => fault.path)).toEqual(['order[1]', 'order[2]', 'order[4]'])
    expect((await ask('GET', `/plans/${plan.id}`)).body).toEqual(before)
  })

  test('can be changed while others change it, and refuses who saw an older one', async () => {
    const { plan } = await withTasks()
    const orders = [
      ['d', 'c', 'b', 'a'],
      ['b', 'a', 'd', 'c'],
      ['c', 'd', 'a', 'b'],
    ]
    const answers = await Promise.all(orders.map(order => ask('POST', `/plans/${plan.id}/reorder`, { order })))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    const last = answers.map(({ body }) => body).sort((a, b) => b.version - a.version)[0]
    expect((await tasksOf(plan)).map(task => task.name)).toEqual(last.order)
    const late = await ask('POST', `/plans/${plan.id}/reorder`, { order: ['a'] }, { 'if-match': '"1"' })
    expect(late.status).toBe(409)
    const later = await ask('POST', `/plans/${plan.id}/reorder`, { order: ['a'], expected_revision: 1 })
    expect(later.status).toBe(409)
  })
})

test('a task of an older client that deploys becomes nothing before somebody has approved it', async () => {
  const plan = await made({ steps: [], plan_type: 'parallel' })
  await ask('POST', '/tasks', { plan_id: plan.id, tasks: [{ name: 'first', task_type: 'build' }] })
  await ask('POST', '/tasks', { plan_id: plan.id, tasks: [{ name: 'ship', task_type: 'deploy' }] })
  expect((await ask('PATCH', `/tasks/${plan.name}:first`, { status: 'completed' })).status).toBe(200)
  for (const status of ['running', 'completed']) {
    const refused = await ask('PATCH', `/tasks/${plan.name}:ship`, { status })
    expect(refused.status).toBe(409)
    expect(refused.body.detail).toContain('somebody must approve it before it can be claimed, because it deploys')
    expect(refused.body.detail).toContain(`POST /plans/${plan.name}/gates/ship/approve`)
  }
})

describe('metrics', () => {
  test('regression 29 over HTTP: the success rate comes from one vocabulary', async () => {
    const plan = await made({ steps: [], plan_type: 'parallel' })
    const names = ['won', 'also-won', 'lost', 'passed-over']
    await ask('POST', '/tasks', {
      plan_id: plan.id,
      tasks: names.map(name => ({ name, task_type: name === 'lost' ? 'review' : 'build' })),
    })
    const fresh = (await ask('GET', `/plans/${plan.id}/metrics`)).body
    expect(fresh).toMatchObject({ attempts: 0, success_rate: null, elapsed_ms: null, kinds: [] })
    await ask('PATCH', `/tasks/${plan.name}:won`, { status: 'completed' })
    await ask('PATCH', `/tasks/${plan.name}:also-won`, { status: 'completed' })
    await ask('PATCH', `/tasks/${plan.name}:passed-over`, { status: 'skipped' })
    await ask('PATCH', `/tasks/${plan.name}:lost`, { status: 'failed' })
    const { body } = await ask('GET', `/plans/${plan.id}/metrics`)
    expect(body).toMatchObject({ attempts: 3, succeeded: 2, failed: 1, lost: 0, retries: 0 })
    expect(body.success_rate).toBeCloseTo(2 / 3)
    expect(body.progress).toMatchObject({ total: 4, done: 3 })
    const said = await ask('GET', `/plan/${plan.id}/status`)
    expect(said.body.metrics.success_rate).toBe(body.success_rate)
    const { items } = (await ask('GET', `/steps?by=plan&plan_id=${plan.id}`)).body
    expect(items.map((one: Body) => one.success_rate)).toEqual([body.success_rate])
    expect(body.kinds.map((one: Body) => [one.kind, one.success_rate])).toEqual([
      ['build', 1],
      ['review', 0],
    ])
    expect(body.elapsed_ms).toBeGreaterThanOrEqual(0)
  })
})
