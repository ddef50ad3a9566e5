// Every endpoint of the session API (seed 001) and of the plan, gate and memory API (seed 003) over real HTTP, against the built
// service that drives plans by itself. Bodies are looked at field by field, and each is held against the document of the service.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { validateAnswer } from '../../src/server/answers.fixture.ts'
import type { OpenApi } from '../../src/server/api-docs/openapi.ts'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'
import { type ServedProcess, serving } from './serve.fixture.ts'

let here: Place
let service: ServedProcess
let document: OpenApi

beforeAll(async () => {
  here = await place()
  service = await serving(here.folder, '--no-auth')
  document = (await (await fetch(`${service.address}/openapi.json`)).json()) as OpenApi
})
afterAll(async () => {
  service.kill('SIGTERM')
  expect(await service.ended).toMatchObject({ exit: 0 })
  await here.remove()
})

interface Asked {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came.
  readonly body: any
}

async function ask(method: string, path: string, body?: unknown, headers: object = {}): Promise<Asked> {
  const response = await fetch(service.address + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await response.text()
  const type = response.headers.get('content-type') ?? ''
  const read = type.includes('json') ? JSON.parse(text) : text
  validateAnswer(document, method, path.split('?', 1)[0]!, { status: response.status, type, body: read })
  return { status: response.status, headers: response.headers, body: read }
}

/** Until the plan stands so; whatever happens to it is sent, so there is nothing else to wait for. */
async function until(plan: string, states: readonly string[]): Promise<string> {
  const stream = await fetch(`${service.address}/plans/${plan}/events?progress=false`)
  const reader = stream.body!.getReader()
  try {
    for (;;) {
      const { body } = await ask('GET', `/plan/${plan}`)
      if (states.includes(body.state)) return body.state
      const { done } = await reader.read()
      if (done) throw new Error(`the stream ended while the plan was ${body.state}`)
    }
  } finally {
    await reader.cancel()
  }
}

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/)
const file = (name: string): string => join(here.folder, name)
const writes = (name: string, text: string) => ({ run: `printf '${text}' > ${name}`, write: [name], network: [] })

describe('the session API (seed 001)', () => {
  test('POST /api/session/:id/plan makes a plan of a description', async () => {
    const { status, headers, body } = await ask('POST', '/api/session/s-1/plan', {
      description: 'Add retries to the client',
      auto_execute: false,
    })
    expect(status).toBe(201)
    expect(headers.get('location')).toBe(`/plans/${body.id}`)
    expect(body).toEqual({
      id: ID,
      name: 'add-retries-to-the-client',
      session_id: 's-1',
      description: 'Add retries to the client',
      status: 'pending',
      state: 'draft',
      reason: null,
      steps: expect.any(Array),
      current_step: 0,
      created_at: TIME,
      updated_at: TIME,
      started_at: null,
      completed_at: null,
      cloned_from: null,
      revision: 1,
      version: 1,
      planner: 'heuristic',
      planned: expect.stringMatching(/\S/),
      analysis: expect.objectContaining({ files: expect.any(Array), commands: expect.any(Object) }),
      auto_execute: false,
    })
    expect(body.steps.length).toBeGreaterThan(1)
    for (const step of body.steps)
      expect(step).toMatchObject({ task_id: ID, status: 'pending', state: 'pending', result: null, start_time: null })
    expect((await ask('GET', '/api/sessions/s-1')).body).toEqual({
      id: 's-1',
      title: 'Add retries to the client',
      status: 'open',
      messages: 0,
      version: 1,
      created_at: TIME,
      updated_at: TIME,
    })
  })

  test('auto_execute runs it, and stops at gates', async () => {
    const tasks = [
      { id: 'first', ...writes('first.txt', 'one') },
      { id: 'ok', gate: 'approval', needs: ['first'] },
      { id: 'second', ...writes('second.txt', 'two'), needs: ['ok'] },
    ]
    const { body } = await ask('POST', '/api/session/s-2/plan/', {
      document: { planfold: 1, name: 'gated', tasks },
      auto_execute: true,
    })
    expect(body).toMatchObject({ status: 'executing', auto_execute: true })
    expect(await until(body.id, ['blocked', 'completed', 'failed'])).toBe('blocked')
    expect(readFileSync(file('first.txt'), 'utf8')).toBe('one')
    expect((await ask('GET', `/api/plan/${body.id}/status`)).body).toMatchObject({
      status: 'executing',
      state: 'blocked',
      waiting: [{ task: 'ok', asks: 'approval', since: TIME }],
    })
    expect((await ask('POST', `/plans/${body.id}/gates/ok/approve`, { rationale: 'go', unseen: true })).status).toBe(
      200,
    )
    expect(await until(body.id, ['completed', 'failed'])).toBe('completed')
    expect(readFileSync(file('second.txt'), 'utf8')).toBe('two')
  })

  test('GET /api/session/:id/plans lists them, …/history pages through them', async () => {
    for (const n of [1, 2, 3]) await ask('POST', '/session/s-3/plan', { description: `plan number ${n}` })
    const { body } = await ask('GET', '/api/session/s-3/plans/')
    expect(body.map((plan: { description: string }) => plan.description)).toEqual([
      'plan number 3',
      'plan number 2',
      'plan number 1',
    ])
    const page = await ask('GET', '/api/session/s-3/plans/history?page=1&limit=2')
    expect(page.body).toEqual({
      plans: [3, 2].map(n => ({
        id: ID,
        name: `plan-number-${n}`,
        description: `plan number ${n}`,
        status: 'pending',
        state: 'draft',
        created_at: TIME,
        updated_at: TIME,
        completed_at: null,
        step_count: expect.any(Number),
        completed_steps: 0,
        duration: null,
      })),
      page: 1,
      limit: 2,
      total: 3,
      total_pages: 2,
      next: expect.any(String),
    })
    const found = await ask('GET', '/api/session/s-3/plans/history?search=number%202&status=pending')
    expect(found.body).toMatchObject({ total: 1, plans: [{ description: 'plan number 2' }] })
    expect((await ask('GET', '/api/session/nobody/plans')).status).toBe(404)
  })

  test('execute, status, checkpoints, analyze, git-operations, full, rollback, clone and DELETE do what they say', async () => {
    writeFileSync(file('a.txt'), 'before')
    const document = {
      planfold: 1,
      name: 'whole',
      goal: 'try all of it',
      tasks: [
        { id: 'a', ...writes('a.txt', 'after') },
        { id: 'b', ...writes('b.txt', 'new'), needs: ['a'] },
      ],
    }
    const { body: made } = await ask('POST', '/api/session/s-4/plan', { document })
    const plan = made.id as string
    const analysis = await ask('GET', `/api/plan/${plan}/analyze`)
    expect(analysis.body).toMatchObject({
      plan_id: plan,
      total_steps: 2,
      max_parallelism: 1,
      critical_path: ['a', 'b'],
      parallel_groups: [['a'], ['b']],
      estimated_speedup: 1,
    })

    const first = await ask('POST', `/api/plan/${plan}/execute`)
    expect({ status: first.status, body: first.body }).toEqual({
      status: 202,
      body: {
        status: 'execution_started',
        attached: false,
        plan_id: plan,
        name: 'whole',
        state: expect.any(String),
        version: expect.any(Number),
      },
    })
    expect(await until(plan, ['completed', 'failed'])).toBe('completed')
    expect((await ask('POST', `/api/plan/${plan}/execute`)).status).toBe(409)

    const status = await ask('GET', `/api/plan/${plan}/status`)
    const executions = ['a', 'b'].map(step => ({
      plan_id: plan,
      step_id: step,
      visit: 1,
      attempt: 1,
      status: 'success',
      started_at: TIME,
      completed_at: TIME,
      duration_ms: expect.any(Number),
      retries: 0,
      exit: 0,
      error_class: null,
    }))
    const metrics = {
      total_steps: 2,
      completed_steps: 2,
      failed_steps: 0,
      skipped_steps: 0,
      total_attempts: 2,
      total_retries: 0,
      total_duration_ms: expect.any(Number),
      avg_step_duration_ms: expect.any(Number),
      success_rate: 1,
      tools_used: ['run'],
    }
    expect(status.body).toEqual({
      plan_id: plan,
      name: 'whole',
      status: 'completed',
      state: 'completed',
      reason: expect.anything(),
      description: 'try all of it',
      created_at: TIME,
      updated_at: TIME,
      started_at: TIME,
      completed_at: TIME,
      progress: 1,
      running: [],
      waiting: [],
      executions: expect.arrayContaining(executions),
      metrics,
      version: expect.any(Number),
    })

    const checkpoints = await ask('GET', `/api/plan/${plan}/checkpoints`)
    expect(checkpoints.body).toEqual(
      ['a', 'b'].map(step => ({
        id: expect.stringMatching(new RegExp(`^cp-${step}-`)),
        plan_id: plan,
        step_id: step,
        timestamp: TIME,
        version: expect.any(Number),
        why: 'after',
        paths: 1,
        has_files: expect.any(Boolean),
        git_head: null,
        description: `after ${step}`,
      })),
    )
    expect((await ask('GET', `/api/plan/${plan}/git-operations`)).body).toEqual([])
    const full = await ask('GET', `/api/plan/${plan}/full`)
    expect(full.body).toEqual({
      plan: (await ask('GET', `/api/plan/${plan}`)).body,
      executions: status.body.executions,
      metrics,
      checkpoints: checkpoints.body,
      stats: { total_duration: expect.any(Number), success_rate: 1, execution_count: 2 },
      modified_files: [
        { path: 'a.txt', change: 'changed' },
        { path: 'b.txt', change: 'created' },
      ],
      git_operations: [],
    })
    expect(full.body.plan.steps).toMatchObject([
      { id: 'a', status: 'completed', result: { success: true, error: null, retries: 0 } },
      { id: 'b', status: 'completed', dependencies: ['a'] },
    ])

    const checkpoint = checkpoints.body[0].id as string
    const dry = await ask('POST', `/api/plan/${plan}/rollback`, { checkpoint_id: checkpoint, dry_run: true })
    expect(dry.body).toMatchObject({ status: 'dry_run', files: [{ path: 'b.txt', will: 'delete' }], conflicts: [] })
    const back = await ask('POST', `/api/plan/${plan}/rollback`, { checkpoint_id: checkpoint, wait_seconds: 20 })
    expect({ status: back.status, body: back.body }).toMatchObject({
      status: 200,
      body: { status: 'rollback_completed', plan_id: plan, checkpoint_id: checkpoint },
    })
    expect(() => readFileSync(file('b.txt'))).toThrow()
    expect(readFileSync(file('a.txt'), 'utf8')).toBe('after')
    expect((await ask('GET', `/api/plan/${plan}`)).body).toMatchObject({
      state: 'paused',
      steps: [{ status: 'completed' }, { status: 'pending' }],
    })

    const clone = await ask('POST', `/api/plan/${plan}/clone`)
    expect(clone.status).toBe(201)
    expect(clone.body).toMatchObject({ name: 'whole-2', status: 'pending', cloned_from: plan, session_id: 's-4' })
    const gone = await ask('DELETE', `/api/plan/${clone.body.id}`)
    expect({ status: gone.status, body: gone.body }).toEqual({ status: 204, body: '' })
    expect((await ask('GET', '/api/session/s-4/plans')).body).toHaveLength(1)
  })

  test('pause holds a running plan, resume goes on, cancel ends it', async () => {
    const document = { planfold: 1, name: 'held', tasks: [{ id: 'a', run: 'sleep 600', effect: 'pure' }] }
    const { body } = await ask('POST', '/api/session/s-5/plan', { document, auto_execute: true })
    const plan = body.id as string
    const twice = await ask('POST', `/api/plan/${plan}/execute`)
    expect({ status: twice.status, attached: twice.body.attached }).toEqual({ status: 200, attached: true })
    const paused = await ask('POST', `/api/plan/${plan}/pause`, { reason: 'lunch' })
    expect(paused.body).toEqual({
      status: 'paused',
      plan_id: plan,
      name: 'held',
      state: 'paused',
      version: expect.any(Number),
    })
    expect((await ask('POST', `/api/plan/${plan}/resume`)).body).toMatchObject({ status: 'resumed', state: 'active' })
    const { status, state } = (await ask('POST', `/api/plan/${plan}/cancel`, { reason: 'enough' })).body
    // What runs is ended first.
    expect([
      ['cancelling', 'active'],
      ['cancelled', 'cancelled'],
    ]).toContainEqual([status, state])
    expect(await until(plan, ['cancelled', 'failed', 'completed'])).toBe('cancelled')
  })

  test('a plan is written elsewhere, and what was asked over HTTP is seen there', async () => {
    await ask('POST', '/session/s-6/plan', { description: 'seen by all' })
    const { items } = (await here.json('list')) as { items: { name: string }[] }
    expect(items.map(({ name }) => name)).toContain('seen-by-all')
    await here.write('other.yaml', 'planfold: 1\nname: by-hand\ntasks:\n  - id: a\n    instruction: x\n')
    await here.planfold('import', 'other.yaml')
    expect((await ask('GET', '/plan/by-hand')).body).toMatchObject({ name: 'by-hand', session_id: null })
  })
})

describe('the plan, gate and memory API (seed 003)', () => {
  const plan = {
    title: 'Research HTTP/3 congestion control',
    nodes: [
      { id: 'rfc-collect-1', kind: 'research', title: 'Collect sources', inputs: { query: 'HTTP/3' } },
      { id: 'rfc-summarize-1', kind: 'synthesize', depends_on: ['rfc-collect-1'] },
      { id: 'validation-gate-1', kind: 'gate', depends_on: ['rfc-summarize-1'] },
      { id: 'build-1', kind: 'implement', depends_on: ['validation-gate-1'] },
    ],
    artifacts: [{ name: 'sources', from: 'rfc-collect-1' }],
    gates: [{ id: 'validation-gate-1', checks: ['No critical contradictions across primary sources'] }],
  }

  test('POST /plans, then each task by hand, and the gate with a rationale', async () => {
    const made = await ask('POST', '/plans', plan)
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ title: plan.title, state: 'draft' })
    const { id } = made.body
    const early = await ask('POST', `/plans/${id}/tasks/rfc-summarize-1/run`, { inputs: {} })
    expect(early.status).toBe(409)
    expect(early.body).toMatchObject({ missing: [{ task: 'rfc-collect-1', status: 'pending' }] })

    const run = await ask('POST', `/plans/${id}/tasks/rfc-collect-1/run`, {
      inputs: { query: 'HTTP/3 congestion control' },
    })
    expect(run.status).toBe(200)
    expect(run.body).toMatchObject({
      status: 'claimed',
      plan_id: id,
      state: 'active',
      token: expect.any(String),
      expires_in_seconds: expect.any(Number),
      task: { name: 'rfc-collect-1', state: 'running', claimed_by: 'anyone', task_type: 'research' },
      briefing: { task: 'rfc-collect-1', title: 'Collect sources', inputs: { query: 'HTTP/3 congestion control' } },
    })
    const { token } = run.body
    expect((await ask('POST', `/plans/${id}/tasks/rfc-collect-1/heartbeat`, { token })).status).toBe(200)
    const report = await ask('POST', `/plans/${id}/tasks/rfc-collect-1/report`, {
      token,
      status: 'completed',
      outputs: { sources: ['rfc9000'] },
    })
    expect(report.body).toMatchObject({ task: { state: 'completed', output_data: { sources: ['rfc9000'] } } })
    await ask('POST', `/plans/${id}/tasks/rfc-summarize-1/run`)
    await ask('POST', `/plans/${id}/tasks/rfc-summarize-1/report`, { status: 'done' })

    expect(await until(id, ['blocked'])).toBe('blocked')
    const gates = await ask('GET', `/plans/${id}/gates`)
    expect(gates.body.items).toMatchObject([{ gate: 'validation-gate-1', since: TIME, plan_id: id }])
    // Its checks are for a person to judge, and are judged by the approval itself.
    expect(gates.body.items).toMatchObject([{ asks: 'approval' }])
    expect(JSON.stringify(gates.body.items)).toContain(plan.gates[0]!.checks[0])
    const at = `/plans/${id}/gates/validation-gate-1/approve`
    const verdict = await ask('POST', at, { rationale: 'two sources agree', hash: gates.body.items[0].hash })
    expect({ status: verdict.status, body: verdict.body }).toEqual({
      status: 200,
      body: {
        gate: 'validation-gate-1',
        verdict: 'approved',
        by: 'anyone',
        counts: true,
        task_state: 'completed',
        asks: null,
        plan_id: id,
        name: made.body.name,
        state: 'active',
        version: expect.any(Number),
      },
    })
    expect((await ask('GET', `/plans/${id}/next`)).body.items).toMatchObject([{ name: 'build-1', state: 'ready' }])
    const trail = await ask('GET', `/plans/${id}/audit`)
    expect(trail.body.lines.some((line: { text: string }) => line.text.includes('two sources agree'))).toBe(true)
  })

  test('a gate is rejected with a rationale, and the plan fails for it', async () => {
    const { body } = await ask('POST', '/plans', {
      ...plan,
      nodes: [{ id: 'validation-gate-1', kind: 'gate' }],
      artifacts: [],
    })
    await ask('POST', `/plans/${body.id}/execute`)
    expect(await until(body.id, ['blocked', 'failed'])).toBe('blocked')
    const { body: said } = await ask('POST', `/plans/${body.id}/gates/validation-gate-1/reject`, {
      rationale: 'they differ',
    })
    expect(said).toMatchObject({ verdict: 'rejected', state: 'failed' })
  })

  test('a session is paused and resumed, over HTTP and by hand, and its active plan is found', async () => {
    const document = (name: string) => ({
      planfold: 1,
      name,
      tasks: [{ id: 'draft' }, { id: 'ship', needs: ['draft'], effect: 'pure', run: ['true'] }],
    })
    const message = { role: 'agent', text: 'two plans for the release' }
    for (const name of ['notes', 'release-notes'])
      await ask('POST', '/sessions/launch/plans', { document: document(name), auto_execute: true, message })
    const { items } = (await ask('GET', '/sessions/launch/messages')).body
    expect(items.map((one: { plan_id: string }) => one.plan_id)).toHaveLength(2)
    expect((await ask('GET', '/sessions/launch/plan')).body.name).toBe('release-notes')

    expect(await here.planfold('pause', '--session', 'launch', '-m', 'the office closes')).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('paused: release-notes, notes'),
    })
    const paused = (await ask('GET', '/plans/launch')).body
    expect(paused).toMatchObject({ name: 'release-notes', state: 'paused', reason: 'the office closes' })
    // Nobody is offered work of it.
    expect((await ask('POST', '/tasks/claim', { agent_id: 'bot', plan_id: 'release-notes' })).status).toBe(204)
    expect((await here.planfold('status', '--session', 'launch')).stdout).toContain('release-notes paused')

    expect((await ask('POST', '/sessions/launch/resume')).body.plans).toHaveLength(2)
    for (const name of ['notes', 'release-notes']) {
      const { id } = (await ask('GET', `/tasks/${name}:draft`)).body
      expect((await ask('PATCH', `/tasks/${id}`, { status: 'completed' })).status).toBe(200)
      expect(await until(name, ['completed', 'failed'])).toBe('completed')
    }
    expect((await ask('GET', '/sessions/launch/plan')).status).toBe(404)
    expect((await here.planfold('list', '--session', 'launch')).stdout).toContain('release-notes')
  })
})
