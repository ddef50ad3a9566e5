// Plans over HTTP: every form of body, lists, and nothing that is sent is lost.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { lacks } from '../../composition/missing-extra.fixture.ts'
import type { Actor, PlanName, TaskName } from '../../domain/id.ts'
import { PLAN_STATUSES } from '../../domain/status.ts'
import { type Served, served, servedHere } from '../server.fixture.ts'

const NONE = Object.fromEntries(PLAN_STATUSES.map(status => [status, 0]))

const service = servedHere()

const ask: Served['ask'] = (...given) => service.ask(...given)
const tasksOf = async (plan: string) => (await ask('GET', `/tasks?plan_id=${plan}`)).body.items as { name: string }[]
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/
const GOAL = '660e8400-e29b-41d4-a716-446655440001'
const AGENT = '550e8400-e29b-41d4-a716-446655440000'
const STEPS = [
  { step: 1, action: 'research' },
  { step: 2, action: 'implement' },
  { step: 3, action: 'test' },
]
const YAML = `planfold: 1
name: written
title: Written by hand
goal: to be read
tasks:
  - id: first
  - id: second
    needs: [first]
`

describe('a plan that cannot work', () => {
  const tasks = [
    { id: 'a', run: ['ls'], env: { PATH: '.' } },
    { id: 'b', run: ['ls'], cwd: '/srv', needs: ['gone'] },
  ]

  test('is not made, and everything that is wrong with it is told at once', async () => {
    const { status, body } = await ask('POST', '/plans', { planfold: 1, name: 'faulty', tasks })
    expect({ status, type: body.type }).toEqual({ status: 422, type: 'urn:planfold:problem:invalid-plan' })
    expect(body.faults.map(({ path }: { path: string }) => path)).toEqual([
      'tasks[0].env.PATH',
      'tasks[1].cwd',
      'tasks[1].needs[0]',
    ])
    expect((await ask('GET', '/plans/faulty')).status).toBe(404)
  })

  test('is not started when it is there already', async () => {
    const definition = {
      name: 'stored-faulty' as PlanName,
      tasks: [{ id: 'b' as TaskName, cwd: '/srv', action: { type: 'run' as const, command: { argv: ['ls'] } } }],
    }
    await service.composed.engine.as('me' as Actor).submit(null, { type: 'create', definition })
    for (const started of [
      await ask('PATCH', '/plans/stored-faulty', { status: 'active' }),
      await ask('POST', '/plans/stored-faulty/execute', {}),
    ])
      expect({ status: started.status, faults: started.body.faults }).toMatchObject({
        status: 422,
        faults: [{ path: 'tasks.b.cwd', message: expect.stringContaining('is not a folder inside the workspace') }],
      })
    expect((await ask('GET', '/plans/stored-faulty')).body.state).toBe('draft')
  })
})

describe('a plan of the PlanStore', () => {
  test('is a draft without tasks, with its steps word for word', async () => {
    const sent = { goal_id: GOAL, agent_id: AGENT, plan_type: 'sequential', steps: STEPS, budget: { tokens: 5 } }
    const { status, headers, body } = await ask('POST', '/plans/', sent)
    expect({ status, location: headers.get('location'), etag: headers.get('etag') }).toEqual({
      status: 201,
      location: `/plans/${body.id}`,
      etag: '"1"',
    })
    expect(body).toEqual({
      id: expect.stringMatching(UUID),
      name: expect.stringMatching(/^research-[a-z0-9]{6}$/),
      title: null,
      description: null,
      goal_id: GOAL,
      agent_id: AGENT,
      session_id: null,
      owner: null,
      labels: [],
      plan_type: 'sequential',
      steps: STEPS,
      status: 'draft',
      state: 'draft',
      current_step: 0,
      revision: 1,
      version: 1,
      archived: false,
      created_at: expect.any(String),
      updated_at: body.created_at,
      started_at: null,
      completed_at: null,
      client: { started_at: null, completed_at: null },
      reason: null,
      origin: null,
      progress: expect.objectContaining({ total: 0, done: 0, ratio: 0 }),
      extra: { budget: { tokens: 5 } },
    })
    for (const reference of [body.id, body.name]) expect((await ask('GET', `/plans/${reference}`)).body).toEqual(body)
  })

  test('regression 3 over HTTP: every field of a body survives the round trip', async () => {
    const key = fc
      .stringMatching(/^[a-z_]{1,12}$/)
      .filter(name => !['planfold', 'nodes', 'tasks', 'constructor', 'prototype', '__proto__'].includes(name))
    const known = [
      'id',
      'goal_id',
      'agent_id',
      'session_id',
      'status',
      'name',
      'title',
      'description',
      'owner',
      'labels',
      'current_step',
      'plan_type',
      'steps',
    ]
    const value = fc
      .jsonValue({ maxDepth: 3 })
      .map(one => JSON.parse(JSON.stringify(one)))
      .filter(one => !/__proto__|constructor|prototype/.test(JSON.stringify(one)))
    const sent = fc.record(
      {
        goal_id: fc.string({ minLength: 1, maxLength: 50 }),
        agent_id: fc.string({ minLength: 1, maxLength: 50 }),
        session_id: fc.string({ minLength: 1, maxLength: 50 }),
        plan_type: fc.constantFrom('sequential', 'parallel', 'zig-zag'),
        steps: fc.array(value, { maxLength: 4 }),
        title: fc.string({ minLength: 1, maxLength: 50, unit: 'grapheme' }),
        description: fc.string({ maxLength: 200 }),
        labels: fc.array(fc.string({ minLength: 1, maxLength: 10 }), { maxLength: 3 }),
        current_step: fc.nat({ max: 100 }),
      },
      { requiredKeys: ['goal_id'] },
    )
    const others = fc.dictionary(
      key.filter(name => !known.includes(name) && name !== 'constructor'),
      value.filter(one => one !== null),
      { maxKeys: 4 },
    )
    await fc.assert(
      fc.asyncProperty(sent, others, async (fields, extra) => {
        const made = await ask('POST', '/plans', { ...extra, ...fields })
        expect(made.status, JSON.stringify(made.body)).toBe(201)
        const { body } = await ask('GET', `/plans/${made.body.id}`)
        expect(body).toMatchObject(fields)
        expect(body.extra).toEqual(extra)
      }),
      { numRuns: Number(process.env.PLANFOLD_RUNS ?? 25) },
    )
  })

  test('a misspelt key is not lost: it comes back among the others', async () => {
    const { body } = await ask('POST', '/plans', { goal_id: GOAL, staus: 'active' })
    expect({ status: body.status, extra: body.extra }).toEqual({ status: 'draft', extra: { staus: 'active' } })
  })

  test('regression 4 over HTTP: an unknown status is refused, not coerced', async () => {
    const { status, body } = await ask('POST', '/plans', { goal_id: GOAL, status: 'actve' })
    expect({ status, ...body.faults[0] }).toEqual({
      status: 422,
      path: 'status',
      message: '"actve" is not a status here',
      hint: "did you mean 'active'?",
    })
    const { body: done } = await ask('POST', '/plans', { goal_id: GOAL, status: 'completed' })
    expect(done).toMatchObject({ status: 422, detail: expect.stringContaining("cannot begin as 'completed'") })
  })

  test('can be started as it is made, and belong to a session', async () => {
    const { status, body } = await ask('POST', '/plans?start=true&session_id=s-7', { goal_id: GOAL, steps: STEPS })
    expect({ status, state: body.state, session: body.session_id }).toEqual({
      status: 201,
      state: 'active',
      session: 's-7',
    })
    expect((await ask('GET', '/plans?session_id=s-7')).body.items.map((one: { id: string }) => one.id)).toEqual([
      body.id,
    ])
  })

  test.each([
    ['goal_id', 5],
    ['steps', 'no list'],
    ['current_step', -1],
    ['labels', [1]],
    ['title', ''],
  ])('%s has its type', async (field, value) => {
    const { status, body } = await ask('POST', '/plans', { goal_id: GOAL, [field]: value })
    expect(status).toBe(422)
    expect(body.faults[0].path).toMatch(new RegExp(`^${field}`))
  })
})

describe('a document', () => {
  test('of the canonical format becomes a plan with tasks', async () => {
    const { status, body } = await ask('POST', '/plans?goal_id=g1', {
      planfold: 1,
      name: 'build-it',
      tasks: [
        { id: 'build', run: ['true'] },
        { id: 'check', needs: ['build'] },
      ],
    })
    expect({ status, name: body.name, goal: body.goal_id, type: body.plan_type }).toEqual({
      status: 201,
      name: 'build-it',
      goal: 'g1',
      type: 'sequential',
    })
    expect(body.progress.total).toBe(2)
    const again = await ask('POST', '/plans', { planfold: 1, name: 'build-it', tasks: [{ id: 'a' }] })
    expect(again.body.name).toBe('build-it-2')
  })

  test('may come as YAML', async () => {
    const { status, body } = await ask('POST', '/plans', YAML, { 'content-type': 'application/yaml' })
    expect({ status, title: body.title, total: body.progress.total }).toEqual({
      status: 201,
      title: 'Written by hand',
      total: 2,
    })
    const printed = await ask('GET', `/plans/${body.id}?as=planfold`)
    expect(printed.headers.get('content-type')).toBe('application/yaml')
    expect(printed.body).toContain('needs:')
  })

  test.skipIf(lacks('dialects'))('of nodes is told by its shape (seed 003)', async () => {
    const { status, body } = await ask('POST', '/plans', {
      title: 'HTTP/3 research',
      nodes: [
        { id: 'scope', title: 'Scope', kind: 'research' },
        { id: 'review', title: 'Review', kind: 'gate', depends_on: ['scope'] },
      ],
      artifacts: [],
      gates: [{ id: 'review', checks: ['enough sources'] }],
    })
    expect(status, JSON.stringify(body)).toBe(201)
    expect(body).toMatchObject({ title: 'HTTP/3 research', state: 'draft' })
    const tasks = (await ask('GET', `/tasks?plan_id=${body.id}`)).body.items
    expect(tasks.map((task: { name: string; action: string }) => [task.name, task.action])).toEqual([
      ['scope', 'external'],
      ['review', 'gate'],
    ])
  })

  test.skipIf(lacks('dialects'))(
    'of TODO steps with criteria is told by its shape, and plan_name names it (seed 000)',
    async () => {
      const steps = [
        { id: 'draw', description: 'Draw it to scale', status: 'DONE', acceptance_criteria: ['the roof is drawn'] },
        {
          id: 'saw',
          description: 'Saw the boards',
          status: 'TODO',
          acceptance_criteria: ['four boards', 'no splinters'],
        },
      ]
      const { status, body } = await ask('POST', '/plans', { plan_name: 'bird-table', steps })
      expect(status, JSON.stringify(body)).toBe(201)
      expect(body).toMatchObject({
        name: 'bird-table',
        state: 'draft',
        progress: { total: 2 },
        plan_type: 'sequential',
      })
      expect(body.steps).toEqual(steps)
      expect(await tasksOf(body.id)).toMatchObject([
        { name: 'draw', status: 'completed', description: 'Draw it to scale' },
        { name: 'saw', status: 'pending', depends_on: ['draw'] },
      ])
      const { lines } = (await ask('GET', '/plans/bird-table/contract')).body
      type Line = { task: string; criterion: string }
      expect(lines.filter((one: Line) => one.task === 'saw').map((one: Line) => one.criterion)).toEqual([
        'four boards',
        'no splinters',
      ])
    },
  )

  test.skipIf(lacks('dialects'))(
    'is replaced by PUT as a revision: sent back as shown, with other steps; not with work that nobody reported',
    async () => {
      const steps = [
        { id: 'dig', description: 'Dig', status: 'TODO' },
        { id: 'sow', description: 'Sow', status: 'TODO' },
      ]
      const { body: made } = await ask('POST', '/plans', { plan_name: 'bed', steps })
      const same = await ask('PUT', `/plans/${made.id}`, made)
      expect(same).toMatchObject({ status: 200, body: { revision: 1, steps } })
      const more = [...steps, { id: 'water', description: 'Water', status: 'TODO' }]
      const put = await ask('PUT', '/plans/bed', { ...made, steps: more })
      expect(put).toMatchObject({ status: 200, body: { id: made.id, revision: 2, steps: more } })
      expect((await tasksOf(made.id)).map(one => one.name)).toEqual(['dig', 'sow', 'water'])
      const [first, ...others] = more
      const claimed = await ask('PUT', '/plans/bed', { steps: [{ ...first, status: 'DONE' }, ...others] })
      expect(claimed).toMatchObject({
        status: 409,
        body: { detail: expect.stringMatching(/'dig' is completed; here it is/) },
      })
      expect((await ask('PUT', '/plans/bed', { id: 'other', steps })).status).toBe(422)
      expect((await ask('PUT', '/plans/none', { steps })).status).toBe(404)
      await ask('POST', '/plans/bed/start')
      await ask('POST', '/plans/bed/cancel')
      expect((await ask('PUT', '/plans/bed', { steps })).status).toBe(409)
      expect((await ask('DELETE', '/plans/bed')).status).toBe(204)
      expect((await tasksOf(made.id)).length).toBe(0)
    },
  )

  test.skipIf(lacks('dialects'))(
    'of steps with tools, parameters and dependencies is told by its shape (seed 001)',
    async () => {
      const { status, body } = await ask('POST', '/plans', {
        description: 'Mend the gate',
        steps: [
          { id: 'look', description: 'Find the hinge', tool: 'search', params: { pattern: 'hinge' } },
          { id: 'oil', description: 'Oil it', tool: 'bash', params: { drops: 3 }, dependencies: [] },
          { id: 'close', description: 'Close it', tool: 'bash', dependencies: ['look', 'oil'], max_retries: 2 },
        ],
      })
      expect(status, JSON.stringify(body)).toBe(201)
      expect(await tasksOf(body.id)).toMatchObject([
        { name: 'look', action: 'external', input_data: { pattern: 'hinge' }, depends_on: [] },
        { name: 'oil', input_data: { drops: 3 }, depends_on: [] },
        { name: 'close', depends_on: ['look', 'oil'] },
      ])
    },
  )

  test.skipIf(lacks('dialects'))(
    'of steps with actions is a plan of tasks at once; with a goal or an agent it is the outline of the PlanStore (seed 004)',
    async () => {
      const steps = [
        { step: 1, action: 'analyze' },
        { step: 2, action: 'implement' },
      ]
      const whole = (await ask('POST', '/plans', { plan_name: 'whole', steps })).body
      expect(whole).toMatchObject({ name: 'whole', progress: { total: 2 } })
      expect((await tasksOf(whole.id)).map(one => one.name)).toEqual(['analyze', 'implement'])
      const outline = (await ask('POST', '/plans', { plan_name: 'outline', goal_id: GOAL, steps })).body
      expect(outline).toMatchObject({ name: 'outline', steps, progress: { total: 0 } })
      // Free steps that no format could read are an outline, too.
      const free = await ask('POST', '/plans', { name: 'free', steps: [7, { any: 'thing' }] })
      expect({ status: free.status, steps: free.body.steps }).toEqual({ status: 201, steps: [7, { any: 'thing' }] })
    },
  )

  test.skipIf(lacks('dialects'))(
    'an outline is started by the rules of the format its steps are written in',
    async () => {
      const steps = [
        { id: 'a', description: 'first', tool: 'grep', params: { q: 1 } },
        { id: 'b', description: 'second', tool: 'sed', dependencies: [] },
      ]
      const made = (await ask('POST', '/plans?start=true', { goal_id: GOAL, steps })).body
      expect(await tasksOf(made.id)).toMatchObject([
        { name: 'a', input_data: { q: 1 }, state: 'ready' },
        { name: 'b', depends_on: [] },
      ])
    },
  )

  test('an id that a client chose is its name, or refused; it is never put aside', async () => {
    const kept = (await ask('POST', '/plans', { id: 'plan-build-search', goal_id: GOAL, name: 'Build the search' }))
      .body
    expect(kept).toMatchObject({ name: 'plan-build-search', title: 'Build the search', extra: {} })
    expect((await ask('GET', '/plans/plan-build-search')).body.id).toBe(kept.id)
    for (const body of [
      { id: GOAL, goal_id: GOAL },
      { id: GOAL, steps: STEPS },
      { id: 7, planfold: 1, name: 'seven', tasks: [{ id: 'a' }] },
      { id: 'one', name: 'other', goal_id: GOAL },
    ]) {
      const { status, body: told } = await ask('POST', '/plans', body)
      expect({ status, path: told.faults?.[0]?.path }, JSON.stringify(told)).toEqual({ status: 422, path: 'id' })
    }
  })

  test('what agents report of their work is recognised in the numbers of the plan (seed 004)', async () => {
    const { body } = await ask('POST', '/plans', { goal_id: GOAL, name: 'reported', plan_type: 'parallel' })
    const outputs = [
      { files_modified: ['a.ts', 'b.ts'], tests_added: 5, coverage: 0.8, note: 'kept' },
      { files_modified: ['b.ts', 7], artifacts: ['out.json', { path: 'report.md' }], metrics: { lines_changed: 42 } },
      { coverage: 0.85, tests_added: 'many', files_modified: 'c.ts' },
      { tests_added: 1 },
    ]
    const reported = async () => (await ask('GET', '/plans/reported/metrics')).body.reported
    const ids: string[] = []
    for (const at of outputs.keys())
      ids.push((await ask('POST', '/tasks', { plan_id: body.id, name: `t${at}` })).body.id)
    expect(await reported()).toBeNull()
    for (const [at, output_data] of outputs.entries()) {
      // What a task that failed says about itself does not count.
      const status = at === 3 ? 'failed' : 'completed'
      const done = await ask('PATCH', `/tasks/${ids[at]}`, { status, output_data, error: 'x' })
      expect(done.body.output_data).toEqual(output_data)
    }
    expect(await reported()).toEqual({
      files_modified: ['a.ts', 'b.ts'],
      tests_added: 5,
      lines_changed: 42,
      coverage: 0.85,
      artifacts: ['out.json', 'report.md'],
    })
  })

  test.skipIf(lacks('dialects'))('may be printed in another format', async () => {
    const { body } = await ask('POST', '/plans', YAML, { 'content-type': 'text/yaml' })
    const printed = await ask('GET', `/plans/${body.id}?as=plan-steps`)
    expect(JSON.parse(printed.body).steps).toHaveLength(2)
    const wrong = await ask('GET', `/plans/${body.id}?as=plan-step`)
    expect({ status: wrong.status, hint: wrong.body.hint }).toEqual({ status: 422, hint: "did you mean 'plan-steps'?" })
  })

  test('is refused with every fault at its place, and nothing is written', async () => {
    const before = (await ask('GET', '/plans?limit=1')).body.items[0].id
    const wrong = 'planfold: 1\nname: wrong\ntasks:\n  - id: a\n    neds: [b]\n  - id: b\n    needs: [c]\n'
    const { status, body } = await ask('POST', '/plans', wrong, { 'content-type': 'application/yaml' })
    expect(status).toBe(422)
    expect(body.type).toBe('urn:planfold:problem:invalid-plan')
    expect(body.faults[0]).toEqual({
      path: 'tasks[0].neds',
      message: "unknown key 'neds'",
      hint: "did you mean 'needs'?",
      line: 5,
      column: 5,
    })
    expect((await ask('GET', '/plans?limit=1')).body.items[0].id).toBe(before)
  })

  test('regression 8 over HTTP: a task id that is there twice is told precisely, and nothing is written', async () => {
    const { status, body } = await ask(
      'POST',
      '/plans',
      '{"planfold": 1, "name": "twice",\n "tasks": [{"id": "a"}, {"id": "a"}]}',
    )
    expect(status).toBe(422)
    expect(body.faults[0]).toMatchObject({ path: 'tasks[1].id', line: 2 })
    expect((await ask('GET', '/plans/twice')).status).toBe(404)
  })

  test.each([
    ['{}', 422],
    ['[]', 422],
    ['"plan"', 422],
    ['{"goalid": 1}', 422],
    ['{"planfold": 2, "tasks": []}', 422],
    ['{"planfold": 1, "name": "x", "tasks": []}', 422],
    ['{"tasks": "none"', 400],
  ])('%s is none', async (text, expected) => {
    const { status, body } = await ask('POST', '/plans', text)
    expect({ status, hint: typeof body.hint }).toEqual({ status: expected, hint: 'string' })
  })

  test.skipIf(lacks('dialects'))('that only shows what a plan may look like is not run', async () => {
    const { status, body } = await ask('POST', '/plans?from=nonsense', YAML, { 'content-type': 'application/yaml' })
    expect({ status, detail: body.detail }).toEqual({ status: 422, detail: "there is no format 'nonsense'" })
  })
})

describe('Idempotency-Key', () => {
  test('makes asking twice the same as asking once', async () => {
    const sent = { goal_id: GOAL, steps: STEPS }
    const first = await ask('POST', '/plans', sent, { 'idempotency-key': 'k-1' })
    const second = await ask('POST', '/plans', sent, { 'idempotency-key': 'k-1' })
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body).toEqual({ ...first.body, replayed: true })
    const other = await ask('POST', '/plans', { ...sent, agent_id: AGENT }, { 'idempotency-key': 'k-1' })
    expect(other.status).toBe(409)
  })

  test('also for a document that is to be started', async () => {
    const sent = { planfold: 1, name: 'once', tasks: [{ id: 'a' }] }
    const all = await Promise.all(
      [1, 2, 3].map(() => ask('POST', '/plans?start=1', sent, { 'idempotency-key': 'k-2' })),
    )
    expect(new Set(all.map(({ body }) => body.id)).size).toBe(1)
    expect((await ask('GET', '/plans/once')).body.state).toBe('active')
    expect((await ask('GET', '/plans/once-2')).status).toBe(404)
  })
})

describe('lists', () => {
  test('regression 7 over HTTP: work with none, one and many', async () => {
    const empty = await served()
    try {
      expect((await empty.ask('GET', '/plans')).body).toEqual({
        items: [],
        next: null,
        total: 0,
        complete: true,
        states: NONE,
      })
      expect((await empty.ask('GET', '/tasks')).body).toEqual({ items: [], next: null })
      const one = (await empty.ask('POST', '/plans', { goal_id: 'g' })).body
      expect((await empty.ask('GET', '/plans')).body.items).toMatchObject([
        { id: one.id, tasks: 0, done: 0, goal_id: 'g' },
      ])
      const ids = [one.id]
      for (let count = 1; count < 7; count++) ids.unshift((await empty.ask('POST', '/plans', { goal_id: 'g' })).body.id)
      const seen: string[] = []
      for (let next: string | null = ''; next !== null; ) {
        const page: { body: { items: { id: string }[]; next: string | null } } = await empty.ask(
          'GET',
          `/plans?limit=3${next === '' ? '' : `&cursor=${next}`}`,
        )
        expect(page.body.items.length).toBeLessThanOrEqual(3)
        seen.push(...page.body.items.map(({ id }) => id))
        next = page.body.next
      }
      expect(seen).toEqual(ids)
    } finally {
      await empty.close()
    }
  })

  test('tell how far they have come as the plan itself does', async () => {
    const nested = { planfold: 1, name: 'far', tasks: [{ id: 'a' }, { id: 'b', subplan: [{ id: 'c' }, { id: 'd' }] }] }
    for (const [path, body, total] of [
      ['/plans', { goal_id: 'far' }, 0],
      ['/plans?start=true', { goal_id: 'far', steps: STEPS }, 3],
      ['/plans?start=true', nested, 4],
    ] as const) {
      const { id } = (await ask('POST', path, body)).body
      const [task] = (await ask('GET', `/tasks?plan_id=${id}`)).body.items
      if (task !== undefined) await ask('PATCH', `/tasks/${task.id}`, { status: 'skipped' })
      const { progress } = (await ask('GET', `/plans/${id}`)).body
      expect(progress).toMatchObject({ total, done: Math.min(1, total) })
      const [item] = (await ask('GET', '/plans?limit=1')).body.items
      expect(item.id).toBe(id)
      expect(item.progress).toEqual({ total, done: progress.done, ratio: progress.ratio })
    }
  })

  test('go on by a cursor under the same filter, and are refused one of another', async () => {
    for (let count = 0; count < 2; count++) await ask('POST', '/plans', { goal_id: 'bound' })
    const { next } = (await ask('GET', '/plans?goal_id=bound&limit=1')).body
    expect((await ask('GET', `/plans?goal_id=bound&limit=5&cursor=${next}`)).body.items).toHaveLength(1)
    const old = Buffer.from('["plans",3]').toString('base64url')
    for (const query of [`cursor=${next}`, `goal_id=bound&status=draft&cursor=${next}`, `cursor=${old}`])
      expect(await ask('GET', `/plans?${query}`), query).toMatchObject({
        status: 422,
        body: { type: 'urn:planfold:problem:bad-cursor', hint: expect.any(String) },
      })
  })

  test('are narrowed by goal, agent, session, status and words', async () => {
    const made = await ask('POST', '/plans?start=true', {
      goal_id: 'narrow',
      agent_id: 'agent-9',
      session_id: 'session-9',
      title: 'Paint the unusual bridge',
      steps: STEPS,
    })
    const { id } = made.body
    for (const query of [
      'goal_id=narrow',
      'agent_id=agent-9',
      'session_id=session-9',
      'q=unusual',
      'goal_id=narrow&status=active',
      'goal_id=narrow&status=EXECUTING',
    ])
      expect(
        (await ask('GET', `/plans?${query}`)).body.items.map((one: { id: string }) => one.id),
        query,
      ).toEqual([id])
    for (const query of ['goal_id=narrow&status=draft', 'goal_id=narrow&agent_id=other', 'q=nowhere-to-be-found'])
      expect((await ask('GET', `/plans?${query}`)).body.items, query).toEqual([])
  })

  test.each(['status=unheard', 'limit=0', 'limit=x', 'page=2', 'cursor=rubbish', 'archived=perhaps'])(
    'refuse ?%s',
    async query => {
      const { status, body } = await ask('GET', `/plans?${query}`)
      expect({ status, hint: typeof body.hint }).toEqual({ status: 422, hint: 'string' })
    },
  )

  test('show to a token for some plans only those, and let it make none outside', async () => {
    const [one, two] = [
      (await ask('POST', '/plans', { goal_id: 'a' })).body,
      (await ask('POST', '/plans', { goal_id: 'a' })).body,
    ]
    await ask('POST', '/tasks', { plan_id: one.id, name: 'mine' })
    const { body: theirs } = await ask('POST', '/tasks', { plan_id: two.id, name: 'theirs' })
    const who = {
      actor: 'bo' as Actor,
      role: 'admin' as const,
      token: 't',
      scope: { plans: [one.id], sessions: ['s-own'] },
    }
    const narrow = await served({ folder: service.folder, guard: { admit: () => who, takesAnyType: () => false } })
    try {
      expect((await narrow.ask('GET', '/plans')).body.items.map((row: { id: string }) => row.id)).toEqual([one.id])
      expect((await narrow.ask('GET', '/tasks')).body.items.map((row: { name: string }) => row.name)).toEqual(['mine'])
      for (const [method, path] of [
        ['GET', `/plans/${two.id}`],
        ['GET', `/plans/${two.name}`],
        ['PATCH', `/plans/${two.id}`],
        ['DELETE', `/plans/${two.id}`],
        ['GET', `/plans/${two.id}/metrics`],
        ['GET', `/tasks?plan_id=${two.id}`],
        ['GET', `/tasks/${theirs.id}`],
        ['PATCH', `/tasks/${theirs.id}`],
        ['DELETE', `/tasks/${theirs.id}`],
        ['GET', `/tasks/${two.name}:theirs`],
      ] as const)
        expect((await narrow.ask(method, path, method === 'PATCH' ? { note: 1 } : undefined)).status, path).toBe(404)
      expect((await narrow.ask('POST', '/tasks', { plan_id: two.id })).status).toBe(404)
      expect((await narrow.ask('DELETE', '/plans', { ids: [two.id] })).body.missing).toEqual([two.id])
      expect((await narrow.ask('POST', '/plans', { goal_id: 'a' })).status).toBe(403)
      expect((await narrow.ask('GET', '/goals')).status).toBe(403)
      const own = await narrow.ask('POST', '/plans', { goal_id: 'a', session_id: 's-own' })
      expect((await narrow.ask('GET', `/plans/${own.body.id}`)).status).toBe(200)
    } finally {
      await narrow.close()
    }
  })
})

describe('what was meant', () => {
  test('a body that is no plan is told which shapes there are', async () => {
    for (const body of [{}, { something: 'else' }]) {
      const answer = await ask('POST', '/plans', body)
      expect(answer.status).toBe(422)
      for (const shape of ['"planfold": 1', '"nodes"', '"steps"']) expect(answer.body.hint).toContain(shape)
    }
  })

  test('a goal alone is planned, as a draft; the same key makes it once', async () => {
    const goal = 'Rename `greet` to `salute`; rm -rf "$HOME" & <b>日本</b>'
    const once = () => ask('POST', '/plans', { goal, session_id: 'g-1' }, { 'idempotency-key': 'goal-1' })
    const { status, body } = await once()
    expect({ status, state: body.status }).toEqual({ status: 201, state: 'draft' })
    expect((await ask('GET', `/plans/${body.id}`)).body).toMatchObject({ description: goal, session_id: 'g-1' })
    expect((await ask('GET', `/tasks?plan_id=${body.id}`)).body.items.length).toBeGreaterThan(1)
    expect((await once()).body).toMatchObject({ id: body.id, replayed: true })
    expect((await ask('POST', '/plans', { goal: ' ' })).status).toBe(422)
  })

  test('a plan with a title and no name is named after it', async () => {
    const nodes = [{ id: 'a', title: 'First' }]
    const { status, body } = await ask('POST', '/plans', { title: 'Ship the Great Release', nodes })
    expect({ status, name: body.name, title: body.title }).toEqual({
      status: 201,
      name: 'ship-the-great-release',
      title: 'Ship the Great Release',
    })
    expect((await ask('POST', '/plans', { title: 'Ship the Great Release', nodes })).body.name).toBe(
      'ship-the-great-release-2',
    )
  })

  test('what is missing is told in the words of where it belongs', async () => {
    expect((await ask('GET', '/search')).body.hint).toBe('add ?q=… to the address')
    expect((await ask('POST', '/goals', {})).body.hint).toBe('add "title"')
  })
})
