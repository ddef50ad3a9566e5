// Tasks over HTTP: added one by one or as a batch, listed, changed, carried out by clients. Of two who take one, one gets it.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Asked, type Served, servedHere } from '../server.fixture.ts'

const service = servedHere()

const ask: Served['ask'] = (...given) => service.ask(...given)
type Body = Asked['body']

const plan = async (more: object = {}): Promise<Body> => (await ask('POST', '/plans', { goal_id: 'g', ...more })).body
const task = async (of: Body, more: object = {}): Promise<Body> => {
  const { status, body } = await ask('POST', '/tasks/', { plan_id: of.id, ...more })
  expect(status, JSON.stringify(body)).toBe(201)
  return body
}
const patch = async (one: Body, body: object, headers = {}): Promise<Asked> =>
  await ask('PATCH', `/tasks/${one.id}`, body, headers)
const show = async (one: Body): Promise<Body> => (await ask('GET', `/tasks/${one.id}`)).body
const names = (items: readonly Body[]): string[] => items.map(one => one.name)

describe('a task', () => {
  test('is added to a draft, and found by id and by name', async () => {
    const of = await plan()
    const sent = {
      agent_id: 'agent-1',
      description: 'Analyze modal requirements from specification',
      task_type: 'analysis',
      input_data: { spec_path: 'docs/SPEC.md', focus: ['a', 'b'], depends_on: 'data, not order' },
      sequence_order: 1,
    }
    const { status, headers, body } = await ask('POST', '/tasks', { plan_id: of.name, ...sent, timeout_seconds: 300 })
    expect({ status, location: headers.get('location') }).toEqual({ status: 201, location: `/tasks/${body.id}` })
    expect(body).toEqual({
      ...sent,
      id: expect.any(String),
      name: expect.stringMatching(/^analyze-modal-requirements-from-specification-[a-z0-9]{6}$/),
      plan_id: of.id,
      plan_name: of.name,
      title: null,
      action: 'external',
      output_data: null,
      status: 'pending',
      state: 'pending',
      depends_on: [],
      priority: -1,
      labels: [],
      optional: false,
      claimed_by: null,
      reason: null,
      visit: 1,
      attempt: 0,
      created_at: expect.any(String),
      started_at: null,
      completed_at: null,
      client: { started_at: null, completed_at: null },
      extra: { timeout_seconds: 300 },
    })
    expect(Date.parse(body.created_at)).toBeGreaterThanOrEqual(Date.parse(of.created_at))
    for (const reference of [body.id, `${of.name}:${body.name}`, `${of.id}:${body.name}`])
      expect((await ask('GET', `/tasks/${reference}`)).body, reference).toEqual(body)
    expect((await ask('GET', `/tasks/${body.name}`)).status).toBe(404)
    expect((await ask('GET', `/tasks/${of.id}`)).status).toBe(404)
  })

  test('regression 3 over HTTP: every field of a body survives the round trip', async () => {
    const of = await plan()
    const value = fc
      .jsonValue({ maxDepth: 3 })
      .map(one => JSON.parse(JSON.stringify(one)))
      .filter(one => !/__proto__|constructor|prototype/.test(JSON.stringify(one)))
    const map = fc.dictionary(fc.stringMatching(/^[a-z$ {]{1,8}$/), value, { maxKeys: 4 })
    const sent = fc.record(
      {
        agent_id: fc.string({ minLength: 1, maxLength: 50 }),
        title: fc.string({ minLength: 1, maxLength: 50 }),
        description: fc.string({ maxLength: 200, unit: 'grapheme' }),
        task_type: fc.string({ minLength: 1, maxLength: 20 }),
        input_data: fc.oneof(map, fc.constant({ text: 'looks like ${{ inputs.x }}, is data' })),
        sequence_order: fc.integer({ min: -1000, max: 1000 }),
        labels: fc.array(fc.string({ minLength: 1, maxLength: 10 }), { maxLength: 3 }),
      },
      { requiredKeys: [] },
    )
    const extra = fc.dictionary(
      fc.stringMatching(/^x_[a-z]{1,8}$/),
      value.filter(one => one !== null),
      { maxKeys: 3 },
    )
    await fc.assert(
      fc.asyncProperty(sent, extra, async (fields, others) => {
        const made = await ask('POST', '/tasks', { plan_id: of.id, ...others, ...fields })
        expect(made.status, JSON.stringify(made.body)).toBe(201)
        const { body } = await ask('GET', `/tasks/${made.body.id}`)
        expect(body).toMatchObject(fields)
        expect(body.input_data).toEqual(fields.input_data ?? {})
        expect(body.extra).toEqual(others)
      }),
      { numRuns: Number(process.env.PLANFOLD_RUNS ?? 25) },
    )
  })

  test('data that looks like an expression is never evaluated, and the task can be done', async () => {
    const of = await plan()
    const one = await task(of, { input_data: { text: '${{ tasks.nobody.outputs.x }}' } })
    expect((await patch(one, { status: 'completed' })).body).toMatchObject({
      status: 'completed',
      input_data: one.input_data,
    })
  })

  test('whoever claims a task gets the data of a client as it was sent', async () => {
    const sent = { text: '${{ tasks.nobody.outputs.x }}', twice: ['$${{ a }}', { deep: 'plain ${{' }], other: 1 }
    const one = await task(await plan(), { input_data: sent })
    expect(one.input_data).toEqual(sent)
    const { body } = await patch(one, { status: 'running' })
    expect(body).toMatchObject({ status: 'running', input_data: sent })
    const found = await service.composed.engine.ask({ type: 'briefing', plan: one.plan_id, task: one.name })
    expect(found).toMatchObject({ inputs: sent, unresolved: [] })
  })

  test('an id that a client chose is its name, or refused; it is never put aside', async () => {
    const of = await plan()
    const kept = await ask('POST', '/tasks', { plan_id: of.id, id: 'weigh', name: 'Weigh the parcels' })
    expect(kept.body).toMatchObject({ name: 'weigh', title: 'Weigh the parcels', extra: {} })
    expect((await ask('GET', `/tasks/${of.name}:weigh`)).body.id).toBe(kept.body.id)
    const uuid = '880e8400-e29b-41d4-a716-446655440003'
    for (const [sent, path] of [
      [{ id: uuid }, 'id'],
      [{ id: 'one', name: 'other' }, 'id'],
      [{ tasks: [{ name: 'fine' }, { id: uuid }] }, 'tasks[1].id'],
    ] as const) {
      const { status, body } = await ask('POST', '/tasks', { plan_id: of.id, ...sent })
      expect({ status, path: body.faults?.[0]?.path }, JSON.stringify(body)).toEqual({ status: 422, path })
    }
    expect((await ask('GET', `/tasks?plan_id=${of.id}`)).body.items).toHaveLength(1)
  })

  test('regression 8 over HTTP: a name that is taken is told precisely, and nothing is written', async () => {
    const of = await plan()
    await task(of, { name: 'taken' })
    const before = (await ask('GET', `/plans/${of.id}`)).body
    const { status, body } = await ask('POST', '/tasks', { plan_id: of.id, name: 'taken' })
    expect({ status, type: body.type, detail: body.detail }).toEqual({
      status: 422,
      type: 'urn:planfold:problem:duplicate',
      detail: "two tasks are called 'taken'",
    })
    expect((await ask('GET', `/plans/${of.id}`)).body).toEqual(before)
  })

  test.each([
    [{ description: 'whose?' }, ''],
    [{ plan_id: 'PLAN', sequence_order: 1.5 }, 'sequence_order'],
    [{ plan_id: 'PLAN', input_data: [1] }, 'input_data'],
    [{ plan_id: 'PLAN', status: 'runing' }, 'status'],
    [{ plan_id: 'PLAN', status: 'completed' }, 'status'],
    [{ plan_id: 'PLAN', depends_on: ['00000000-0000-7000-8000-000000000001'] }, 'depends_on'],
    [{ plan_id: 'PLAN', depends_on: 3 }, 'depends_on'],
    [{ plan_id: 'PLAN', tasks: 'none' }, 'tasks'],
    [{ plan_id: 'PLAN', tasks: [{ name: 'x', sequence_order: 'y' }] }, 'tasks[0].sequence_order'],
  ])('%j is refused', async (sent, path) => {
    const of = await plan()
    const { status, body } = await ask('POST', '/tasks', JSON.parse(JSON.stringify(sent).replace('PLAN', of.id)))
    expect(status, JSON.stringify(body)).toBe(422)
    expect(body.faults.map((fault: Body) => fault.path)).toContain(path)
    if (path === '') expect(body.detail).toContain("'plan_id' is missing")
    expect((await ask('GET', `/plans/${of.id}`)).body.version).toBe(of.version)
  })

  test('what is no task is told what may be sent, in words for JSON', async () => {
    const of = await plan()
    for (const sent of ['5', 'null', 'true', '"x"']) {
      const { status, body } = await ask('POST', '/tasks', sent)
      expect({ sent, status, detail: body.detail, hint: body.hint }).toEqual({
        sent,
        status: 422,
        detail: 'the body: must be a task, or a list of tasks',
        hint: 'send {"plan_id": …, "description": …}, a list of such, or {"plan_id": …, "tasks": […]}',
      })
    }
    for (const tasks of [[], null]) {
      const { status, body } = await ask('POST', '/tasks', { plan_id: of.id, tasks })
      expect({ status, faults: body.faults }).toEqual({
        status: 422,
        faults: [{ path: 'tasks', message: "'tasks' names none", hint: 'name at least one' }],
      })
    }
  })

  test('of an unknown plan is refused', async () => {
    expect((await ask('POST', '/tasks', { plan_id: 'nowhere' })).status).toBe(404)
  })

  test('under one Idempotency-Key is added once', async () => {
    const of = await plan()
    const add = () => ask('POST', '/tasks', { plan_id: of.id, description: 'once' }, { 'idempotency-key': 'task-1' })
    const all = [await add(), ...(await Promise.all([add(), add()]))]
    expect(all.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(new Set(all.map(({ body }) => body.id)).size).toBe(1)
    expect((await ask('GET', `/tasks?plan_id=${of.id}`)).body.items).toHaveLength(1)
    const other = { plan_id: of.id, description: 'other' }
    expect((await ask('POST', '/tasks', other, { 'idempotency-key': 'task-1' })).status).toBe(409)
  })

  test('is added to a plan that runs, too: as a revision', async () => {
    const of = await plan({ steps: [{ action: 'a' }] })
    await ask('PATCH', `/plans/${of.id}`, { status: 'active' })
    const one = await task(of, { name: 'late', sequence_order: 9 })
    expect(one).toMatchObject({ status: 'pending', state: 'ready' })
    expect((await ask('GET', `/plans/${of.id}`)).body.revision).toBe(3)
  })

  test('is removed, unless others need it', async () => {
    const of = await plan()
    const [one, two] = [await task(of, { name: 'one' }), await task(of, { name: 'two', depends_on: 'one' })]
    const { status, body } = await ask('DELETE', `/tasks/${one.id}`)
    expect({ status, detail: body.detail }).toEqual({ status: 409, detail: "'two' needs 'one', which would be gone" })
    expect((await ask('DELETE', `/tasks/${two.id}`)).status).toBe(204)
    expect((await ask('GET', `/tasks/${two.id}`)).status).toBe(404)
    expect((await ask('DELETE', `/tasks/${two.id}`)).status).toBe(404)
    expect((await ask('DELETE', `/tasks/${one.id}`)).status).toBe(204)
    expect((await ask('GET', `/tasks?plan_id=${of.id}`)).body.items).toEqual([])
  })
})

describe('a batch', () => {
  test.each(['list', 'tasks', 'tasks of one plan'])('is added as a whole (%s)', async form => {
    const of = await plan()
    const tasks = [1, 2, 3].map(at => ({
      plan_id: of.id,
      name: `t${at}`,
      sequence_order: at,
      ...(at > 1 ? { depends_on: [`t${at - 1}`] } : {}),
    }))
    const sent =
      form === 'list'
        ? tasks
        : form === 'tasks'
          ? { tasks }
          : { plan_id: of.id, tasks: tasks.map(({ plan_id: _, ...rest }) => rest) }
    const { status, body } = await ask('POST', '/tasks', sent)
    expect({ status, names: names(body) }).toEqual({ status: 201, names: ['t1', 't2', 't3'] })
    expect(body[2].depends_on).toEqual(['t2'])
    expect((await ask('GET', `/plans/${of.id}`)).body.version).toBe(of.version + 1)
  })

  test('is refused as a whole: a duplicate, an unknown need, a bad field, another plan', async () => {
    const [of, other] = [await plan(), await plan()]
    const good = { plan_id: of.id, name: 'good' }
    for (const bad of [
      [good, { plan_id: of.id, name: 'good' }],
      [good, { plan_id: of.id, name: 'bad', depends_on: ['nobody'] }],
      [good, { plan_id: of.id, sequence_order: 'x' }],
      [good, { plan_id: other.id, name: 'elsewhere' }],
      [good, { name: 'without' }],
      [],
    ]) {
      const { status, body } = await ask('POST', '/tasks', bad)
      expect(status, JSON.stringify(body)).toBe(422)
    }
    expect((await ask('GET', `/tasks?plan_id=${of.id}`)).body.items).toEqual([])
  })
})

describe('lists', () => {
  test('go by sequence within a plan, whatever the order of coming, and page', async () => {
    const of = await plan()
    for (const at of [5, 3, 1, 4, 2]) await task(of, { name: `n${at}`, sequence_order: at })
    await task(of, { name: 'n6' })
    const seen: string[] = []
    let next: string | null = null
    do {
      const cursor: string = next === null ? '' : `&cursor=${next}`
      const { body }: Asked = await ask('GET', `/tasks/?plan_id=${of.id}&limit=2${cursor}`)
      expect(body.items.length).toBeLessThanOrEqual(2)
      seen.push(...names(body.items))
      next = body.next
    } while (next !== null)
    expect(seen).toEqual(['n1', 'n2', 'n3', 'n4', 'n5', 'n6'])
  })

  test('go by coming across plans, the last first', async () => {
    const [one, two] = [await plan(), await plan()]
    const made = [await task(one), await task(two), await task(one), await task(two)]
    const { body } = await ask('GET', '/tasks/?limit=3')
    expect(body.items.map((each: Body) => each.id)).toEqual([made[3].id, made[2].id, made[1].id])
    expect(body.next).not.toBe(null)
    const { body: more } = await ask('GET', `/tasks?limit=1&cursor=${body.next}`)
    expect(more.items[0].id).toBe(made[0].id)
  })

  test('are narrowed by agent and status, in the words of the PlanStore or ours', async () => {
    const of = await plan({ plan_type: 'parallel' })
    const a = await task(of, { name: 'a', agent_id: 'narrow-agent' })
    await task(of, { name: 'b', depends_on: ['a'], agent_id: 'narrow-agent' })
    const c = await task(of, { name: 'c' })
    await patch(c, { status: 'completed' })
    const list = async (query: string) => names((await ask('GET', `/tasks?plan_id=${of.id}&${query}`)).body.items)
    expect(await list('status=pending')).toEqual(['a', 'b'])
    expect(await list('status=ready')).toEqual(['a'])
    expect(await list('status=COMPLETED')).toEqual(['c'])
    await patch(a, { status: 'running' })
    expect(await list('status=running')).toEqual(['a'])
    expect(await list('status=failed')).toEqual([])
    expect(await list('agent_id=narrow-agent&status=pending')).toEqual(['b'])
    // Whoever carries it out, it stays with the agent it names.
    expect(names((await ask('GET', '/tasks?agent_id=narrow-agent')).body.items)).toEqual(['b', 'a'])
  })

  test.each(['plan_id=nowhere', 'status=unheard', 'limit=1001', 'x=1', 'cursor=rubbish'])('refuse ?%s', async query => {
    expect((await ask('GET', `/tasks?${query}`)).status).toBe(query.startsWith('plan_id') ? 404 : 422)
  })
})

describe('a status', () => {
  test('running is a claim: of many who try, one gets it', async () => {
    const one = await task(await plan())
    const tries = await Promise.all(Array.from({ length: 6 }, () => patch(one, { status: 'running' })))
    const statuses = tries.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array(5).fill(409)])
    const won = tries.find(({ status }) => status === 200)!.body
    expect(won).toMatchObject({ status: 'running', claimed_by: 'anyone', claim: { token: expect.any(String) } })
    expect((await ask('GET', `/plans/${one.plan_id}`)).body).toMatchObject({ status: 'active' })
    const again = await patch(one, { status: 'running' })
    expect({ status: again.status, allowed: again.body.allowed }).toEqual({
      status: 409,
      allowed: ['completed', 'failed'],
    })
  })

  test('completed takes its output along; what was kept while it ran is taken when nothing else is said', async () => {
    const of = await plan()
    const [one, two] = [await task(of), await task(of)]
    await patch(one, { status: 'running', started_at: '2026-01-24T10:00:00Z' })
    expect((await patch(one, { output_data: { half: true } })).body).toMatchObject({
      status: 'running',
      output_data: { half: true },
    })
    const { body } = await patch(one, { status: 'completed', completed_at: '2026-01-24T10:30:00Z' })
    expect(body).toMatchObject({
      status: 'completed',
      output_data: { half: true },
      client: { started_at: '2026-01-24T10:00:00Z', completed_at: '2026-01-24T10:30:00Z' },
    })
    expect(body.started_at).not.toBe('2026-01-24T10:00:00Z')
    await patch(two, { output_data: { early: 1 } })
    expect((await patch(two, { status: 'completed', output_data: { whole: 2 } })).body.output_data).toEqual({
      whole: 2,
    })
    // Later words about it are kept beside it.
    expect((await patch(two, { output_data: { corrected: 3 } })).body.output_data).toEqual({ corrected: 3 })
    expect((await ask('GET', `/plans/${of.id}`)).body.status).toBe('completed')
  })

  test('to ask again for what is so changes nothing; other output is refused', async () => {
    const one = await task(await plan())
    const { body } = await patch(one, { status: 'completed', output_data: { a: 1 } })
    expect((await patch(one, { status: 'completed', output_data: { a: 1 } })).body).toEqual(body)
    expect((await patch(one, { status: 'completed' })).status).toBe(200)
    const other = await patch(one, { status: 'completed', output_data: { a: 2 } })
    expect({ status: other.status, allowed: other.body.allowed }).toEqual({ status: 409, allowed: [] })
  })

  test('failed has its reason, blocks who needs it, and ends the plan as failed', async () => {
    const of = await plan()
    const one = await task(of, { name: 'one' })
    const two = await task(of, { name: 'two', depends_on: [one.id] })
    const { body } = await patch(one, { status: 'FAILED', error: 'no network', output_data: { tried: 3 } })
    expect(body).toMatchObject({ status: 'failed', reason: 'no network', output_data: { tried: 3 } })
    expect(await show(two)).toMatchObject({ status: 'blocked', depends_on: ['one'] })
    expect((await ask('GET', `/plans/${of.id}`)).body.status).toBe('failed')
  })

  test('skipped lets the next one go', async () => {
    const of = await plan()
    const one = await task(of, { name: 'one' })
    const two = await task(of, { name: 'two', depends_on: ['one'] })
    await ask('PATCH', `/plans/${of.id}`, { status: 'active' })
    expect((await patch(one, { status: 'skipped', reason: 'done elsewhere' })).body).toMatchObject({
      status: 'skipped',
      reason: 'done elsewhere',
    })
    expect((await show(two)).state).toBe('ready')
  })

  test('waits for what it needs, and says for what', async () => {
    const of = await plan()
    const one = await task(of, { name: 'one' })
    const two = await task(of, { name: 'two', depends_on: ['one'] })
    const { status, body } = await patch(two, { status: 'running' })
    expect({ status, allowed: body.allowed }).toEqual({ status: 409, allowed: ['skipped'] })
    expect(body.detail).toContain("it waits for 'one'")
    // Nothing was started by it.
    expect((await ask('GET', `/plans/${of.id}`)).body.status).toBe('draft')
    await patch(one, { status: 'completed' })
    expect((await patch(two, { status: 'running' })).status).toBe(200)
  })

  test('may be asked for by many at once: a draft is started once', async () => {
    const of = await plan({ steps: [{ action: 'a' }, { action: 'b' }] })
    const starts = await Promise.all(
      Array.from({ length: 5 }, () => ask('PATCH', `/plans/${of.id}`, { status: 'active' })),
    )
    expect(starts.map(({ status }) => status)).toEqual(Array(5).fill(200))
    expect((await ask('GET', `/tasks?plan_id=${of.id}`)).body.items).toHaveLength(2)
  })

  test('of a sequential plan: one at a time, in any order', async () => {
    const of = await plan({ plan_type: 'sequential' })
    const [one, two] = [
      await task(of, { name: 'one', sequence_order: 1 }),
      await task(of, { name: 'two', sequence_order: 2 }),
    ]
    expect((await patch(two, { status: 'running' })).status).toBe(200)
    const { status, body } = await patch(one, { status: 'running' })
    expect({ status, detail: body.detail }).toEqual({
      status: 409,
      detail: "'two' is running, and this plan runs one task at a time",
    })
    await patch(two, { status: 'completed' })
    expect((await patch(one, { status: 'completed' })).status).toBe(200)
    const side = await plan({ plan_type: 'parallel' })
    const both = [await task(side), await task(side)]
    expect(
      (await Promise.all(both.map(each => patch(each, { status: 'running' })))).map(({ status: each }) => each),
    ).toEqual([200, 200])
  })

  test.each([
    ['pending', 'running', ['completed', 'failed']],
    ['blocked', 'running', ['completed', 'failed']],
    ['cancelled', 'running', ['completed', 'failed']],
    ['skipped', 'running', ['completed', 'failed']],
    ['pending', 'completed', []],
    ['running', 'completed', []],
    ['failed', 'skipped', []],
    ['running', 'failed', ['skipped']],
    ['blocked', 'pending', ['running', 'completed', 'failed', 'skipped']],
  ])('%s is refused for a task that is %s, with what is allowed', async (wanted, before, allowed) => {
    const of = await plan({ plan_type: 'parallel' })
    const one = await task(of)
    await task(of)
    if (before !== 'pending') expect((await patch(one, { status: before })).status).toBe(200)
    const was = await show(one)
    const { status, body } = await patch(one, { status: wanted, mood: 'kept?' })
    expect({ status, type: body.type, allowed: body.allowed }).toEqual({
      status: 409,
      type: 'urn:planfold:problem:illegal-transition',
      allowed,
    })
    expect(await show(one)).toEqual(was)
  })

  test('regression 4 over HTTP: one that nobody knows is refused, not coerced', async () => {
    const one = await task(await plan())
    const { status, body } = await patch(one, { status: 'runing' })
    expect({ status, hint: body.hint }).toEqual({ status: 422, hint: "did you mean 'running'?" })
    expect(await show(one)).toEqual(one)
  })

  test('of a task that is carried out here is not for clients', async () => {
    const { body: of } = await ask('POST', '/plans', {
      planfold: 1,
      name: 'ours',
      tasks: [{ id: 'run-it', run: ['true'] }],
    })
    const one = (await ask('GET', `/tasks?plan_id=${of.id}`)).body.items[0]
    const { status, body } = await patch(one, { status: 'completed' })
    expect({ status, detail: body.detail }).toEqual({
      status: 409,
      detail: "'run-it' is pending and cannot become completed: it is carried out here (run), not by clients",
    })
  })
})

describe('what a client says of a task', () => {
  test('about its definition makes a revision; the rest is kept beside it', async () => {
    const of = await plan()
    const one = await task(of, { name: 'one', sequence_order: 5, input_data: { a: 1 }, note: 'first' })
    const { body } = await patch(one, {
      description: 'new',
      agent_id: 'b',
      task_type: 'review',
      input_data: { b: 2 },
      sequence_order: 2,
      labels: ['x'],
      mood: 'good',
    })
    expect(body).toMatchObject({
      description: 'new',
      agent_id: 'b',
      task_type: 'review',
      input_data: { b: 2 },
      sequence_order: 2,
      priority: -2,
      labels: ['x'],
      extra: { note: 'first', mood: 'good' },
    })
    const { body: less } = await patch(one, {
      description: null,
      agent_id: null,
      sequence_order: null,
      input_data: null,
      mood: null,
    })
    expect(less).toMatchObject({
      description: null,
      agent_id: null,
      sequence_order: 1,
      priority: 0,
      input_data: {},
      extra: { note: 'first' },
    })
    expect((await patch(one, { input_data: { x: '${{ y }}' } })).body.input_data).toEqual({ x: '${{ y }}' })
    expect((await patch(one, { input_data: { x: 1 } })).body).toMatchObject({
      input_data: { x: 1 },
      extra: { note: 'first' },
    })
  })

  test('may be a whole body as it was shown: only what is new is said', async () => {
    const one = await task(await plan(), { name: 'one', note: 'kept', priority: 7 })
    expect(one.priority).toBe(7)
    expect((await patch(one, one)).body).toEqual(one)
    const { body } = await patch(one, { ...one, description: 'new', extra: { note: null, more: [1] } })
    expect(body).toMatchObject({ description: 'new', extra: { more: [1] }, priority: 7 })
    expect(Object.keys(body.extra)).toEqual(['more'])
    for (const wrong of [{ visit: 9 }, { claimed_by: 'me' }, { state: 'completed' }, { extra: { output_data: 1 } }])
      expect((await patch(one, wrong)).status, JSON.stringify(wrong)).toBe(422)
  })

  test('about what it needs is shown at both ends; circles and strangers are refused', async () => {
    const [of, other] = [await plan(), await plan()]
    const [a, b, c] = [await task(of, { name: 'a' }), await task(of, { name: 'b' }), await task(of, { name: 'c' })]
    const stranger = await task(other, { name: 'stranger' })
    expect((await patch(c, { depends_on: [a.id, 'b'] })).body.depends_on).toEqual(['a', 'b'])
    expect((await patch(b, { dependencies: 'a' })).body.depends_on).toEqual(['a'])
    const { body } = await ask('GET', `/tasks/${b.id}/dependencies`)
    expect(body).toEqual({
      task_id: b.id,
      name: 'b',
      depends_on: [{ id: a.id, name: 'a', status: 'pending', state: 'pending' }],
      needed_by: [{ id: c.id, name: 'c', status: 'pending', state: 'pending' }],
      unmet: ['a'],
    })
    const circle = await patch(a, { depends_on: ['c'] })
    expect({ status: circle.status, type: circle.body.type }).toEqual({
      status: 422,
      type: 'urn:planfold:problem:cycle',
    })
    for (const needs of [[stranger.id], ['stranger'], ['nobody'], [of.id]])
      expect((await patch(a, { depends_on: needs })).status, needs[0]).toBe(422)
    await patch(a, { status: 'completed' })
    expect((await ask('GET', `/tasks/${b.id}/dependencies`)).body.unmet).toEqual([])
    expect((await patch(c, { depends_on: [] })).body.depends_on).toEqual([])
  })

  test('who comes late is told so', async () => {
    const of = await plan()
    const one = await task(of, { name: 'one' })
    const { headers } = await ask('GET', `/tasks/${one.id}`)
    await patch(one, { mood: 1 })
    expect((await patch(one, { mood: 2 }, { 'if-match': headers.get('etag')! })).status).toBe(409)
    expect((await patch(one, { mood: 2, expected_revision: 7 })).status).toBe(409)
    expect((await show(one)).extra).toEqual({ mood: 1 })
    for (const field of ['id', 'name', 'plan_id']) expect((await patch(one, { [field]: 'other' })).status).toBe(422)
    expect((await patch(one, { id: one.id, plan_id: of.id })).status).toBe(200)
  })

  test('is bounded', async () => {
    const one = await task(await plan())
    const { status, body } = await patch(one, { notes: 'x'.repeat(70_000), status: 'completed' })
    expect({ status, hint: typeof body.hint }).toEqual({ status: 422, hint: 'string' })
    expect((await show(one)).status).toBe('pending')
  })
})

describe('an evaluation', () => {
  test('is kept with who said it, in order', async () => {
    const one = await task(await plan())
    await patch(one, { status: 'completed' })
    expect((await ask('GET', `/tasks/${one.id}/evaluations`)).body).toEqual({ items: [], next: null })
    const sent = { score: 0.85, passed: true, metrics: { coverage: 0.9 }, notes: 'fine', evaluator: 'critic-1' }
    const { status, body } = await ask('POST', `/tasks/${one.id}/evaluations`, sent)
    expect(status).toBe(201)
    expect(body).toEqual({
      ...sent,
      id: expect.any(String),
      task_id: one.id,
      visit: 1,
      by: 'anyone',
      created_at: expect.any(String),
    })
    const second = (await ask('POST', `/tasks/${one.id}/evaluations`, { passed: false })).body
    expect(second).toMatchObject({ score: null, passed: false, metrics: {}, notes: null, evaluator: 'anyone' })
    expect((await ask('GET', `/tasks/${one.id}/evaluations`)).body.items).toEqual([body, second])
    expect((await show(one)).status).toBe('completed')
  })

  test('under one key is said once; one that says nothing is refused', async () => {
    const one = await task(await plan())
    const say = () => ask('POST', `/tasks/${one.id}/evaluations`, { score: 1 }, { 'idempotency-key': 'e-1' })
    const [first, second] = [await say(), await say()]
    expect(second.body).toEqual(first.body)
    for (const bad of [{}, { score: 'high' }, { stars: 5 }, { metrics: [] }])
      expect((await ask('POST', `/tasks/${one.id}/evaluations`, bad)).status).toBe(422)
    expect((await ask('GET', `/tasks/${one.id}/evaluations`)).body.items).toHaveLength(1)
  })
})

describe('several at once, in any order', () => {
  const add = async (of: Body, tasks: readonly object[]) => await ask('POST', '/tasks', { plan_id: of.id, tasks })

  test('a task may need one that comes later in the request; they are answered as they were sent', async () => {
    for (const status of ['draft', 'active']) {
      const of = await plan({ plan_type: 'parallel' })
      if (status === 'active') {
        await task(of, { name: 'there' })
        await ask('PATCH', `/plans/${of.id}`, { status })
      }
      const tasks = [
        { name: 'c', depends_on: ['b', 'a'] },
        { name: 'b', depends_on: ['a'] },
        { name: 'a', depends_on: status === 'active' ? ['there'] : [] },
      ]
      const { status: answered, body } = await add(of, tasks)
      expect(answered, JSON.stringify(body)).toBe(201)
      expect(names(body)).toEqual(['c', 'b', 'a'])
      expect(body[0].depends_on).toHaveLength(2)
    }
  })

  test('a cycle is told with its way, two of a name with their places; nothing is added', async () => {
    const of = await plan()
    const circle = [
      { name: 'a' },
      { name: 'b', depends_on: ['d'] },
      { name: 'c', depends_on: ['b'] },
      { name: 'd', depends_on: ['c'] },
    ]
    expect(await add(of, circle)).toMatchObject({
      status: 422,
      body: {
        type: 'urn:planfold:problem:cycle',
        detail: expect.stringContaining('b → d → c → b'),
        cycle: ['b', 'd', 'c', 'b'],
      },
    })
    expect(await add(of, [{ name: 'a', depends_on: 'a' }])).toMatchObject({ status: 422, body: { cycle: ['a', 'a'] } })
    expect(await add(of, [{ name: 'a' }, { name: 'b' }, { name: 'a' }])).toMatchObject({
      status: 422,
      body: { type: 'urn:planfold:problem:duplicate', faults: [{ path: '[2].name' }] },
    })
    expect((await ask('GET', `/tasks?plan_id=${of.id}`)).body.items).toEqual([])
  })
})
