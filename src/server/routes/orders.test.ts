// What orders mean over HTTP: who holds what, what a whole body sent back says, and that every word of an answer is true.

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Actor, PlanId } from '../../domain/id.ts'
import type { Role } from '../../engine/roles.ts'
import { heldTest } from '../../safety/sandbox/needs-sandbox.fixture.ts'
import type { Guard, Who } from '../auth/guard.ts'
import { type Served, served } from '../server.fixture.ts'

let service: Served
/** `x-who` says who calls, `x-role` what they may. */
const guard: Guard = {
  admit: ({ headers }) =>
    ({
      actor: (headers['x-who'] ?? 'anyone') as Actor,
      role: (headers['x-role'] ?? 'admin') as Role,
      scope: null,
      token: '',
    }) satisfies Who,
  takesAnyType: () => true,
}
const OPERATOR = { 'x-role': 'operator', 'x-who': 'opa' }

beforeAll(async () => {
  service = await served({ guard })
})
afterAll(async () => {
  expect(service.errors).toEqual([])
  await service.close()
})

const ask = (...asked: Parameters<Served['ask']>) => service.ask(...asked)

let count = 0
async function make(
  tasks: readonly object[],
  { start = true, ...more }: { start?: boolean; [key: string]: unknown } = {},
) {
  const document = { planfold: 1, name: `order-${++count}`, tasks, ...more }
  const { status, body } = await ask('POST', `/session/o${count}/plan`, { document, auto_execute: start })
  expect(status, JSON.stringify(body)).toBe(201)
  return { id: body.id as PlanId, name: body.name as string }
}
const drive = (plan: PlanId) => service.composed.worker.drive(plan, { stop: new AbortController().signal })
const task = async (plan: PlanId, name: string) => (await ask('GET', `/tasks/${plan}:${name}`)).body

describe('a task that waits for a person to say what became of it', () => {
  const stillAsked = async (id: PlanId, asks: string) => {
    const before = await ask('GET', `/plans/${id}/gates`)
    expect(before.body.items).toMatchObject([{ gate: 'u', asks }])
    for (const path of [`/tasks/${id}:u/retry`, `/plans/${id}/tasks/u/skip`]) {
      const { status, body } = await ask('POST', path, { reason: 'x' }, OPERATOR)
      expect([path, status, body.type]).toEqual([path, 403, 'urn:planfold:problem:not-allowed'])
      expect(body.hint).toContain('ask an approver')
    }
    expect((await ask('PATCH', `/plans/${id}`, { status: 'completed' }, OPERATOR)).status).toBe(403)
    expect((await ask('GET', `/plans/${id}/gates`)).body).toEqual(before.body)
    expect((await ask('POST', `/tasks/${id}:u/retry`, {})).status).toBe(200)
  }

  heldTest('nobody knows whether it happened: only whoever may decide tries it again, or passes over it', async () => {
    const { id } = await make([
      { id: 'u', run: 'echo begun; sleep 600', effect: 'unsafe' },
      { id: 'later', needs: ['u'] },
    ])
    const driven = drive(id)
    const printed = async () => JSON.stringify((await ask('GET', `/plans/${id}/logs`)).body)
    await vi.waitFor(async () => expect(await printed()).toContain('begun'), 120_000)
    expect((await ask('POST', `/plans/${id}/pause`, { force: true })).status).toBe(200)
    await driven
    await stillAsked(id, 'unknown-outcome')
  })

  test('it failed, and a person is asked what then: so as well', async () => {
    const { id } = await make([
      { id: 'u', run: 'exit 3', recover: [{ ask: 'anyone' }] },
      { id: 'later', needs: ['u'] },
    ])
    await drive(id)
    await stillAsked(id, 'recovery')
  })

  test('what failed and asks nobody is tried again by whoever runs the plan', async () => {
    const { id } = await make([{ id: 'f', run: 'exit 3' }])
    await drive(id)
    expect((await ask('POST', `/tasks/${id}:f/retry`, {}, OPERATOR)).status).toBe(200)
  })
})

describe('a report', () => {
  test('with a token that holds nothing is refused, and changes nothing', async () => {
    const { id } = await make([{ id: 'a' }, { id: 'b' }])
    const made = { status: 'completed', token: 'garbage' }
    for (const [method, path] of [
      ['POST', `/tasks/${id}:a/report`],
      ['PATCH', `/tasks/${id}:a`],
    ] as const) {
      const { status, body } = await ask(method, path, made)
      expect([status, body.detail]).toEqual([409, "the claim on 'a' is not held by this token"])
    }
    expect(await task(id, 'a')).toMatchObject({ state: 'ready', attempt: 0 })
    const claimed = await ask('POST', `/tasks/${id}:a/claim`, {}, { 'x-who': 'ana' })
    expect((await ask('POST', `/tasks/${id}:a/report`, made, { 'x-who': 'ana' })).status).toBe(409)
    const { token } = claimed.body
    expect((await ask('POST', `/tasks/${id}:a/report`, { ...made, token })).status).toBe(200)
    expect((await ask('POST', `/tasks/${id}:b/report`, { status: 'completed' })).status).toBe(200)
  })

  test('after the end of the plan says that it cannot be reported', async () => {
    const { id } = await make([{ id: 'a' }])
    await ask('PATCH', `/plans/${id}`, { status: 'completed' })
    const { status, body } = await ask('POST', `/tasks/${id}:a/report`, { status: 'completed' })
    expect([status, body.detail]).toEqual([409, expect.stringMatching(/^cannot report: /)])
  })

  test('a heartbeat keeps the lease that the claim was made with', async () => {
    const { id } = await make([{ id: 'a' }])
    const claimed = await ask('POST', `/tasks/${id}:a/claim`, { lease_seconds: 7_200 })
    const { token } = claimed.body
    const beat = async (more: object) => (await ask('POST', `/tasks/${id}:a/heartbeat`, { token, ...more })).body
    expect((await beat({})).expires_in_seconds).toBe(7_200)
    expect((await beat({ lease_seconds: 30 })).expires_in_seconds).toBe(30)
    expect((await beat({})).expires_in_seconds).toBe(30)
  })
})

describe('a whole body that is sent back', () => {
  test('of a task says nothing new, however it stands', async () => {
    const { id } = await make([
      { id: 'a', title: 'First', inputs: { x: 1 }, labels: ['l'] },
      { id: 'b', needs: ['a'] },
      { id: 'c', run: 'true' },
    ])
    const same = async (name: string, who = 'ana') => {
      const got = await ask('GET', `/tasks/${id}:${name}`)
      const put = await ask('PATCH', `/tasks/${id}:${name}`, got.body, { 'x-who': who })
      expect([name, put.status, put.body]).toEqual([name, 200, got.body])
      // The same version; of what is shown, the tag tells more.
      expect(put.headers.get('etag')).toBe(got.headers.get('etag')!.replace(/-[^"]*/, ''))
    }
    for (const name of ['a', 'b', 'c']) await same(name)
    await ask('PATCH', `/tasks/${id}:a`, { status: 'running', note: 'x' }, { 'x-who': 'ana' })
    await same('a')
    await same('a', 'ben')
    // Said alone, it is a claim, and somebody has it.
    expect((await ask('PATCH', `/tasks/${id}:a`, { status: 'running' }, { 'x-who': 'ben' })).status).toBe(409)
    const running = (await ask('GET', `/tasks/${id}:a`)).body
    const done = { ...running, status: 'completed', output_data: { y: 2 } }
    expect((await ask('PATCH', `/tasks/${id}:a`, done, { 'x-who': 'ana' })).body).toMatchObject({
      state: 'completed',
      output_data: { y: 2 },
    })
    await same('a')
    expect((await ask('PATCH', `/tasks/${id}:b`, { status: 'failed', error: 'no' })).status).toBe(200)
    await same('b')
  })

  test('of a task with one input changed leaves the expressions in the others as they are', async () => {
    const [from, text] = ['${{ tasks.a.outputs.y }}', '$${{ no expression }}']
    const inputs = { from, text, n: 1, deep: { from, list: [from, 1] } }
    const { id } = await make([
      { id: 'a', outputs: { y: { report: true } } },
      { id: 'b', needs: ['a'], inputs },
    ])
    const got = await task(id, 'b')
    expect(got.input_data).toEqual({ ...inputs, text: '${{ no expression }}' })
    // In another order, as some clients keep the keys of a map.
    const { deep, ...others } = got.input_data
    const wanted = { deep: { list: [from, 2, from], from }, ...others, n: 2, new: from }
    const put = await ask('PATCH', `/tasks/${id}:b`, { ...got, input_data: wanted })
    expect([put.status, put.body.input_data]).toEqual([200, wanted])
    const current = await service.composed.engine.ask({ type: 'definition', plan: id })
    const literal = `$${from}`
    expect(current?.definition.tasks[1]?.inputs).toEqual({
      from,
      text,
      n: 2,
      deep: { from, list: [from, 2, literal] },
      new: literal,
    })
  })

  test('of a plan says nothing new; where it stands is not nailed down by it', async () => {
    const { id } = await make([{ id: 'a' }, { id: 'b' }])
    const got = await ask('GET', `/plans/${id}`)
    const put = await ask('PATCH', `/plans/${id}`, got.body)
    expect([put.status, put.body]).toEqual([200, got.body])
    await ask('PATCH', `/tasks/${id}:a`, { status: 'completed' })
    expect((await ask('GET', `/plans/${id}`)).body.current_step).toBe(1)
  })
})

describe('a plan that is said to be complete', () => {
  test('waits for whoever else holds a task; the reason tells what was done and what was not', async () => {
    const { id } = await make([{ id: 'a' }, { id: 'b' }, { id: 'c' }])
    await ask('PATCH', `/tasks/${id}:b`, { status: 'completed' }, { 'x-who': 'ana' })
    await ask('POST', `/tasks/${id}:a/claim`, {}, { 'x-who': 'opx' })
    const refused = await ask('PATCH', `/plans/${id}`, { status: 'completed' }, { 'x-who': 'ana' })
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      "cannot complete: 'a' is held by opx; wait for it, or cancel (status: running)",
    ])
    expect(refused.body.allowed).toEqual(['paused', 'failed', 'cancelled'])
    const done = await ask('PATCH', `/plans/${id}`, { status: 'completed' }, { 'x-who': 'opx' })
    expect(done.body).toMatchObject({ state: 'completed', reason: 'completed by opx: 1 completed, 2 skipped' })
  })
})

describe('what is allowed', () => {
  test('of an empty draft works, and nothing else is named', async () => {
    for (const status of ['completed', 'active']) {
      const { body } = await ask('POST', '/plans', {
        goal_id: `g${++count}`,
        agent_id: 'x',
        plan_type: 'parallel',
        steps: [],
      })
      const refused = await ask('PATCH', `/plans/${body.id}`, { status })
      expect([status, refused.status, refused.body.allowed]).toEqual([status, 409, ['failed', 'cancelled']])
      expect(refused.body.hint).toContain('POST /tasks')
      const started = await ask('POST', `/plans/${body.id}/execute`)
      expect([started.status, started.body.allowed]).toEqual([409, ['failed', 'cancelled']])
      const next = status === 'completed' ? 'failed' : 'cancelled'
      expect((await ask('PATCH', `/plans/${body.id}`, { status: next })).body).toMatchObject({ state: next })
    }
  })

  test('a draft with steps can be started and completed', async () => {
    const steps = [{ name: 'one' }, { name: 'two' }]
    const { body } = await ask('POST', '/plans', {
      goal_id: `g${++count}`,
      agent_id: 'x',
      plan_type: 'parallel',
      steps,
    })
    expect((await ask('PATCH', `/plans/${body.id}`, { status: 'completed' })).body).toMatchObject({
      state: 'completed',
    })
    const empty = await ask('POST', '/plans', {
      goal_id: `g${++count}`,
      agent_id: 'x',
      plan_type: 'parallel',
      steps: [],
    })
    const filled = await ask('PATCH', `/plans/${empty.body.id}`, { steps, status: 'active' })
    expect([filled.status, filled.body.state]).toEqual([200, 'active'])
  })

  test('a failed task names the way back; of a paused plan nothing can be begun', async () => {
    const { id } = await make([{ id: 'a' }, { id: 'b' }])
    await ask('PATCH', `/tasks/${id}:a`, { status: 'failed', error: 'no' })
    const refused = await ask('PATCH', `/tasks/${id}:a`, { status: 'running' })
    expect([refused.status, refused.body.allowed]).toEqual([409, ['skipped']])
    expect(refused.body.hint).toContain(`POST /tasks/${(await task(id, 'a')).id}/retry opens it again`)
    await ask('PATCH', `/plans/${id}`, { status: 'paused' })
    const paused = await ask('PATCH', `/tasks/${id}:b`, { status: 'running' })
    expect([paused.status, paused.body.allowed]).toEqual([409, ['skipped']])
  })
})

describe('what is under way', () => {
  heldTest('a plan that is being cancelled says so in both words', async () => {
    const tasks = [
      { id: 'a', run: 'true', compensate: { run: 'true' } },
      { id: 'b', needs: ['a'] },
    ]
    const { id } = await make(tasks)
    await drive(id)
    const cancelled = await ask('POST', `/plans/${id}/cancel`, {})
    expect(cancelled.body).toMatchObject({ status: 'cancelling', state: 'active' })
    const refused = await ask('PATCH', `/plans/${id}`, { status: 'completed' })
    expect([refused.status, refused.body.allowed]).toEqual([409, []])
    expect(refused.body.hint).toContain(`/cancel with "force": true`)
    await drive(id)
    expect((await ask('GET', `/plans/${id}`)).body.state).toBe('cancelled')
    const other = await make([{ id: 'a' }])
    expect((await ask('POST', `/plans/${other.id}/cancel`, {})).body).toMatchObject({
      status: 'cancelled',
      state: 'cancelled',
    })
  })

  test('a rollback that was waited for answers the version after its end', async () => {
    const { id } = await make([{ id: 'a', run: 'true' }])
    await drive(id)
    const going = ask('POST', `/plans/${id}/rollback`, { wait_seconds: 20 })
    let ended = false
    going.finally(() => {
      ended = true
    })
    for (let tries = 0; !ended && tries < 200; tries++) await drive(id)
    const { status, body } = await going
    expect([status, body.status]).toEqual([200, 'rollback_completed'])
    const now = await ask('GET', `/plans/${id}`)
    expect(body.version).toBe(now.body.version)
  })
})

describe('how things stand is a conflict, not a lack of rights', () => {
  test('an archived plan, and a revision that removes what waits', async () => {
    const { id, name } = await make([{ id: 'a' }])
    await ask('DELETE', `/plans/${id}`)
    const executed = await ask('POST', `/plans/${id}/execute`)
    expect([executed.status, executed.body.detail, executed.body.allowed]).toEqual([
      409,
      `'${name}' is archived`,
      ['clone'],
    ])
    expect((await ask('PATCH', `/plans/${id}`, { status: 'active' })).body).toMatchObject({ status: 409, allowed: [] })
    expect((await ask('PATCH', `/plans/${id}`, { current_step: 1 })).status).toBe(409)
    const gated = await make([{ id: 'g', gate: 'approval' }, { id: 'z' }])
    await drive(gated.id)
    expect(await task(gated.id, 'g')).toMatchObject({ state: 'waiting' })
    const removed = await ask('DELETE', `/tasks/${gated.id}:g`)
    expect([removed.status, removed.body.type]).toEqual([409, 'urn:planfold:problem:not-ready'])
  })

  test('a halt: nothing begins, and whoever asks for work is told why', async () => {
    const { id } = await make([{ id: 'a' }])
    const draft = await make([{ id: 'a' }], { start: false })
    await ask('POST', '/halt', { reason: 'fire' }, { 'x-who': 'ana' })
    try {
      for (const [path, body] of [
        ['/tasks/claim', {}],
        [`/tasks/${id}:a/claim`, {}],
        [`/plans/${draft.id}/execute`, undefined],
      ] as const) {
        const halted = await ask('POST', path, body)
        expect([path, halted.status]).toEqual([path, 409])
        expect(halted.body.detail).toContain('halted by ana: fire')
        // Whoever asks for work is to stop; who may lift the halt learns how.
        expect(halted.body.hint).toContain(path.endsWith('claim') ? 'stop working' : 'DELETE /halt')
      }
    } finally {
      await ask('DELETE', '/halt')
    }
  })
})

describe('pages', () => {
  test('of entries and of output are handed on by cursor, as everywhere', async () => {
    const { id } = await make([{ id: 'p', run: 'echo one; echo two 1>&2' }])
    await drive(id)
    for (const path of [`/plans/${id}/entries`, `/plans/${id}/logs`, `/tasks/${id}:p/logs`]) {
      const whole = (await ask('GET', path)).body.items
      const found: unknown[] = []
      let next: string | null = ''
      while (next !== null && found.length <= whole.length) {
        const page = await ask('GET', `${path}?limit=1${next === '' ? '' : `&cursor=${next}`}`)
        expect(page.status).toBe(200)
        found.push(...page.body.items)
        next = page.body.next
        expect(next === null || typeof next === 'string').toBe(true)
      }
      expect(found).toEqual(whole)
      expect((await ask('GET', `${path}?cursor=x`)).status).toBe(422)
    }
  })
})
