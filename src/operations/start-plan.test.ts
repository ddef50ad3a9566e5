// A plan is brought to move from whatever state it is in, and never run twice.

import { beforeEach, expect, it } from 'vitest'
import { lacks } from '../composition/missing-extra.fixture.ts'
import type { PlanId, PlanName } from '../domain/id.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { exited, name, setup } from '../engine/rooms.fixture.ts'
import type { CallerEngine } from './run-plan.ts'
import { setGoing, startPlan } from './start-plan.ts'

let room: ReturnType<typeof setup>
let engine: CallerEngine
let exit: number
beforeEach(() => {
  exit = 0
  room = setup(async () => exited(exit))
  engine = room.engine
})

async function draft(rest: Partial<PlanDefinition> = {}): Promise<PlanId> {
  const definition: PlanDefinition = {
    name: 'p' as PlanName,
    tasks: [{ id: name('build'), action: { type: 'run', command: { argv: ['make'] } } }],
    ...rest,
  }
  const made = await engine.submit(null, { type: 'create', definition })
  if (!made.ok) throw new Error(made.refusal.message)
  return made.plan
}
const statusOf = async (plan: PlanId) => (await engine.ask({ type: 'summary', plan }))?.status
const GO_ON = { goOn: { rationale: 'once more' } }

it('a draft is started, one that is under way attached to, a paused one resumed', async () => {
  const plan = await draft()
  expect(await setGoing(engine, plan)).toMatchObject({ status: 'started' })
  expect(await setGoing(engine, plan)).toMatchObject({ status: 'attached', accepted: { events: [] } })
  await engine.submit(plan, { type: 'pause' })
  expect(await setGoing(engine, plan)).toMatchObject({ status: 'resumed' })
  expect(await setGoing(engine, 'nobody' as PlanId)).toEqual({ status: 'gone' })
})

it('a plan that failed goes on only where that is asked for; one that is completed has ended', async () => {
  exit = 1
  const plan = await draft()
  await setGoing(engine, plan)
  await room.drive(plan)
  expect(await setGoing(engine, plan)).toMatchObject({ status: 'ended', plan: { status: 'failed' } })
  expect(await setGoing(engine, plan, GO_ON)).toMatchObject({
    status: 'went-on',
    went: { counts: { again: ['build'] } },
  })
  exit = 0
  await room.drive(plan)
  expect(await setGoing(engine, plan, GO_ON)).toMatchObject({ status: 'ended', plan: { status: 'completed' } })
})

it('who started it asks again under the same key and gets the same answer', async () => {
  const plan = await draft()
  const first = await setGoing(engine, plan, { once: 'k' })
  expect(await setGoing(engine, plan, { once: 'k' })).toMatchObject({
    status: 'started',
    accepted: { replayed: true, version: first.status === 'started' ? first.accepted.version : 0 },
  })
})

it('it is not moved when it is not the version that was seen', async () => {
  const plan = await draft()
  expect(await setGoing(engine, plan, { expectedVersion: 7 })).toMatchObject({ status: 'moved', plan: { version: 1 } })
  expect(await statusOf(plan)).toBe('draft')
})

it('a draft that cannot work is not started, unless it was checked', async () => {
  const plan = await draft()
  const fault = { message: 'it cannot work' }
  expect(await startPlan(engine, plan, { check: async () => [fault] })).toEqual({ status: 'unsound', faults: [fault] })
  expect(await startPlan(engine, plan, { check: async () => null })).toEqual({ status: 'unchecked' })
  expect(await statusOf(plan)).toBe('draft')
  expect(await startPlan(engine, plan, { check: 'checked' })).toMatchObject({ status: 'started' })
  expect(await startPlan(engine, plan)).toMatchObject({ status: 'under-way' })
})

it.skipIf(lacks('dialects'))('an outline is started as the tasks of its steps', async () => {
  const outline = await draft({ tasks: [], extra: { steps: [{ title: 'first' }, { title: 'second' }] } })
  expect(await startPlan(engine, outline)).toMatchObject({ status: 'started' })
  expect((await engine.ask({ type: 'board', plan: outline }))?.map(({ title }) => title)).toEqual(['first', 'second'])
})

it('an empty plan is not started', async () => {
  const empty = await draft({ name: 'empty' as PlanName, tasks: [] })
  expect(await startPlan(engine, empty)).toMatchObject({ status: 'empty', plan: { name: 'empty' } })
})
