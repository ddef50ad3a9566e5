// Whoever runs a plan does not get past its gates, whatever the order is called and whichever face it came from.

import { beforeEach, describe, expect, test } from 'vitest'
import type { CommandOf, Reset } from '../../domain/command.ts'
import type { ImportedTask } from '../../domain/event.ts'
import { plainHint } from '../../domain/hint.ts'
import type { Actor, PlanId } from '../../domain/id.ts'
import type { PlanDefinition, Policy, TaskDefinition } from '../../domain/plan.ts'
import type { Store } from '../../stores/store.ts'
import { external, gate, Journal, name, plan, START, task } from '../../testing/index.ts'
import type { EngineInProcess } from '../engine.ts'
import { EngineLocal } from '../engine-local.ts'
import type { Order } from '../orders.ts'
import { RIGHTS, type Role } from '../roles.ts'
import { setup } from '../rooms.fixture.ts'
import { gateObjection } from './gate-rules.ts'

let engine: EngineInProcess
beforeEach(() => {
  engine = setup().engine
})

const as = (role: Role): EngineInProcess =>
  engine.as({ actor: `the-${role}` as Actor, rights: RIGHTS[role], scope: null })
/** The gate asks at once, unless it needs something. */
const shape = (policy?: Policy, needs: readonly string[] = []): PlanDefinition =>
  plan(
    'kept',
    external('a'),
    gate('g', needs.length === 0 ? {} : { needs }),
    external('m', { needs: ['g'] }),
    external('dep', { needs: ['m'] }),
    ...(policy === undefined ? [] : [{ policy }]),
  )
const open = (policy?: Policy): PlanDefinition =>
  plan('kept', external('a'), external('dep'), ...(policy === undefined ? [] : [{ policy }]))
async function make(definition: PlanDefinition, options: { readonly isDraft?: true } = {}): Promise<PlanId> {
  const made = await engine.submit(null, { type: 'create', definition, taken: 'number' })
  if (!made.ok) throw new Error(made.refusal.message)
  if (options.isDraft !== true) await engine.submit(made.plan, { type: 'start' })
  return made.plan
}
const codeOf = async (role: Role, id: PlanId | null, order: Order): Promise<string> => {
  const done = await as(role).submit(id, order)
  return done.ok ? 'ok' : done.refusal.code
}
const statusesOf = async (id: PlanId) =>
  Object.fromEntries(((await engine.ask({ type: 'board', plan: id })) ?? []).map(card => [card.name, card.status]))

/** The same store, in which something else happens once, right before the plan is written to. */
function before(store: Store, plan: PlanId, happens: () => Promise<void>): Store {
  let isDue = true
  const first = async (): Promise<void> => {
    if (isDue) {
      isDue = false
      await happens()
    }
  }
  const late: Store = Object.create(store)
  const { update, updateFrom } = store
  return Object.assign(late, {
    update: async (...asked: Parameters<Store['update']>) => {
      if (asked[0] === plan) await first()
      return await update(...asked)
    },
    updateFrom: async (...asked: Parameters<Store['updateFrom']>) => {
      if (asked[0] === plan) await first()
      return await updateFrom(...asked)
    },
  })
}

const WAYS: { readonly [what: string]: Order } = {
  'to skip it': { type: 'skip', task: name('g'), reason: 'x' },
  'to skip what stands behind it': { type: 'skip', task: name('m'), reason: 'x' },
  'to say that the plan is complete': { type: 'finish', as: 'completed', reason: 'x' },
  'to let a task depend on nothing': { type: 'change', task: name('dep'), set: { needs: null } },
  'to change the gate': { type: 'change', task: name('g'), set: { title: 'harmless' } },
  'to remove it with what needs it': { type: 'remove', tasks: [name('g'), name('m'), name('dep')] },
  'to revise the plan': { type: 'revise', definition: open(), rationale: 'x' },
}

describe('an operator may not get past a gate:', () => {
  test.each(Object.entries(WAYS))('%s', async (_, order) => {
    const id = await make(shape())
    const before = await engine.ask({ type: 'summary', plan: id })
    const done = await as('operator').submit(id, order)
    if (done.ok) throw new Error('it was not refused')
    expect(done.refusal.code).toBe('not-allowed')
    expect(done.refusal.message).toContain('deciding at gates needs the right to decide')
    expect(plainHint(done.refusal.hint ?? '')).toBe('propose it (propose kept), or ask an approver')
    expect(await engine.ask({ type: 'summary', plan: id })).toEqual(before)
    // A new face can do no better: the same order by the same caller through an engine made from theirs.
    expect(await as('operator').as(as('operator').caller).submit(id, order)).toEqual(done)
  })

  test('by deciding at it, or in a review', async () => {
    const id = await make(shape())
    expect(await codeOf('operator', id, { type: 'decide', task: name('g'), verdict: 'approved', rationale: '' })).toBe(
      'not-allowed',
    )
    const decisions = [{ task: name('g'), verdict: 'approved' as const, rationale: '' }]
    expect(await codeOf('operator', id, { type: 'review', decisions })).toBe('not-allowed')
    expect(await codeOf('approver', id, { type: 'review', decisions })).toBe('ok')
  })

  test('by a proposal that takes effect by itself', async () => {
    for (const [replan, code] of [
      ['auto', 'not-allowed'],
      ['ask', 'ok'],
    ] as const) {
      const id = await make(shape({ replan }, ['a']))
      const definition = { ...open({ replan }), name: (await engine.ask({ type: 'summary', plan: id }))!.name as never }
      expect([replan, await codeOf('operator', id, { type: 'propose', definition, rationale: 'x' })]).toEqual([
        replan,
        code,
      ])
      expect((await engine.ask({ type: 'definition', plan: id }))?.revision).toBe(1)
    }
  })

  test('that was rejected', async () => {
    const id = await make(shape())
    expect(
      await codeOf('approver', id, { type: 'decide', task: name('g'), verdict: 'rejected', rationale: 'no' }),
    ).toBe('ok')
    expect(await codeOf('operator', id, WAYS['to skip it']!)).toBe('not-allowed')
  })

  test('by acting as somebody else', () => {
    const operator = as('operator')
    expect(() => operator.as('the-approver' as Actor)).toThrow('may not administer')
    expect(() => operator.as({ ...operator.caller, rights: RIGHTS.admin })).toThrow('may not decide')
    expect(operator.as({ ...operator.caller, rights: RIGHTS.viewer }).caller.rights).toBe(RIGHTS.viewer)
  })
})

describe('an operator may', () => {
  test('change a draft freely', async () => {
    for (const what of ['to revise the plan', 'to change the gate', 'to let a task depend on nothing']) {
      const id = await make(shape(), { isDraft: true })
      const own = (await engine.ask({ type: 'summary', plan: id }))!.name as never
      const order = WAYS[what]!
      const meant = order.type === 'revise' ? { ...order, definition: { ...order.definition, name: own } } : order
      expect([what, await codeOf('operator', id, meant)]).toEqual([what, 'ok'])
    }
  })

  test('change it only as long as it is one', async () => {
    const room = setup()
    engine = room.engine
    const id = await make(shape(), { isDraft: true })
    // Somebody starts it after the operator was looked at, and before the order is written.
    const start = async () => void (await engine.submit(id, { type: 'start' }))
    const late = new EngineLocal({ ...room.rooms, store: before(room.rooms.store, id, start) }, as('operator').caller)
    const done = await late.submit(id, WAYS['to revise the plan']!)
    expect(done.ok ? 'ok' : done.refusal.code).toBe('not-allowed')
    expect(await statusesOf(id)).toMatchObject({ g: 'waiting' })
  })

  test('work before a gate, behind one that was passed, and beside it', async () => {
    const id = await make(shape())
    const ok = async (order: Order, role: Role = 'operator') =>
      expect([order.type, await codeOf(role, id, order)]).toEqual([order.type, 'ok'])
    await ok({ type: 'skip', task: name('a'), reason: 'x' })
    await ok({ type: 'change', task: name('dep'), set: { title: 'Ship it', needs: [name('g')] } })
    await ok({ type: 'add', tasks: [external('more')] })
    await ok({ type: 'decide', task: name('g'), verdict: 'approved', rationale: 'fine' }, 'approver')
    await ok({ type: 'skip', task: name('m'), reason: 'x' })
    await ok({ type: 'finish', as: 'completed', reason: 'x' })
  })

  test('repeat under a key what was done, and expect a version', async () => {
    const id = await make(shape())
    const order: Order = { type: 'skip', task: name('a'), reason: 'x' }
    const version = (await engine.ask({ type: 'summary', plan: id }))!.version
    const skip = (expectedVersion?: number) => as('operator').submit(id, order, { once: 'key', expectedVersion })
    expect(await skip(version + 1)).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
    expect(await skip(version - 1)).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
    const first = await skip(version)
    expect(first).toMatchObject({ ok: true, version: version + 1 })
    expect(await skip()).toMatchObject({ ok: true, version: version + 1, replayed: true })
  })
})

describe('nobody who may not decide has', () => {
  test('a fork that goes on from an approval: it asks again, where what it releases is still to do', async () => {
    const id = await make(shape())
    await as('approver').submit(id, { type: 'decide', task: name('g'), verdict: 'approved', rationale: 'fine' })
    const fork = { type: 'fork', here: true, from: 'g' } as const
    const [mine, theirs] = [await as('operator').submit(id, fork), await as('admin').submit(id, fork)]
    if (!mine.ok || !theirs.ok) throw new Error(JSON.stringify([mine, theirs]))
    expect(await statusesOf(mine.plan)).toMatchObject({ g: 'pending', m: 'pending' })
    // Who may decide at the gate has decided by forking from behind it.
    expect(await statusesOf(theirs.plan)).toMatchObject({ g: 'completed', m: 'pending' })
  })

  test('a plan that says a gate was passed', async () => {
    const said = (status: 'completed' | 'skipped' | 'failed'): Order => ({
      type: 'create',
      definition: shape(),
      taken: 'number',
      imported: [{ task: name('g'), status }],
    })
    for (const status of ['completed', 'skipped'] as const) {
      expect(await codeOf('operator', null, said(status))).toBe('not-allowed')
      expect(await codeOf('admin', null, said(status))).toBe('ok')
    }
    expect(await codeOf('operator', null, said('failed'))).toBe('ok')
  })

  test('a plan that says so of a group with a gate in it', async () => {
    const group = task('group', { action: { type: 'subplan', tasks: [gate('g'), external('m', { needs: ['g'] })] } })
    const said = (...imported: readonly ImportedTask[]): Order => ({
      type: 'create',
      definition: plan('kept', group, external('dep', { needs: ['group'] })),
      taken: 'number',
      imported,
    })
    const done = { task: name('group'), status: 'completed' } as const
    const open = { task: name('group/g'), status: 'failed' } as const
    expect(await codeOf('operator', null, said(done))).toBe('not-allowed')
    expect(await codeOf('operator', null, said({ ...open, status: 'completed' }))).toBe('not-allowed')
    expect(await codeOf('admin', null, said(done))).toBe('ok')
    // Where the gate is named itself, its group says nothing about it.
    expect(await codeOf('operator', null, said(open, done))).not.toBe('not-allowed')
  })

  test('an approval back by a rollback or undo, nor an answer to what a person is asked', () => {
    const journal = new Journal().create(plan('p', gate('g'), external('m', { needs: ['g'] }), task('x')))
    journal.must(START)
    journal.turn()
    const completed = { task: name('g'), status: 'completed' } as const
    const refused = (resets: readonly Reset[]) =>
      gateObjection(journal.state, { type: 'rollback', resets } as CommandOf<'rollback'>)
    expect(refused([completed])).toMatchObject({
      code: 'not-allowed',
      message: expect.stringContaining("the gate 'g' has not been passed"),
    })
    expect(refused([{ task: name('x'), status: 'pending' }])).toBeNull()
    journal.must({ type: 'recover', reason: 'died' })
    expect(journal.state.tasks.get(name('x'))?.gate?.asks.type).toBe('unknown-outcome')
    expect(refused([{ task: name('x'), status: 'pending' }])).toMatchObject({ code: 'not-allowed' })
    journal.ask('g')
    journal.must({ type: 'decide', task: name('g'), verdict: 'approved', rationale: '', by: 'ana' })
    expect(refused([completed])).toBeNull()
  })

  test('a second task that does what a gate holds back', async () => {
    const run = (id: string, ...needs: readonly string[]) =>
      task(id, { action: { type: 'run', command: { argv: ['ship', 'it'] } }, ...(needs.length === 0 ? {} : { needs }) })
    const gated = (...more: readonly TaskDefinition[]) =>
      plan('kept', external('a'), gate('g', { needs: ['a'] }), run('ship', 'g'), ...more)
    const id = await make(gated())
    const revised = (role: Role, ...more: readonly TaskDefinition[]) =>
      codeOf(role, id, { type: 'revise', definition: gated(...more), rationale: 'x' })
    expect(await revised('operator', run('again'))).toBe('not-allowed')
    expect(await revised('operator', task('again', { action: { type: 'subplan', tasks: [run('inside')] } }))).toBe(
      'not-allowed',
    )
    expect(await revised('operator', external('again'), run('more', 'g'))).toBe('ok')
    expect(await revised('admin', run('again'))).toBe('ok')
  })
})

test('whoever may decide and operate may do all of it', async () => {
  for (const what of ['to skip it', 'to say that the plan is complete', 'to revise the plan', 'to change the gate']) {
    engine = setup().engine
    const id = await make(shape(undefined, ['a']))
    expect([what, await codeOf('admin', id, WAYS[what]!)]).toEqual([what, 'ok'])
  }
})
