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
import { loosenedBy } from './loosening-rules.ts'

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
const RETRY = { attempts: 3, backoffMs: { min: 1, max: 1 } }
const EXPECTING: TaskDefinition = {
  ...external('expecting', { needs: ['work'] }),
  action: { type: 'run', command: { argv: ['true'] } },
  expect: 'exit == 0',
  effects: ['src/**'],
  read: ['src/**'],
  timeoutMs: 1_000,
  visits: 2,
  assignee: 'ana',
  compensate: { type: 'run', command: { argv: ['true'] } },
}
/** The plan with that task otherwise. */
const with_ = (change: { readonly [K in keyof TaskDefinition]?: TaskDefinition[K] | undefined }): PlanDefinition => {
  const { tasks, ...rest } = shape()
  const changed = Object.entries({ ...EXPECTING, ...change }).filter(([, value]) => value !== undefined)
  const task = Object.fromEntries(changed) as unknown as TaskDefinition
  return { ...rest, tasks: tasks.map(one => (one.id === 'expecting' ? task : one)) }
}
const shape = (work: TaskDefinition = WORK, more: Partial<PlanDefinition> = {}): PlanDefinition => ({
  ...plan('shop', work, external('docs', { needs: ['work'] }), EXPECTING, external('last')),
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
    [
      'remove it',
      { type: 'remove', tasks: ['work', 'docs', 'expecting'].map(name) },
      "'work' would be removed with its checks",
    ],
    ['be done with less', revise(shape(WORK, { done: [] })), "done without 'the sum is right'"],
    ['lift limits', revise(shape(WORK, { policy: { ...POLICY, limits: {} } })), 'the plan would have a larger budget'],
    ['remove what only expects', { type: 'remove', tasks: [name('expecting')] }, 'would be removed with its checks'],
    ['expect less', revise(with_({ expect: 'true' })), "'expecting' would lose its check 'exit == 0'"],
    ['change more', revise(with_({ effects: ['**'] })), 'could change more without being noticed (**)'],
    ['change anything', revise(with_({ effects: undefined })), 'could change more without being noticed (anywhere)'],
    ['read more', revise(with_({ read: ['**'] })), 'could read more (**)'],
    ['call unsafe work safe', revise(with_({ effect: 'idempotent' })), 'would count as idempotent, not as unsafe'],
    ['call it safe by a scope', revise(with_({ network: [], write: ['src/**'] })), 'would count as workspace'],
    ['try unsafe work again', revise(with_({ retry: RETRY })), 'tried more often, and is unsafe to repeat'],
    ['try it for longer', revise(with_({ timeoutMs: 2_000 })), 'a larger budget'],
    ['go round more often', revise(with_({ visits: 9 })), 'a larger budget'],
    ['do without it', revise(with_({ optional: true })), "'expecting' would be optional"],
    ['skip it', revise(with_({ when: 'false' })), 'would be done under another condition'],
    ['take it over', revise(with_({ assignee: 'agent-7' })), 'would not be for ana any more'],
    ['begin it sooner', revise(with_({ needs: [] })), "would not wait for 'work'"],
    ['undo it otherwise', revise(with_({ compensate: undefined })), 'would be undone otherwise'],
    [
      'replace it',
      revise(with_({ recover: [{ do: { type: 'alternate', task: name('last') } }] })),
      'could be replaced',
    ],
    ['try everything again', revise(shape(WORK, { defaults: { retry: RETRY } })), 'tried more often'],
    ['set edits back', revise(shape(WORK, { recovery: { edits: 'set-back' } })), 'recovery of the plan would change'],
    [
      'keep what failed',
      revise(shape(WORK, { policy: { ...POLICY, onFailure: 'keep' } })),
      'policy.on_failure would change',
    ],
    ['tell nobody', revise(shape(WORK, { notify: [] })), 'notify of the plan would change'],
    ['reach more', revise(shape({ ...WORK, network: ['b.example'] })), 'more of the network (b.example)'],
    [
      'reach what a person allows',
      revise(shape({ ...WORK, network: { allow: [], unknown: 'ask' } })),
      'others when a person',
    ],
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

test('an agent of others is not given more models', () => {
  const asks = (spec: TaskDefinition['action']) => plan('p', { ...external('work'), action: spec })
  const before = asks({ type: 'agent', spec: { use: 'claude', model: 'p/main', models: ['small-*'] } })
  const looser = (spec: object) =>
    loosenedBy({ definition: before, tasks: new Map() } as never, asks({ type: 'agent', spec: spec as never }))
  for (const spec of [
    { use: 'claude' },
    { use: 'claude', models: ['*'] },
    { use: 'claude', model: 'p/dear', models: ['small-*'] },
  ])
    expect(looser(spec)).toBe("'work' could ask other models")
  expect(looser({ use: 'claude', models: ['small-*', 'p/main'] })).toBe(null)
})
