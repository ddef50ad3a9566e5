// What a reference means: a plan, a task, or nothing, and why.

import { beforeEach, expect, it } from 'vitest'
import type { PlanId } from '../domain/id.ts'
import { exited, name, setup } from '../engine/rooms.fixture.ts'
import {
  type Lookup,
  lookUpPlan,
  lookUpTask,
  lookUpTaskWords,
  lookUpWords,
  type Missing,
  suggestTargets,
} from './find-target.ts'

let room: ReturnType<typeof setup>
let ship: PlanId
beforeEach(async () => {
  room = setup(async () => exited(0))
  ship = await define('ship', 'build', 'test')
})

const define = async (plan: string, ...tasks: readonly string[]) =>
  await room.define({
    name: plan as never,
    tasks: tasks.map(id => ({ id: name(id), action: { type: 'run', command: { argv: [id] } } })),
  })
const taskId = async (task: string) => (await room.engine.ask({ type: 'task', plan: ship, task }))!.id
const found = (task: string | null) => ({ ok: true, target: { plan: ship, name: 'ship', task } })
const missing = (looked: Lookup<unknown>): Missing | null => (looked.ok ? null : looked.missing)

it('a plan is named by its name or UUID; the UUID of a task names its plan, too', async () => {
  const { engine } = room
  expect(await lookUpPlan(engine, 'ship')).toEqual(found(null))
  expect(await lookUpPlan(engine, ship)).toEqual(found(null))
  expect(await lookUpPlan(engine, await taskId('test'))).toEqual(found('test'))
  expect(missing(await lookUpPlan(engine, 'shop'))).toEqual({ what: 'plan', reference: 'shop' })
})

it('a task is named by its UUID, as plan:task, or by its name or UUID within a plan', async () => {
  const { engine } = room
  const id = await taskId('test')
  for (const looked of [
    await lookUpTask(engine, id, undefined),
    await lookUpTask(engine, 'ship:test', undefined),
    await lookUpTask(engine, 'test', 'ship'),
    await lookUpTask(engine, id, ship),
  ])
    expect(looked).toEqual(found('test'))
  const other = await define('other', 'lint')
  expect(missing(await lookUpTask(engine, id, other))).toMatchObject({ what: 'task', plan: { name: 'other' } })
  expect(missing(await lookUpTask(engine, 'test', undefined))).toEqual({ what: 'task', reference: 'test', plan: null })
  expect(missing(await lookUpTask(engine, 'shop:test', undefined))).toMatchObject({ what: 'task', plan: null })
  expect(missing(await lookUpTask(engine, 'test', 'shop'))).toEqual({ what: 'plan', reference: 'shop' })
})

it('a plan may be left out where only one is open', async () => {
  const { engine } = room
  expect(await lookUpWords(engine, undefined, undefined)).toEqual(found(null))
  expect(await lookUpWords(engine, 'test', undefined)).toEqual(found('test'))
  expect(await lookUpTaskWords(engine, 'ship', 'build')).toEqual(found('build'))
  expect(missing(await lookUpTaskWords(engine, 'ship', undefined))).toMatchObject({ what: 'task-name' })
  await define('other', 'lint')
  const several = missing(await lookUpPlan(engine, undefined))
  expect(several?.what === 'only-plan' && several.plans.map(row => row.name).toSorted()).toEqual(['other', 'ship'])
  expect(missing(await lookUpWords(engine, 'test', undefined))).toEqual({ what: 'plan', reference: 'test' })
})

it('where no plan is open, the only one there is may be looked at', async () => {
  const { engine } = room
  await room.drive(ship)
  expect(missing(await lookUpPlan(engine, undefined))).toEqual({ what: 'only-plan', plans: [] })
  expect(await lookUpPlan(engine, undefined, { looking: true })).toEqual(found(null))
})

it('what is missing is told with the name that is near, or the revision that took it away', async () => {
  const { engine } = room
  const helped = async (looked: Lookup<unknown>) => await suggestTargets(engine, missing(looked)!)
  expect(await helped(await lookUpPlan(engine, 'shp'))).toEqual({ near: 'ship', removedBy: null })
  expect(await helped(await lookUpTask(engine, 'tets', 'ship'))).toEqual({ near: 'test', removedBy: null })
  const { definition } = (await engine.ask({ type: 'definition', plan: ship }))!
  const less = { ...definition, tasks: definition.tasks.slice(0, 1) }
  expect(await engine.submit(ship, { type: 'revise', definition: less, rationale: 'no tests' })).toMatchObject({
    ok: true,
  })
  expect(await helped(await lookUpTask(engine, 'test', 'ship'))).toEqual({ near: null, removedBy: 2 })
  expect(await lookUpTask(engine, 'test', 'ship', { removed: true })).toEqual(found('test'))
})
