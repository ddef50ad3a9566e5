// Plans are made, cloned, looked at for what is next, and put away.

import { beforeEach, describe, expect, it } from 'vitest'
import type { PlanId, PlanName } from '../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import { exited, name, setup } from '../engine/rooms.fixture.ts'
import { archivePlan } from './archive-plan.ts'
import { cloneOrder, createPlan } from './create-plan.ts'
import { nextSteps, readyTasks } from './next-step.ts'
import type { CallerEngine } from './run-plan.ts'

let room: ReturnType<typeof setup>
let engine: CallerEngine & Pick<ReturnType<typeof setup>['engine'], 'watch'>
beforeEach(() => {
  room = setup(async () => exited(0))
  engine = room.engine
})

const work = (id: string, more: Partial<TaskDefinition> = {}): TaskDefinition => ({
  id: name(id),
  action: { type: 'external' },
  ...more,
})
const definition = (...tasks: readonly TaskDefinition[]): PlanDefinition => ({ name: 'p' as PlanName, tasks })
async function make(plan: PlanDefinition, start = true): Promise<PlanId> {
  const done = await createPlan(engine, { type: 'create', definition: plan }, start ? { start: {} } : {})
  if (done.status === 'refused') throw new Error(done.refusal.message)
  return done.made.plan
}
const statusOf = async (plan: PlanId) => (await engine.ask({ type: 'summary', plan }))?.status

describe('a plan', () => {
  it('is made as a draft, or started at once; asked again under the same key, it is started once', async () => {
    expect(await statusOf(await make(definition(work('a')), false))).toBe('draft')
    const create = { type: 'create', definition: definition(work('a')), taken: 'number' } as const
    const options = { start: { once: 'k' }, submit: { once: 'k' } }
    expect(await createPlan(engine, create, options)).toMatchObject({
      made: { name: 'p-2' },
      started: { status: 'started' },
    })
    expect(await createPlan(engine, create, options)).toMatchObject({
      made: { name: 'p-2', replayed: true },
      started: null,
    })
    expect(await createPlan(engine, { type: 'create', definition: definition(work('a')) })).toMatchObject({
      status: 'refused',
      refusal: { code: 'exists' },
    })
  })

  it('is cloned with where it belongs, and what is said otherwise', async () => {
    const made = await engine.submit(null, {
      type: 'create',
      definition: definition(work('a')),
      session: 'talk',
      agent: 'bo',
    })
    const { plan } = made as { readonly plan: PlanId }
    expect(await cloneOrder(engine, plan, { goal: 'once more' })).toMatchObject({
      definition: { name: 'p', goal: 'once more', tasks: [{ id: 'a' }] },
      origin: plan,
      taken: 'number',
      session: 'talk',
      agent: 'bo',
    })
    expect(await cloneOrder(engine, plan, { session: 'other' })).toMatchObject({ session: 'other' })
    expect(await cloneOrder(engine, 'nobody' as PlanId, {})).toBeNull()
  })

  it('is put away; one that is open is cancelled first', async () => {
    const plan = await make(definition(work('a')))
    const options = { waitMs: 0, signal: new AbortController().signal }
    expect(await archivePlan(engine, plan, { ...options, expectedVersion: 99 })).toMatchObject({ status: 'moved' })
    expect(await archivePlan(engine, plan, options)).toEqual({ status: 'archived' })
    expect(await engine.ask({ type: 'summary', plan })).toMatchObject({ status: 'cancelled', archived: true })
    expect(await archivePlan(engine, plan, options)).toEqual({ status: 'archived' })
    expect(await archivePlan(engine, 'nobody' as PlanId, options)).toEqual({ status: 'gone' })
  })
})

describe('what is next', () => {
  it('is what is ready, with its briefing, and why the rest waits', async () => {
    const plan = await make(definition(work('a'), work('b', { needs: [name('a')] })))
    const next = await nextSteps(engine, plan, { explain: true })
    expect(next.ready.map(card => card.name)).toEqual(['a'])
    expect(next.briefings.map(({ task }) => task)).toEqual(['a'])
    expect(next.explained.map(({ task }) => task)).toEqual(['a', 'b'])
    expect(await nextSteps(engine, plan, { task: name('b'), explain: true })).toMatchObject({
      ready: [],
      explained: [{ task: 'b' }],
    })
    expect((await nextSteps(engine, 'nobody' as PlanId)).ready).toEqual([])
  })

  it('is given out by priority, then in the order of the document', async () => {
    const plan = await make(definition(work('a'), work('b', { priority: 5 }), work('c')))
    const ready = await readyTasks(engine, plan, { now: 0 })
    expect(ready?.records.map(({ card }) => card.name)).toEqual(['b', 'a', 'c'])
    expect(await readyTasks(engine, 'nobody' as PlanId, { now: 0 })).toBeNull()
  })
})
