// A plan that clients build task by task through the engine: additions, changes, the last word; each order once; and everything
// about it can be replayed and stored.

import { describe, expect, it } from 'vitest'
import type { Actor, PlanId, PlanName, TaskName } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { external, succeeded, task } from '../../testing/index.ts'
import type { SubmitOptions } from '../engine.ts'
import type { Order, Submitted } from '../orders.ts'
import { ME, name, setup } from '../rooms.fixture.ts'

const BO = 'bo' as Actor

async function drafted(...tasks: readonly TaskDefinition[]) {
  const room = setup()
  const made = await room.engine.submit(null, {
    type: 'create',
    definition: { name: 'draft' as PlanName, tasks: [] },
    goal: 'g1',
    agent: 'bo',
    session: 's1',
  })
  if (!made.ok) throw new Error(made.refusal.message)
  const submit = (order: Order, options?: SubmitOptions, actor = ME) =>
    room.engine.as(actor).submit(made.plan, order, options)
  const must = async (order: Order, options?: SubmitOptions): Promise<Extract<Submitted, { ok: true }>> => {
    const done = await submit(order, options)
    if (!done.ok) throw new Error(`${order.type}: ${done.refusal.message}`)
    return done
  }
  if (tasks.length > 0) await must({ type: 'add', tasks })
  const state = async () => (await room.rooms.store.state(made.plan))!
  return { ...room, id: made.plan, submit, must, state }
}

const refusalOf = (done: Submitted): string => (done.ok ? 'ok' : `${done.refusal.code}: ${done.refusal.message}`)
const names = (tasks: readonly TaskDefinition[]): readonly string[] => tasks.map(({ id }) => id)
const eventsOf = (done: Submitted): readonly string[] => (done.ok ? done.events.map(({ type }) => type) : [])

/** Everything that is kept of it agrees, and it is decided again as it was. */
async function isWhole({ engine, id }: { engine: ReturnType<typeof setup>['engine']; id: PlanId }): Promise<void> {
  expect(await engine.ask({ type: 'check' })).toMatchObject({ ok: true, faults: [] })
  expect(await engine.ask({ type: 'replay', plan: id })).toMatchObject({ fault: null })
}

describe('a plan that is built task by task', () => {
  it('is sealed by itself when it is started, and runs', async () => {
    const room = await drafted()
    expect(eventsOf(await room.must({ type: 'add', tasks: [external('a')] }))).toEqual(['task.added'])
    await room.must({ type: 'add', tasks: [task('b', { needs: ['a'], effect: 'pure' })] })
    expect((await room.state()).hash).toBe('')
    expect(refusalOf(await room.submit({ type: 'claim' }))).toContain('illegal-transition')
    expect(eventsOf(await room.must({ type: 'start' }))).toEqual(['plan.started', 'task.readied'])
    const events = await room.events(room.id)
    expect(events.find(({ type }) => type === 'plan.revised')).toMatchObject({ rationale: '2 tasks, added one by one' })
    await room.must({ type: 'report', task: name('a'), result: succeeded() })
    expect(await room.drive(room.id)).toMatchObject({ rest: 'ended' })
    expect(await room.statuses(room.id)).toEqual({ plan: 'completed', a: 'completed', b: 'completed' })
    await isWhole(room)
  })

  it('says whom it is for, and what was kept beside it', async () => {
    const room = await drafted(external('a', { extra: { sequence_order: 7 }, assignee: 'bo' }))
    await room.must({ type: 'annotate', set: { current_step: 1 } })
    await room.must({ type: 'annotate', set: { note: 'x' }, task: name('a') })
    expect(await room.engine.ask({ type: 'summary', plan: room.id })).toMatchObject({
      goalId: 'g1',
      agent: 'bo',
      session: 's1',
      annotations: { current_step: 1 },
    })
    expect(await room.engine.ask({ type: 'task', plan: room.id, task: 'a' })).toMatchObject({
      sequence: 7,
      assignee: 'bo',
      annotations: { note: 'x' },
      addedAt: expect.any(Number),
    })
    await room.must({ type: 'evaluate', task: name('a'), score: 0.5 })
    await room.must({ type: 'evaluate', task: name('a'), passed: true })
    expect(await room.engine.ask({ type: 'evaluations', plan: room.id, task: 'a' })).toMatchObject([
      { by: ME, score: 0.5 },
      { by: ME, passed: true },
    ])
    expect(await room.engine.ask({ type: 'evaluations', plan: room.id, task: 'zz' })).toBeNull()
    await isWhole(room)
  })

  it('takes what is not plain, and what comes after its start, as a revision', async () => {
    const room = await drafted(external('a'))
    const subplan = task('g', { action: { type: 'subplan', tasks: [external('x')] } })
    expect(eventsOf(await room.must({ type: 'add', tasks: [subplan] }))).toEqual(['plan.revised'])
    expect((await room.state()).hash).not.toBe('')
    await room.must({ type: 'start' })
    const added = await room.must({ type: 'add', tasks: [external('b', { needs: ['a'] })], rationale: 'one more' })
    expect(added.events).toMatchObject([{ type: 'plan.revised', rationale: 'one more' }])
    await room.must({ type: 'add', tasks: [external('c')] })
    expect(await room.statuses(room.id)).toMatchObject({ a: 'ready', b: 'pending', c: 'ready' })
    expect(refusalOf(await room.submit({ type: 'add', tasks: [external('c')] }))).toContain('duplicate')
    expect(refusalOf(await room.submit({ type: 'add', tasks: [external('d', { needs: ['zz'] })] }))).toContain(
      'unknown',
    )
    await isWhole(room)
  })

  it('takes two additions at once, and both are there', async () => {
    const room = await drafted()
    const many = await Promise.all(
      Array.from({ length: 40 }, (_, at) => room.submit({ type: 'add', tasks: [external(`t${at}`)] }, {}, BO)),
    )
    expect(many.filter(done => !done.ok)).toEqual([])
    const same = await Promise.all([1, 2].map(() => room.submit({ type: 'add', tasks: [external('same')] })))
    expect(same.map(refusalOf).toSorted()).toEqual(["duplicate: two tasks are called 'same'", 'ok'])
    expect((await room.state()).order).toHaveLength(41)
    await isWhole(room)
  })

  it('is started once while tasks still come, and every task that was acknowledged is in it', async () => {
    const room = await drafted(external('first'))
    const orders = Array.from({ length: 30 }, (_, at) =>
      at === 10 ? room.submit({ type: 'start' }) : room.submit({ type: 'add', tasks: [external(`t${at}`)] }),
    )
    const done = await Promise.all(orders)
    expect(done.map(refusalOf).filter(one => one !== 'ok')).toEqual([])
    const { status, hash, order } = await room.state()
    expect({ status, isSealed: hash !== '', tasks: order.length }).toEqual({
      status: 'active',
      isSealed: true,
      tasks: 30,
    })
    expect(order.filter(one => one.status !== 'ready')).toEqual([])
    await isWhole(room)
  })

  it('keeps to the version that is expected, also when it must be sealed first', async () => {
    const room = await drafted(external('a'))
    const { version } = await room.state()
    expect(refusalOf(await room.submit({ type: 'start' }, { expectedVersion: version - 1 }))).toContain('conflict')
    expect((await room.state()).hash).toBe('')
    await room.must({ type: 'start' }, { expectedVersion: version })
    expect((await room.state()).status).toBe('active')
  })
})

describe('changes', () => {
  it('set and take away fields of a task, in a subplan as well', async () => {
    const room = await drafted(external('a', { title: 'A', kind: 'research' }), external('b'))
    await room.must({ type: 'change', task: name('a'), set: { title: 'Better', kind: null, needs: [name('b')] } })
    expect((await room.state()).definition.tasks[0]).toEqual(external('a', { title: 'Better', needs: ['b'] }))
    await room.must({ type: 'add', tasks: [task('g', { action: { type: 'subplan', tasks: [external('x')] } })] })
    await room.must({ type: 'change', task: name('g/x'), set: { title: 'Inner' } })
    expect((await room.state()).tasks.get(name('g/x'))?.definition.title).toBe('Inner')
    expect(refusalOf(await room.submit({ type: 'change', task: name('bb'), set: {} }))).toContain('not-found')
    expect(refusalOf(await room.submit({ type: 'change', task: name('b'), set: { needs: [name('a')] } }))).toContain(
      'cycle',
    )
    const hostile = ['{"__proto__":{"x":1}}', '{"id":"z"}', '{"bound":{}}', '{"titel":"T"}', '{"constructor":null}']
    for (const text of hostile) {
      const set = JSON.parse(text) as { title: string }
      expect(refusalOf(await room.submit({ type: 'change', task: name('b'), set }))).toContain('invalid')
    }
    await isWhole(room)
  })

  it('without a change write nothing', async () => {
    const room = await drafted(external('a', { title: 'A' }))
    await room.must({ type: 'start' })
    const { version } = await room.state()
    expect(await room.must({ type: 'change', task: name('a'), set: { title: 'A' } })).toMatchObject({
      version,
      events: [],
    })
  })

  it('remove tasks nobody needs, and the last one only from a draft', async () => {
    const room = await drafted(external('a'), external('b', { needs: ['a'] }))
    expect(refusalOf(await room.submit({ type: 'remove', tasks: [name('a')] }))).toBe(
      "not-ready: 'b' needs 'a', which would be gone",
    )
    expect(refusalOf(await room.submit({ type: 'remove', tasks: [name('b'), name('zz')] }))).toContain('not-found')
    await room.must({ type: 'remove', tasks: [name('a'), name('b')] })
    expect((await room.state()).order).toEqual([])
    await room.must({ type: 'add', tasks: [external('c')] })
    await room.must({ type: 'start' })
    expect(refusalOf(await room.submit({ type: 'remove', tasks: [name('c')] }))).toBe('invalid: the plan has no tasks')
    await isWhole(room)
  })

  it('regression 5: the order is that of the list, unknown tasks are named, the others follow as they stood', async () => {
    const room = await drafted(external('a'), external('b'), external('c'), external('d'))
    await room.must({ type: 'reorder', order: [name('c'), name('a')] })
    expect(names((await room.state()).definition.tasks)).toEqual(['c', 'a', 'b', 'd'])
    expect(refusalOf(await room.submit({ type: 'reorder', order: [name('zz')] }))).toContain("no task 'zz'")
    expect(refusalOf(await room.submit({ type: 'reorder', order: [name('a'), name('a')] }))).toContain('duplicate')
    await isWhole(room)
  })

  it('regression 9: of two who expect the same version one is refused, and without one both come through', async () => {
    const room = await drafted(external('a'), external('b'))
    const { version } = await room.state()
    const change = (title: string): Order => ({ type: 'change', task: name('a'), set: { title } })
    const both = await Promise.all(['x', 'y'].map(title => room.submit(change(title), { expectedVersion: version })))
    expect(both.map(done => done.ok).toSorted()).toEqual([false, true])
    const fields: readonly Order[] = [
      { type: 'change', task: name('a'), set: { kind: 'k' } },
      { type: 'change', task: name('b'), set: { title: 'B' } },
      { type: 'add', tasks: [external('c')] },
      { type: 'reorder', order: [name('b')] },
    ]
    const all = await Promise.all(fields.map(order => room.submit(order)))
    expect(all.map(refusalOf)).toEqual(['ok', 'ok', 'ok', 'ok'])
    expect(names((await room.state()).definition.tasks)).toEqual(['b', 'a', 'c'])
    expect((await room.state()).tasks.get(name('a'))?.definition.kind).toBe('k')
    await isWhole(room)
  })
})

describe('what is asked about it', () => {
  it('does not change when tasks come later', async () => {
    const room = await drafted(external('a'))
    const told = await room.engine.ask({ type: 'definition', plan: room.id })
    await room.must({ type: 'add', tasks: [external('b')] })
    expect(told).toMatchObject({ revision: 1, hash: '', definition: { tasks: [{ id: 'a' }] } })
    expect(told?.definition.tasks).toHaveLength(1)
  })

  it('finds its tasks by their words, and sums up what was tried', async () => {
    const room = await drafted(external('a', { title: 'Weigh the parcels', kind: 'research' }))
    const found = await room.engine.ask({ type: 'search', text: 'parcel', kinds: ['task'] })
    expect(found.items).toMatchObject([{ kind: 'task', plan: room.id, task: 'a' }])
    await room.must({ type: 'start' })
    await room.must({ type: 'report', task: name('a'), result: succeeded() })
    const steps = await room.engine.ask({ type: 'steps', plan: 'draft' })
    expect(steps?.items).toMatchObject([{ group: room.id, attempts: 1, succeeded: 1, successRate: 1 }])
    expect((await room.engine.ask({ type: 'steps', by: 'kind' }))?.items).toMatchObject([{ group: 'research' }])
    expect(await room.engine.ask({ type: 'steps', plan: 'nobody' })).toBeNull()
  })
})

describe('the last word', () => {
  it('ends a draft that was never started, and one with claims out', async () => {
    const one = await drafted(external('a'), external('b'))
    await one.must({ type: 'finish', as: 'completed', reason: 'done elsewhere' })
    expect(await one.statuses(one.id)).toEqual({ plan: 'completed', a: 'skipped', b: 'skipped' })
    const other = await drafted(external('a'))
    await other.must({ type: 'start' })
    const claimed = await other.must({ type: 'claim' })
    await other.must({ type: 'finish', as: 'failed', reason: 'no' })
    const late: Order = { type: 'report', task: name('a'), token: claimed.claim!.token, result: succeeded() }
    expect(refusalOf(await other.submit(late))).toContain('illegal-transition')
    expect(refusalOf(await other.submit({ type: 'finish', as: 'failed', reason: 'no' }))).toContain(
      'illegal-transition',
    )
    for (const room of [one, other]) await isWhole(room)
  })

  it('regression 2: does not complete a plan without tasks', async () => {
    const room = await drafted()
    const done = await room.submit({ type: 'finish', as: 'completed', reason: 'all done' })
    expect(done).toMatchObject({ ok: false, refusal: { code: 'illegal-transition', allowed: expect.any(Array) } })
    expect(refusalOf(await room.submit({ type: 'start' }))).toBe('invalid: the plan has no tasks')
    expect(await room.statuses(room.id)).toEqual({ plan: 'draft' })
    await isWhole(room)
  })
})

describe('one task at a time', () => {
  it('is all that may be claimed alone', async () => {
    const room = await drafted(external('a'), external('b'))
    await room.must({ type: 'start' })
    const first = await room.must({ type: 'claim', alone: true })
    expect(refusalOf(await room.submit({ type: 'claim', alone: true }, {}, BO))).toBe(
      "not-ready: 'a' is running, and this plan runs one task at a time",
    )
    await room.must({ type: 'report', task: first.claim!.task, token: first.claim!.token, result: succeeded() })
    expect(await room.must({ type: 'claim', alone: true })).toMatchObject({ claim: { task: 'b' } })
    // Whoever does not ask for it is not held to it.
    await room.must({ type: 'add', tasks: [external('c')] })
    expect(await room.must({ type: 'claim' })).toMatchObject({ claim: { task: 'c' } })
  })
})

describe('under a key', () => {
  it('each order is carried out once, and answered as it was', async () => {
    const room = await drafted(external('a'), external('b'))
    const once = (key: string): SubmitOptions => ({ once: key })
    const orders: readonly (readonly [string, Order])[] = [
      ['add', { type: 'add', tasks: [external('c')] }],
      ['start', { type: 'start' }],
      ['change', { type: 'change', task: 'b' as TaskName, set: { title: 'B' } }],
      ['annotate', { type: 'annotate', set: { x: 1 } }],
      ['evaluate', { type: 'evaluate', task: 'a' as TaskName, score: 1 }],
      ['claim', { type: 'claim', task: 'a' as TaskName }],
      ['report', { type: 'report', task: 'a' as TaskName, result: succeeded() }],
      ['finish', { type: 'finish', as: 'completed', reason: 'enough' }],
    ]
    for (const [key, order] of orders) {
      const first = await room.must(order, once(key))
      const again = await room.must(order, once(key))
      expect(again).toEqual({ ...first, replayed: true })
      expect(first.replayed).toBeUndefined()
    }
    expect(refusalOf(await room.submit({ type: 'annotate', set: { x: 2 } }, once('annotate')))).toContain('conflict')
    // A key is its actor's own.
    expect(await room.submit({ type: 'annotate', set: { x: 3 } }, once('annotate'), BO)).toMatchObject({ ok: true })
    const create: Order = { type: 'create', definition: { name: 'new' as PlanName, tasks: [] }, taken: 'number' }
    const made = await room.engine.submit(null, create, once('create'))
    expect(await room.engine.submit(null, create, once('create'))).toEqual({ ...made, replayed: true })
    expect((await room.engine.ask({ type: 'plans' })).items).toHaveLength(2)
    await isWhole(room)
  })

  it('two of the same at once are one', async () => {
    const room = await drafted()
    const twice = await Promise.all(
      [1, 2, 3].map(() => room.submit({ type: 'add', tasks: [external('a')] }, { once: 'k' })),
    )
    expect(twice.map(refusalOf)).toEqual(['ok', 'ok', 'ok'])
    expect(twice.filter(done => done.ok && done.replayed === true)).toHaveLength(2)
    expect((await room.state()).order).toHaveLength(1)
  })
})
