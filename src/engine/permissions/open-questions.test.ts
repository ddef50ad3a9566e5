// What a person is asked about a task is answered by nobody who may not decide: not by passing over it, trying it again,
// or writing the task otherwise.

import { beforeEach, describe, expect, test } from 'vitest'
import type { Actor, PlanId, PlanName } from '../../domain/id.ts'
import type { PlanDefinition, Recovery, TaskDefinition } from '../../domain/plan.ts'
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
const definitionOf = async (plan: PlanId): Promise<PlanDefinition> =>
  (await room.engine.ask({ type: 'definition', plan }))!.definition
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

  test.each<[string, Recovery]>([
    ['recovery', { type: 'ask' }],
    ['replan', { type: 'replan' }],
  ])('what becomes of a failure, by a revision of the task: %s', async (asks, does) => {
    const plan = await drive({ id: name('bad'), ...afterFailure(does) }, { id: name('other') })
    const definition = await definitionOf(plan)
    const [bad, other] = definition.tasks as [TaskDefinition, TaskDefinition]
    const tasks = [{ ...bad, title: 'once more' }, other]
    const orders: readonly Order[] = [
      { type: 'revise', definition: { ...definition, tasks }, rationale: 'x' },
      { type: 'revise', definition: { ...definition, tasks: [other] }, rationale: 'x' },
      { type: 'change', task: name('bad'), set: { title: 'once more' } },
      { type: 'remove', tasks: [name('bad')] },
    ]
    for (const order of orders)
      expect([order.type, await codeOf('operator', plan, order)]).toEqual([order.type, 'not-allowed'])
    expect(await asked(plan)).toEqual([`bad: ${asks}`])
    // What leaves the question alone is theirs to do, and so is a proposal, which somebody else accepts.
    expect(await codeOf('operator', plan, { type: 'change', task: name('other'), set: { title: 'x' } })).toBe('ok')
    const propose: Order = { type: 'propose', definition: { ...definition, tasks }, rationale: 'x' }
    expect(await codeOf('operator', plan, propose)).toBe('ok')
    expect(await asked(plan)).toEqual([`bad: ${asks}`])
    expect(await codeOf('admin', plan, { type: 'change', task: name('bad'), set: { title: 'once more' } })).toBe('ok')
    expect(await asked(plan)).toEqual([])
  })

  test('by a proposal that takes effect by itself, unless a proposal is what is asked for', async () => {
    for (const [does, code] of [
      [{ type: 'ask' }, 'not-allowed'],
      [{ type: 'replan' }, 'ok'],
    ] as const) {
      const bad = { id: name('bad'), ...afterFailure(does) }
      const plan = await room.define({
        name: does.type as PlanName,
        tasks: [bad as TaskDefinition],
        policy: { replan: 'auto' },
      })
      await room.drive(plan)
      const definition = await definitionOf(plan)
      const tasks = definition.tasks.map(task => ({ ...task, title: 'once more' }))
      const order: Order = { type: 'propose', definition: { ...definition, tasks }, rationale: 'x' }
      expect([does.type, await codeOf('operator', plan, order)]).toEqual([does.type, code])
    }
  })

  test('by opening again what comes before it', async () => {
    const plan = await drive(
      { id: name('first') },
      { id: name('bad'), needs: [name('first')], ...afterFailure({ type: 'ask' }) },
    )
    expect(await codeOf('operator', plan, retry('first'))).toBe('not-allowed')
    expect(await asked(plan)).toEqual(['bad: recovery'])
    expect(await codeOf('admin', plan, { ...retry('first'), repeat: true } as Order)).toBe('ok')
    expect(await asked(plan)).toEqual([])
  })
})

test('tasks that `converge` adds are no copies of what a gate holds back', async () => {
  const script = (id: string, text: string, ...needs: readonly string[]): TaskDefinition =>
    ({ id: name(id), action: { type: 'run', command: { script: text } }, needs: needs.map(name) }) as TaskDefinition
  const gate = { id: name('g'), action: { type: 'gate', gate: 'approval' } } as TaskDefinition
  const done = [{ type: 'check', command: { argv: ['false'] } }] as const
  room = setup(async ({ action }) => exited(action.type === 'run' && 'argv' in action.command ? 1 : 0))
  const plan = await room.define({ tasks: [gate, script('ship', 'ship it', 'g')], done })
  const append = (text: string): Order => ({ type: 'append', with: text })
  expect(await codeOf('operator', plan, { type: 'assess' })).toBe('ok')
  expect(await codeOf('operator', plan, append('ship it'))).toBe('not-allowed')
  expect(await codeOf('operator', plan, append('mend it'))).toBe('ok')
})
