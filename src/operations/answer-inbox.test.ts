// One question is answered by its id, and no other.

import { beforeEach, expect, it } from 'vitest'
import type { PlanId, PlanName } from '../domain/id.ts'
import type { TaskDefinition } from '../domain/plan.ts'
import type { EngineInProcess } from '../engine/engine.ts'
import { RIGHTS, type Role } from '../engine/roles.ts'
import { exited, ME, name, setup } from '../engine/rooms.fixture.ts'
import { type AnswerOptions, answerInbox, type InboxAnswer } from './answer-inbox.ts'

let room: ReturnType<typeof setup>
let engine: EngineInProcess
beforeEach(() => {
  room = setup(async () => exited(0))
  engine = room.engine
})

const open = async (...tasks: readonly TaskDefinition[]): Promise<PlanId> => {
  const plan = await room.define({ name: 'p' as PlanName, tasks })
  await room.drive(plan)
  return plan
}
const inboxId = async () => (await engine.ask({ type: 'inbox' })).items[0]!.id
const give = async (said: InboxAnswer, options?: AnswerOptions) =>
  await answerInbox(engine, await inboxId(), () => said, options)

const APPROVAL: TaskDefinition = { id: name('ask'), action: { type: 'gate', gate: 'approval' } }
const DECISION: TaskDefinition = {
  id: name('ask'),
  action: { type: 'gate', gate: 'decision', options: [{ id: 'red' }, { id: 'blue' }] },
}
const WORK: TaskDefinition = { id: name('ask'), assignee: ME, action: { type: 'external' } }

it('a gate is approved; once it is, what became of it is told', async () => {
  await open(APPROVAL)
  const id = await inboxId()
  expect(await give({ answer: 'approve', unseen: true })).toMatchObject({ status: 'answered', answer: 'approve' })
  const again = await answerInbox(engine, id, () => ({ answer: 'reject' }))
  expect(again).toMatchObject({ status: 'over', item: { task: 'ask' }, by: { actor: ME } })
})

it('who asks again under the same key gets the same answer again', async () => {
  await open(APPROVAL)
  const id = await inboxId()
  const said = () => ({ answer: 'approve', unseen: true }) as const
  await answerInbox(engine, id, said, { once: 'k' })
  expect(await answerInbox(engine, id, said, { once: 'k' })).toMatchObject({
    status: 'answered',
    accepted: { replayed: true },
  })
})

it('an id that nothing waits under, or that the caller may not see, is unknown', async () => {
  await open(APPROVAL)
  expect(await answerInbox(engine, 'nobody', () => ({ answer: 'approve' }))).toMatchObject({ status: 'unknown' })
  const [item] = (await engine.ask({ type: 'inbox' })).items
  const stranger = room.engine.as({ ...room.engine.caller, scope: { plans: [] } })
  expect(await answerInbox(stranger, item!.id, () => ({ answer: 'approve' }))).toMatchObject({ status: 'unknown' })
})

it('a word that is no answer is told with those that are', async () => {
  await open(APPROVAL)
  expect(await give({ answer: 'aprove' })).toMatchObject({ status: 'no-answer', near: 'approve' })
})

it('whoever may not give an answer is offered none, and refused', async () => {
  const as = (role: Role) => room.engine.as({ ...room.engine.caller, rights: RIGHTS[role] })
  await open(APPROVAL, { ...WORK, id: name('work') })
  const items = (await engine.ask({ type: 'inbox' })).items
  const offered = async (role: Role) =>
    Object.fromEntries((await as(role).ask({ type: 'inbox' })).items.map(one => [one.task, one.answers.length > 0]))
  expect([
    await offered('viewer'),
    await offered('operator'),
    await offered('approver'),
    await offered('admin'),
  ]).toEqual([
    { ask: false, work: false },
    { ask: false, work: true },
    { ask: true, work: false },
    { ask: true, work: true },
  ])
  const reviewed = (await as('operator').ask({ type: 'reviews', plan: items[0]!.plan }))!
  expect(reviewed.map(({ items: each }) => each.map(({ answers }) => answers))).toEqual([[[]]])
  const [gate, work] = ['ask', 'work'].map(task => items.find(item => item.task === task)!.id) as [string, string]
  const said = (role: Role, id: string, answer: string) => answerInbox(as(role), id, () => ({ answer, unseen: true }))
  expect(await said('operator', gate, 'approve')).toMatchObject({ status: 'refused', refusal: { lacks: 'decide' } })
  expect(await said('approver', work, 'claim')).toMatchObject({ status: 'refused', refusal: { lacks: 'operate' } })
  expect(await said('operator', work, 'claim')).toMatchObject({ status: 'answered' })
  expect(await said('approver', gate, 'approve')).toMatchObject({ status: 'answered' })
})

it('the hash of what was seen must be that of what is asked', async () => {
  await open(APPROVAL)
  expect(await give({ answer: 'approve', hash: 'f'.repeat(64) })).toMatchObject({ status: 'other-hash' })
})

it('a decision may name its option alone', async () => {
  await open(DECISION)
  expect(await give({ answer: 'choose' })).toEqual({ status: 'lacking', field: 'option', to: 'choose' })
  expect(await give({ answer: 'red' })).toMatchObject({ status: 'answered', answer: 'choose' })
})

it('a failure needs a reason; a face may take a claim upon itself', async () => {
  await open(WORK)
  expect(await give({ answer: 'fail' })).toEqual({ status: 'lacking', field: 'rationale', to: 'fail' })
  expect(await give({ answer: 'claim' }, { passOn: (_, answer) => answer === 'claim' })).toMatchObject({
    status: 'passed-on',
    item: { task: 'ask' },
  })
  expect(await give({ answer: 'done' })).toMatchObject({ status: 'answered' })
})

it('an answer arrives although the plan moved, as long as the question is the same', async () => {
  const plan = await open(APPROVAL)
  let moved = false
  const said = () => ({ answer: 'approve', unseen: true }) as const
  const moving: Parameters<typeof answerInbox>[0] = {
    caller: engine.caller,
    ask: query => engine.ask(query),
    submit: async (of, order, options) => {
      if (!moved) await engine.submit(plan, { type: 'note', text: 'meanwhile' })
      moved = true
      return await engine.submit(of, order, options)
    },
  }
  expect(await answerInbox(moving, await inboxId(), said)).toMatchObject({ status: 'answered' })
})
