// Plans over HTTP: every form of body, every change of status, and nothing that is sent is lost.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Served, served } from '../server.fixture.ts'

let service: Served
beforeAll(async () => {
  service = await served()
})
afterAll(async () => {
  expect(service.errors).toEqual([])
  await service.close()
})

const ask: Served['ask'] = (...given) => service.ask(...given)
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/
const GOAL = '660e8400-e29b-41d4-a716-446655440001'
const AGENT = '550e8400-e29b-41d4-a716-446655440000'
const STEPS = [
  { step: 1, action: 'research' },
  { step: 2, action: 'implement' },
  { step: 3, action: 'test' },
]

const storePlan = async (more: object = {}) => {
  const { status, body } = await ask('POST', '/plans', { goal_id: GOAL, agent_id: AGENT, steps: STEPS, ...more })
  expect(status).toBe(201)
  return body
}

describe('a plan of the PlanStore', () => {
  test('is a draft without tasks, with its steps word for word', async () => {
    const { status, headers, body } = await ask('POST', '/plans/', {
      goal_id: GOAL,
      agent_id: AGENT,
      plan_type: 'sequential',
      steps: STEPS,
      budget: { tokens: 5 },
    })
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
      progress: expect.objectContaining({ total: 0, done: 0, ratio: 0, success_rate: null }),
      extra: { budget: { tokens: 5 } },
    })
    for (const reference of [body.id, body.name]) expect((await ask('GET', `/plans/${reference}`)).body).toEqual(body)
  })

  test('becomes active: its steps are made into tasks', async () => {
    const plan = await storePlan()
    const { status, body } = await ask('PATCH', `/plans/${plan.id}`, { status: 'ACTIVE' })
    expect(status).toBe(200)
    expect(body).toMatchObject({ status: 'active', state: 'active', steps: STEPS, revision: 2 })
    expect(body.progress.total).toBe(3)
    const tasks = (await ask('GET', `/tasks?plan_id=${plan.id}`)).body.items
    expect(tasks.map((task: { name: string; depends_on: string[] }) => [task.name, task.depends_on])).toEqual([
      ['research', []],
      ['implement', ['research']],
      ['test', ['implement']],
    ])
    // To ask again for what is so changes nothing.
    expect((await ask('PATCH', `/plans/${plan.id}`, { status: 'active' })).body.version).toBe(body.version)
  })
})
