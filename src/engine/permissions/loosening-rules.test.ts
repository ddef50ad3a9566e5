// Whoever works on a plan of others does not loosen it: checks, scopes and budgets are theirs to tighten only.

import { beforeEach, describe, expect, test } from 'vitest'
import { plainHint } from '../../domain/hint.ts'
import type { Actor, PlanId } from '../../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { external, gate, name, plan } from '../../testing/index.ts'
import type { EngineInProcess } from '../engine.ts'
import type { Order } from '../orders.ts'
import { RIGHTS } from '../roles.ts'
import { setup } from '../rooms.fixture.ts'

let engine: EngineInProcess
let agent: EngineInProcess
beforeEach(() => {
  engine = setup().engine
  agent = engine.as({ actor: 'agent-7' as Actor, rights: RIGHTS.operator, scope: null })
})

const LOOKED = { type: 'prose', text: 'the page was looked at' } as const
const RIGHT = { type: 'prose', text: 'the sum is right' } as const
const WORK = external('work', {
  accept: [LOOKED, RIGHT],
  write: ['src/**'],
  budget: { attempts: 3 },
  timeboxMs: 60_000,
})
const POLICY = { write: ['src/**', 'docs/**'], network: ['a.example'], limits: { attempts: 9 } }
const shape = (work: TaskDefinition = WORK, more: Partial<PlanDefinition> = {}): PlanDefinition => ({
  ...plan('shop', work, external('docs', { needs: ['work'] }), external('last')),
  policy: POLICY,
  done: [RIGHT],
  ...more,
})
async function make(by: EngineInProcess, definition = shape(), start: EngineInProcess | null = by): Promise<PlanId> {
  const made = await by.submit(null, { type: 'create', definition })
  if (!made.ok) throw new Error(made.refusal.message)
  if (start !== null) expect(await start.submit(made.plan, { type: 'start' })).toMatchObject({ ok: true })
  return made.plan
}
const revise = (definition: PlanDefinition): Order => ({ type: 'revise', definition, rationale: 'x' })
const said = async (by: EngineInProcess, id: PlanId, order: Order): Promise<string> => {
  const done = await by.submit(id, order)
  return done.ok ? 'ok' : `${done.refusal.code}: ${done.refusal.message.split(';')[0]}`
}
const { write: _, ...UNSCOPED } = WORK

describe('an agent may not, in a plan of a person,', () => {
  test.each<[string, Order, string]>([
    ['take a check away', { type: 'change', task: name('work'), set: { accept: null } }, "'work' would lose its check"],
    ['write it otherwise', revise(shape({ ...WORK, accept: [RIGHT] })), "lose its check 'the page was looked at'"],
    ['write more', revise(shape({ ...WORK, write: ['src/**', 'docs/**'] })), "'work' could write more (docs/**)"],
    ['write as much as the plan', revise(shape(UNSCOPED)), "'work' could write more (docs/**)"],
    ['raise a budget', revise(shape({ ...WORK, budget: { attempts: 4 } })), 'a larger budget'],
    ['remove it', { type: 'remove', tasks: [name('work'), name('docs')] }, "'work' would be removed with its checks"],
    ['be done with less', revise(shape(WORK, { done: [] })), "done without 'the sum is right'"],
    ['lift limits', revise(shape(WORK, { policy: { ...POLICY, limits: {} } })), 'the plan would have a larger budget'],
    ['reach more', revise(shape({ ...WORK, network: ['b.example'] })), 'more of the network (b.example)'],
  ])('%s', async (_, order, why) => {
    const id = await make(engine)
    const before = await engine.ask({ type: 'summary', plan: id })
    const done = await agent.submit(id, order)
    if (done.ok) throw new Error('it was not refused')
    expect(done.refusal).toMatchObject({ code: 'not-allowed', message: expect.stringContaining(why) })
    expect(plainHint(done.refusal.hint ?? '')).toBe('propose it (propose shop), or ask an approver')
    expect(await engine.ask({ type: 'summary', plan: id })).toEqual(before)
    expect(await said(engine, id, order)).toBe('ok')
  })
})

test('it may tighten it, add tasks, put them in order, and name them otherwise', async () => {
  const id = await make(engine)
  const tighter = { ...WORK, accept: [RIGHT, LOOKED, { type: 'prose', text: 'more' }], write: ['src/a/**'] } as const
  for (const order of [
    revise(shape({ ...tighter, budget: { attempts: 2 }, title: 'Another title' })),
    { type: 'add', tasks: [external('more')] } as const,
    { type: 'change', task: name('docs'), set: { title: 'Docs', accept: [LOOKED] } } as const,
    { type: 'remove', tasks: [name('more')] } as const,
  ])
    expect([order, await said(agent, id, order)]).toEqual([order, 'ok'])
})

test('a plan of its own is its own, until somebody else starts, approves or revises it', async () => {
  const loosen = revise(shape({ ...WORK, accept: [] }))
  expect(await said(agent, await make(agent, shape(), null), loosen)).toBe('ok')
  engine = setup().engine
  agent = engine.as({ actor: 'agent-7' as Actor, rights: RIGHTS.operator, scope: null })
  const id = await make(agent)
  expect(await said(agent, id, loosen)).toBe('ok')
  expect(await said(engine, id, revise(shape()))).toBe('ok')
  expect(await said(agent, id, loosen)).toContain('not-allowed')
  // Its own change of something else makes it no more its own.
  expect(await said(agent, id, { type: 'change', task: name('docs'), set: { title: 'Docs' } })).toBe('ok')
  expect(await said(agent, id, loosen)).toContain('not-allowed')
})

test('a draft of a person, one that a person started, and one whose gate a person has passed', async () => {
  const named = (own: string, ...tasks: readonly TaskDefinition[]) => plan(own, WORK, ...tasks)
  const loosen = (own: string, ...tasks: readonly TaskDefinition[]) =>
    revise(plan(own, { ...WORK, accept: [] }, ...tasks))
  expect(await said(agent, await make(engine, named('a'), null), loosen('a'))).toContain('not-allowed')
  expect(await said(agent, await make(agent, named('b'), engine), loosen('b'))).toContain('not-allowed')
  const gated = await make(agent, named('c', gate('g')))
  expect(await said(agent, gated, loosen('c', gate('g')))).toBe('ok')
  const decide: Order = { type: 'decide', task: name('g'), verdict: 'approved', rationale: '' }
  expect(await said(engine, gated, decide)).toBe('ok')
  expect(await said(agent, gated, revise(plan('c', { ...WORK, accept: [], write: ['**'] }, gate('g'))))).toContain(
    'could write more',
  )
})
