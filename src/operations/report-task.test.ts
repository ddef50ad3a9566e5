// How the work on a task went is said once, for every face; what its criteria refuse is recorded and told.

import { expect, it } from 'vitest'
import type { TaskDefinition } from '../domain/plan.ts'
import { exited, name, setup } from '../engine/rooms.fixture.ts'
import { keepClaim, reportOrder, reportTask } from './report-task.ts'

const TASK = name('a')

async function scene(more: Partial<TaskDefinition> = {}, exit = 0) {
  const room = setup(async () => exited(exit))
  const plan = await room.plan({ id: TASK, action: { type: 'external' }, ...more })
  const claimed = await room.engine.submit(plan, { type: 'claim', task: TASK })
  if (!claimed.ok || claimed.claim === undefined) throw new Error('it was not claimed')
  return { ...room, target: { plan, task: TASK }, token: claimed.claim.token, plan }
}

it('work that is done is recorded with its outputs and the way the plan goes on', async () => {
  const { engine, target, token, statuses, plan } = await scene({ outputs: { n: { from: 'report' } } })
  const done = await reportTask(engine, target, { status: 'done', outputs: { n: 1 } }, { token })
  expect(done).toMatchObject({ status: 'recorded', unaccepted: null, accepted: { ok: true } })
  expect(await statuses(plan)).toEqual({ plan: 'completed', a: 'completed' })
  expect(reportOrder(TASK, { status: 'done', outcome: 'left' })).toEqual({
    type: 'report',
    task: TASK,
    result: { status: 'succeeded', outcome: 'left' },
  })
})

it('what its criteria refuse is recorded, and the claim is kept', async () => {
  const { engine, target, token, statuses, plan } = await scene(
    { accept: [{ type: 'check', command: { argv: ['false'] } }] },
    1,
  )
  const done = await reportTask(engine, target, { status: 'done' }, { token })
  expect(done).toMatchObject({ status: 'recorded', unaccepted: { kept: true, verdicts: [{ holds: false }] } })
  expect(await statuses(plan)).toMatchObject({ a: 'running' })
})

it('what is said to have failed is no surprise', async () => {
  const { engine, target, token, statuses, plan } = await scene()
  const done = await reportTask(engine, target, { status: 'failed', why: { message: 'no' } }, { token })
  expect(done).toMatchObject({ status: 'recorded', unaccepted: null })
  expect(await statuses(plan)).toEqual({ plan: 'failed', a: 'failed' })
})

it('passing trouble may be tried again, and anything else may not, unless it is said', () => {
  const failure = (why: Parameters<typeof reportOrder>[1] & { status: 'failed' }) => reportOrder(TASK, why).result
  const as = (why: object) => failure({ status: 'failed', why: { message: 'no', ...why } })
  expect(as({})).toEqual({ status: 'failed', failure: { class: 'logic', message: 'no', retryable: false } })
  expect(as({ retryable: true })).toMatchObject({ failure: { class: 'transient', retryable: true } })
  expect(as({ class: 'transient' })).toMatchObject({ failure: { class: 'transient', retryable: true } })
  expect(as({ class: 'resource', retryable: true })).toMatchObject({ failure: { class: 'resource', retryable: true } })
  expect(failure({ status: 'failed', why: { message: 'no' }, mode: 'flaky', outputs: { n: 1 } })).toMatchObject({
    mode: 'flaky',
    outputs: { n: 1 },
  })
})

it('a claim lasts for another while, and only for whoever holds it', async () => {
  const { engine, target, token } = await scene()
  expect(await keepClaim(engine, target, { token, leaseMs: 5_000 })).toMatchObject({
    status: 'kept',
    expiresInMs: 5_000,
  })
  expect(await keepClaim(engine, target, { token: 'other' })).toMatchObject({ status: 'refused' })
  expect(await reportTask(engine, target, { status: 'done' }, { token: 'other' })).toMatchObject({ status: 'refused' })
})

it('under the same key it is said once', async () => {
  const { engine, target, token } = await scene()
  const options = { token, submit: { once: 'k' } }
  await reportTask(engine, target, { status: 'done' }, options)
  expect(await reportTask(engine, target, { status: 'done' }, options)).toMatchObject({ accepted: { replayed: true } })
})
