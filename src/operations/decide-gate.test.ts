// What a task asks is decided as it was seen.

import { beforeEach, expect, it } from 'vitest'
import type { PlanId, PlanName } from '../domain/id.ts'
import type { TaskDefinition } from '../domain/plan.ts'
import { exited, name, setup } from '../engine/rooms.fixture.ts'
import { decideGate, decideReview, isSeen } from './decide-gate.ts'
import type { CallerEngine } from './run-plan.ts'

let room: ReturnType<typeof setup>
let engine: CallerEngine
let plan: PlanId
beforeEach(async () => {
  room = setup(async () => exited(0))
  engine = room.engine
  plan = await room.define({ name: 'p' as PlanName, tasks: [gate('one'), gate('two')] })
  await room.drive(plan)
})
const gate = (id: string): TaskDefinition => ({ id: name(id), action: { type: 'gate', gate: 'approval' } })
const one = () => ({ plan, task: name('one') })
const hashOf = async (task: string) =>
  (await engine.ask({ type: 'summary', plan }))?.waiting.find(each => each.task === task)?.hash
const YES = { verdict: 'approved', rationale: 'fine', unseen: true } as const

it('a hash is seen when its first eight digits are named', () => {
  const on = 'abcdef0123456789'
  expect([undefined, on, 'ABCDEF01', 'abcdef0', 'bbcdef01'].map(hash => isSeen(hash, on))).toEqual([
    true,
    true,
    true,
    false,
    false,
  ])
  expect([isSeen(undefined, null), isSeen(on, null)]).toEqual([true, false])
})

it('a gate is decided, bound to what it asks now when nobody names a hash', async () => {
  expect(await decideGate(engine, one(), YES, { bind: true })).toMatchObject({ status: 'decided', verdict: 'approved' })
  expect(await decideGate(engine, one(), YES, { bind: true })).toMatchObject({ status: 'refused' })
})

it('it is not decided about something else than was seen', async () => {
  const on = (await hashOf('one')) ?? null
  expect(await decideGate(engine, one(), YES, { hash: 'f'.repeat(64), bind: true })).toEqual({
    status: 'other-hash',
    on,
  })
  expect(await decideGate(engine, one(), YES, { hash: 'f'.repeat(64) })).toMatchObject({
    status: 'refused',
    refusal: { code: 'conflict' },
  })
})

it('a review is decided as a whole, once', async () => {
  expect(await decideReview(engine, plan, YES, { hash: 'f'.repeat(64) })).toEqual({ status: 'other-review' })
  const done = await decideReview(engine, plan, YES)
  expect(done.status === 'decided' && done.review.items.map(({ task }) => task)).toEqual(['one', 'two'])
  expect(await decideReview(engine, plan, YES)).toEqual({ status: 'nothing' })
})
