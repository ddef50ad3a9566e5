// What a person is asked about a task is answered by nobody who may not decide: not by passing over it, and not by trying it again.

import { beforeEach, describe, expect, test } from 'vitest'
import type { Actor, PlanId } from '../../domain/id.ts'
import type { Recovery, TaskDefinition } from '../../domain/plan.ts'
import type { Order } from '../orders.ts'
import { RIGHTS, type Role } from '../roles.ts'
import { exited, name, setup } from '../rooms.fixture.ts'

type Room = ReturnType<typeof setup>
let room: Room
beforeEach(() => {
  room = setup(async ({ task }) => exited(task.startsWith('bad') ? 1 : 0))
})

const codeOf = async (role: Role, plan: PlanId, order: Order): Promise<string> => {
  const engine = room.engine.as({ actor: `the-${role}` as Actor, rights: RIGHTS[role], scope: null })
  const done = await engine.submit(plan, order)
  return done.ok ? 'ok' : done.refusal.code
}
const asked = async (plan: PlanId) =>
  ((await room.engine.ask({ type: 'summary', plan }))?.waiting ?? []).map(({ task, asks }) => `${task}: ${asks.type}`)
const skip = (task: string): Order => ({ type: 'skip', task: name(task), reason: 'x' })
const retry = (task: string): Order => ({ type: 'retry', task: name(task) })
const drive = async (...tasks: readonly Partial<TaskDefinition>[]): Promise<PlanId> => {
  const plan = await room.plan(...tasks)
  await room.drive(plan)
  return plan
}
const afterFailure = (does: Recovery): Partial<TaskDefinition> => ({ effect: 'pure', recover: [{ do: does }] })

describe('an operator may not answer', () => {
  test('whether something is done, by passing over it', async () => {
    const plan = await drive({ id: name('a'), accept: [{ type: 'prose', text: 'it reads well' }] })
    expect(await asked(plan)).toEqual(['a: verdict'])
    expect(await codeOf('operator', plan, skip('a'))).toBe('not-allowed')
    expect(await asked(plan)).toEqual(['a: verdict'])
    const decide = { type: 'decide', task: name('a'), verdict: 'approved', rationale: 'read it' } as const
    expect([await codeOf('operator', plan, decide), await codeOf('approver', plan, decide)]).toEqual([
      'not-allowed',
      'ok',
    ])
  })

  test('with the group of the task, or with the whole plan', async () => {
    const inside: Partial<TaskDefinition> = { id: name('a'), accept: [{ type: 'prose', text: 'it reads well' }] }
    const action = { type: 'run', command: { argv: ['true'] } } as const
    const plan = await drive({
      id: name('group'),
      action: { type: 'subplan', tasks: [{ action, ...inside } as TaskDefinition] },
    })
    expect(await asked(plan)).toEqual(['group/a: verdict'])
    expect(await codeOf('operator', plan, skip('group'))).toBe('not-allowed')
    expect(await codeOf('operator', plan, { type: 'finish', as: 'completed', reason: 'x' })).toBe('not-allowed')
    expect(await codeOf('admin', plan, skip('group'))).toBe('ok')
  })

  test.each<[string, Recovery]>([
    ['recovery', { type: 'ask' }],
    ['replan', { type: 'replan' }],
  ])('what becomes of a failure: %s', async (asks, does) => {
    const plan = await drive({ id: name('bad'), ...afterFailure(does) })
    expect(await asked(plan)).toEqual([`bad: ${asks}`])
    for (const order of [skip('bad'), retry('bad')])
      expect([order.type, await codeOf('operator', plan, order)]).toEqual([order.type, 'not-allowed'])
    expect(await asked(plan)).toEqual([`bad: ${asks}`])
  })
})
