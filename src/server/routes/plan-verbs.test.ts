// What is done to a plan as a whole, over HTTP, with a real engine that runs real commands.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { PlanId } from '../../domain/id.ts'
import { heldTest } from '../../safety/sandbox/needs-sandbox.fixture.ts'
import { servedHere } from '../server.fixture.ts'

const service = servedHere()

const make = async (tasks: readonly object[], more: object = {}) => {
  const document = { planfold: 1, name: 'verbs', goal: 'try the verbs', tasks, ...more }
  const { status, body } = await service.ask('POST', '/session/v/plan', { document })
  expect(status).toBe(201)
  return body.id as PlanId
}
const drive = (plan: PlanId) => service.composed.worker.drive(plan, { stop: new AbortController().signal })
const write = (file: string, text: string) => ({ run: `printf '${text}' > ${file}`, write: [file], network: [] })

describe('carrying out', () => {
  test('regression 13 over HTTP: executing twice starts once and attaches once, also at the same moment', async () => {
    const plan = await make([{ id: 'a', instruction: 'by hand' }])
    const asked = await Promise.all([1, 2, 3, 4].map(() => service.ask('POST', `/api/plan/${plan}/execute`)))
    expect(asked.map(({ status }) => status).sort()).toEqual([200, 200, 200, 202])
    expect(asked.filter(({ body }) => body.attached === false)).toHaveLength(1)
    expect(asked[0]!.body).toMatchObject({ status: 'execution_started', plan_id: plan, state: 'active' })
    const entries = (await service.rooms.engine.ask({ type: 'entries', plan })) ?? []
    expect(entries.flatMap(({ events }) => events).filter(({ type }) => type === 'plan.started')).toHaveLength(1)
  })

  test('under one key it is started once, and told as the first time', async () => {
    const plan = await make([{ id: 'a', instruction: 'by hand' }])
    const ask = () => service.ask('POST', `/plans/${plan}/execute`, undefined, { 'idempotency-key': `x-${plan}` })
    expect((await ask()).body).toMatchObject({ attached: false })
    expect((await ask()).body).toMatchObject({ attached: false, replayed: true })
  })

  test('it is paused, goes on, is cancelled, and then has ended', async () => {
    const plan = await make([{ id: 'a', instruction: 'by hand' }])
    expect((await service.ask('POST', `/plan/${plan}/pause`)).status).toBe(409)
    await service.ask('POST', `/plan/${plan}/execute`)
    expect((await service.ask('POST', `/plan/${plan}/pause`, { reason: 'tea' })).body).toMatchObject({
      status: 'paused',
      state: 'paused',
    })
    expect((await service.ask('GET', `/plan/${plan}/status`)).body).toMatchObject({ status: 'paused', reason: 'tea' })
    expect((await service.ask('POST', `/plan/${plan}/resume`)).body).toMatchObject({
      status: 'resumed',
      state: 'active',
    })
    expect((await service.ask('POST', `/plans/${plan}/cancel`, { reason: 'no' })).body).toMatchObject({
      status: 'cancelled',
      state: 'cancelled',
    })
    const late = await service.ask('POST', `/plan/${plan}/execute`)
    expect(late.status).toBe(409)
    expect(late.body).toMatchObject({ allowed: ['clone', 'rollback'], hint: expect.stringContaining('clone') })
  })

  heldTest('one that failed goes on: what is done stays done, and it is said what becomes of its tasks', async () => {
    const plan = await make([
      { id: 'a', run: 'echo a >> went.log' },
      { id: 'b', needs: ['a'], run: 'test -f mended.txt' },
      { id: 'c', needs: ['b'], effect: 'pure', run: 'true' },
    ])
    await service.ask('POST', `/plan/${plan}/execute`)
    await drive(plan)
    expect((await service.ask('GET', `/plan/${plan}/status`)).body).toMatchObject({ status: 'failed' })
    writeFileSync(join(service.folder, 'mended.txt'), '')
    const ask = () => service.ask('POST', `/plan/${plan}/execute`, {}, { 'idempotency-key': `on-${plan}` })
    const went = await ask()
    expect(went).toMatchObject({
      status: 202,
      body: {
        attached: false,
        state: 'active',
        message: 'plan verbs failed; continuing: 1 task stays completed, 1 runs again, 1 has not run yet'.replace(
          'verbs',
          went.body.name,
        ),
        went_on: { stay_done: 1, run_again: ['b'], added: [], not_run_yet: 1 },
      },
    })
    expect(await ask()).toMatchObject({ status: 200, body: { attached: true } })
    await drive(plan)
    expect((await service.ask('GET', `/plan/${plan}/status`)).body).toMatchObject({ status: 'completed' })
    expect(readFileSync(join(service.folder, 'went.log'), 'utf8')).toBe('a\n')
    expect((await service.ask('POST', `/plan/${plan}/execute`, { unsafe: 'maybe' })).status).toBe(422)
  })

  heldTest('a failed one goes on with a revision; work that may not happen twice needs a word', async () => {
    const tasks = (first: string, second: string) => [
      { id: 'a', run: first },
      { id: 'b', needs: ['a'], effect: 'pure', run: second },
    ]
    const plan = await make(tasks('echo once >> twice.log', 'exit 1'))
    await service.ask('POST', `/plan/${plan}/execute`)
    await drive(plan)
    const { name } = (await service.ask('GET', `/plan/${plan}/status`)).body
    const document = { planfold: 1, name, goal: 'try the verbs', tasks: tasks('echo other >> twice.log', 'true') }
    const revise = (more: object) => service.ask('POST', `/plans/${plan}/revisions`, { document, ...more })
    expect((await revise({})).status).toBe(409)
    const asked = await revise({ go_on: true })
    expect(asked).toMatchObject({ status: 409, body: { allowed: ['keep', 'repeat'] } })
    expect(asked.body.hint).toContain('{"unsafe": "keep"}')
    const went = await revise({ go_on: true, unsafe: 'keep' })
    expect(went).toMatchObject({ status: 201, body: { revision: 2, state: 'active' } })
    expect(went.body.fates).toMatchObject([{ task: 'a' }, { task: 'b', fate: 'again' }])
    await drive(plan)
    expect((await service.ask('GET', `/plan/${plan}/status`)).body).toMatchObject({ status: 'completed' })
    expect(readFileSync(join(service.folder, 'twice.log'), 'utf8')).toBe('once\n')
  })

  test('a stale If-Match is a conflict', async () => {
    const plan = await make([{ id: 'a', instruction: 'by hand' }])
    const { headers } = await service.ask('POST', `/plan/${plan}/execute`)
    const etag = headers.get('etag')!
    expect((await service.ask('POST', `/plan/${plan}/pause`, {}, { 'if-match': '"1"' })).status).toBe(409)
    expect((await service.ask('POST', `/plan/${plan}/pause`, {}, { 'if-match': etag })).status).toBe(200)
  })

  test('a clone is a draft of its own, linked to where it comes from', async () => {
    const plan = await make([{ id: 'a', instruction: 'by hand' }])
    const { status, body } = await service.ask('POST', `/plan/${plan}/clone`)
    expect(status).toBe(201)
    expect(body).toMatchObject({
      status: 'pending',
      state: 'draft',
      cloned_from: plan,
      session_id: 'v',
      steps: [{ id: 'a' }],
    })
    expect(body.id).not.toBe(plan)
    const named = await service.ask('POST', `/plan/${plan}/clone`, { name: 'my-copy', description: 'other' })
    expect(named.body).toMatchObject({ name: 'my-copy', description: 'other' })
    expect((await service.ask('POST', `/plan/${plan}/clone`, { name: 'a b' })).status).toBe(422)
  })

  test('deleting archives; one that is open is cancelled first', async () => {
    const plan = await make([{ id: 'a', instruction: 'by hand' }])
    await service.ask('POST', `/plan/${plan}/execute`)
    expect((await service.ask('DELETE', `/api/plan/${plan}/`)).status).toBe(204)
    expect((await service.ask('DELETE', `/api/plan/${plan}`)).status).toBe(204)
    expect(await service.rooms.engine.ask({ type: 'summary', plan })).toMatchObject({
      archived: true,
      status: 'cancelled',
    })
    expect((await service.ask('DELETE', '/plan/nobody')).status).toBe(404)
  })
})

describe('looking at it', () => {
  heldTest('status, executions and metrics tell what was really done', async () => {
    const plan = await make([
      { id: 'a', ...write('one.txt', 'one') },
      { id: 'b', run: 'exit 3', needs: ['a'], retry: { attempts: 2, backoff: '1ms' } },
      { id: 'c', run: 'true', needs: ['b'] },
    ])
    await service.ask('POST', `/plan/${plan}/execute`)
    await drive(plan)
    const { body } = await service.ask('GET', `/plan/${plan}/status`)
    expect(body).toMatchObject({
      plan_id: plan,
      status: 'failed',
      state: 'failed',
      description: 'try the verbs',
      metrics: {
        total_steps: 3,
        completed_steps: 1,
        failed_steps: 1,
        skipped_steps: 0,
        total_attempts: 3,
        total_retries: 1,
        success_rate: 1 / 3,
      },
    })
    expect(body.executions.map((one: { step_id: string; status: string }) => [one.step_id, one.status]).sort()).toEqual(
      [
        ['a', 'success'],
        ['b', 'failed'],
        ['b', 'failed'],
      ],
    )
    const full = await service.ask('GET', `/plans/${plan}/full`)
    expect(full.body).toMatchObject({
      plan: {
        id: plan,
        status: 'failed',
        steps: [{ result: { success: true } }, { result: { success: false, retries: 1 } }, {}],
      },
      stats: { execution_count: 3, success_rate: 1 / 3 },
      modified_files: [{ path: 'one.txt', change: 'created' }],
      git_operations: [],
    })
    expect(full.body.checkpoints).toHaveLength(1)
    expect((await service.ask('GET', `/plan/${plan}/git-operations`)).body).toEqual([])
    expect((await service.ask('GET', `/plans/${plan}/git-operations`)).body).toEqual({ items: [], next: null })
  })

  test('the analysis ends, and knows the critical path', async () => {
    const plan = await make([
      { id: 'a', run: 'true' },
      { id: 'b', run: 'true' },
      { id: 'c', run: 'true', needs: ['a', 'b'] },
    ])
    expect((await service.ask('GET', `/plan/${plan}/analyze`)).body).toMatchObject({
      total_steps: 3,
      max_parallelism: 2,
      critical_path: ['a', 'c'],
      parallel_groups: [['a', 'b'], ['c']],
      estimated_speedup: expect.any(Number),
    })
  })
})

describe('going back', () => {
  heldTest('a dry run tells, a conflict stops, a choice goes back', async () => {
    const file = join(service.folder, 'back.txt')
    writeFileSync(file, 'before')
    const plan = await make([{ id: 'a', ...write('back.txt', 'after') }])
    await service.ask('POST', `/plan/${plan}/execute`)
    await drive(plan)
    expect(readFileSync(file, 'utf8')).toBe('after')
    const list = await service.ask('GET', `/plan/${plan}/checkpoints`)
    expect(list.body).toMatchObject([{ step_id: 'a', why: 'after', plan_id: plan, description: 'after a' }])
    const dry = await service.ask('POST', `/plan/${plan}/rollback`, { dry_run: true })
    expect(dry.body).toMatchObject({
      status: 'dry_run',
      files: [{ path: 'back.txt', will: 'restore' }],
      conflicts: [],
      tasks: [{ task: 'a', status: 'pending' }],
    })
    writeFileSync(file, 'somebody else')
    const stopped = await service.ask('POST', `/plan/${plan}/rollback`, {})
    expect(stopped.status).toBe(409)
    expect(stopped.body).toMatchObject({
      conflicts: [{ path: 'back.txt', conflict: 'edited since' }],
      choices: ['keep', 'take', 'merge'],
    })
    expect(readFileSync(file, 'utf8')).toBe('somebody else')
    const done = await service.ask('POST', `/plan/${plan}/rollback`, { every: 'take' })
    expect(done.status).toBe(202)
    expect(done.body).toMatchObject({ status: 'rollback_started', plan_id: plan, checkpoint_id: null })
    await drive(plan)
    expect(readFileSync(file, 'utf8')).toBe('before')
    expect((await service.ask('GET', `/plan/${plan}/status`)).body.state).toBe('paused')
  })

  heldTest('whoever waits is told of its end', async () => {
    const plan = await make([{ id: 'a', ...write('waited.txt', 'x') }])
    await service.ask('POST', `/plan/${plan}/execute`)
    await drive(plan)
    const asked = service.ask('POST', `/plans/${plan}/rollback`, { to: 1, wait_seconds: 20 })
    const stop = new AbortController()
    for await (const { events } of service.rooms.engine.watch({ plan, after: 0, signal: stop.signal }))
      if (events.some(({ type }) => type === 'rollback.started')) break
    stop.abort()
    await drive(plan)
    expect(await asked).toMatchObject({ status: 200, body: { status: 'rollback_completed', outcome: { paths: 1 } } })
  })

  test('a checkpoint by name is taken, listed and gone to', async () => {
    const plan = await make([{ id: 'a', instruction: 'by hand' }])
    await service.ask('POST', `/plan/${plan}/execute`)
    const taken = await service.ask('POST', `/plans/${plan}/checkpoints`, { name: 'here' })
    expect(taken.status).toBe(201)
    expect(taken.body).toMatchObject({ id: 'here', plan_id: plan })
    expect((await service.ask('POST', `/plans/${plan}/checkpoints`, { name: 'here' })).status).toBe(409)
    expect((await service.ask('GET', `/plans/${plan}/checkpoints`)).body.items).toMatchObject([
      { id: 'here', why: 'asked' },
    ])
    expect(
      (await service.ask('POST', `/plan/${plan}/rollback`, { checkpoint_id: 'here', dry_run: true })).body,
    ).toMatchObject({ checkpoint_id: 'here' })
    expect((await service.ask('POST', `/plan/${plan}/rollback`, { checkpoint_id: 'nowhere' })).status).toBe(404)
    expect((await service.ask('POST', `/plan/${plan}/rollback`, { checkpoint_id: 'here', to: 1 })).status).toBe(422)
  })
})

describe('whoever was told that it is done (P56)', () => {
  test('sees it at once, and never an older version after a newer one', async () => {
    const plan = await make([{ id: 'a', instruction: 'by hand' }])
    await service.ask('POST', `/plan/${plan}/execute`)
    let isOver = false
    const readers = [1, 2].map(async () => {
      let last = 0
      while (!isOver) {
        const { headers } = await service.ask('GET', `/plan/${plan}`)
        const version = Number.parseInt(headers.get('etag')!.slice(1), 10)
        expect(version).toBeGreaterThanOrEqual(last)
        last = version
      }
    })
    for (let n = 0; n < 40; n++) {
      const verb = n % 2 === 0 ? 'pause' : 'resume'
      const { body, headers } = await service.ask('POST', `/plan/${plan}/${verb}`, {})
      const seen = await service.ask('GET', `/plan/${plan}`)
      expect(seen.body).toMatchObject({ state: n % 2 === 0 ? 'paused' : 'active', version: body.version })
      expect(seen.headers.get('etag')).toMatch(new RegExp(`^"${body.version}(-|")`))
      expect(headers.get('etag')).toBe(`"${body.version}"`)
    }
    isOver = true
    await Promise.all(readers)
  })
})
