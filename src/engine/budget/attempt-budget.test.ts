// The door of an attempt to the budgets around it: several calls at once, waiting, a person's answer, and who may give it.

import { describe, expect, it } from 'vitest'
import type { Budget, PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import type { AttemptBudget, Outcome } from '../../runners/runner.ts'
import { plan, task } from '../../testing/index.ts'
import { systemClock } from '../clock.ts'
import { EngineLocal } from '../engine-local.ts'
import { agentCaller, RIGHTS, trusted } from '../roles.ts'
import { exited, ME, setup } from '../rooms.fixture.ts'

const usd = (amount: number) => ({ amount, currency: 'USD' })
const spender = (id: string, more: Partial<TaskDefinition> = {}) =>
  ({ ...task(id, { effect: 'model' }), ...more }) as TaskDefinition
const within = (budget: Budget, ...tasks: readonly TaskDefinition[]): PlanDefinition =>
  plan('p', ...tasks, { policy: { budget }, concurrency: 20 })

type Spend = (budget: AttemptBudget, task: string, signal: AbortSignal) => Promise<Outcome>

async function world(definition: PlanDefinition, spend: Spend) {
  const room = setup((attempt, tools, signal) => spend(tools.budget!, attempt.task, signal))
  const made = await room.engine.submit(null, { type: 'create', definition })
  if (!made.ok) throw new Error(made.refusal.message)
  const { plan: id } = made
  const started = await room.engine.submit(id, { type: 'start' })
  if (!started.ok) throw new Error(started.refusal.message)
  const drive = () => room.worker.drive(id, { stop: new AbortController().signal })
  const report = async () => (await room.engine.ask({ type: 'budget', plan: id }))!
  const cost = async () => (await report()).blocks[0]!.lines.find(({ key }) => key === 'cost')!
  const events = async () => (await room.rooms.store.read(id, {})).flatMap(entry => entry.events)
  /** Waits until a person is asked. */
  const asked = async (): Promise<string> => {
    for (;;) {
      const found = (await report()).asked
      if (found !== null) return found.id
      await new Promise<void>(resolve => {
        const unlisten = room.rooms.store.onChange(() => {
          unlisten()
          resolve()
        })
        void report().then(now => now.asked !== null && resolve())
      })
    }
  }
  return { ...room, id, drive, report, cost, events, asked }
}

describe('reserve and settle', () => {
  it('twenty tasks with calls at the same time share what there is, and wait for each other', async () => {
    let [open, most] = [0, 0]
    const names = Array.from({ length: 20 }, (_, at) => spender(`t${at + 1}`))
    const here = await world(within({ cost: usd(1) }, ...names), async budget => {
      const call = async () => {
        const held = await budget.reserve({ cost: 0.2, calls: 1 })
        if (!held.ok) throw new Error(held.failure.message)
        most = Math.max(most, ++open)
        await new Promise(resolve => setImmediate(resolve))
        open--
        await budget.settle(held.id, { cost: 0.02, calls: 1 })
      }
      await Promise.all([call(), call()])
      return exited(0)
    })
    expect(await here.drive()).toMatchObject({ rest: 'ended' })
    expect(most).toBeGreaterThan(1)
    expect(most, 'five calls of 0.2 USD fit into one dollar').toBeLessThanOrEqual(5)
    expect(await here.cost()).toMatchObject({ spent: 0.8, reserved: 0, left: 0.2 })
  })

  it('a call whose end nobody saw is spent as it was reserved, and said to be assumed', async () => {
    const here = await world(within({ cost: usd(1) }, spender('a')), async budget => {
      const seen = await budget.reserve({ cost: 0.3, tokens: 500 })
      if (seen.ok) await budget.settle(seen.id, { cost: 0.1, tokens: 100 })
      await budget.reserve({ cost: 0.2, tokens: 900 })
      expect(await here.report()).not.toHaveProperty('assumed')
      return exited(0)
    })
    await here.drive()
    expect(await here.report()).toMatchObject({ used: { tokens: 1_000 }, assumed: { cost: 0.2, tokens: 900 } })
  })

  it('a call that waits for a person goes on after more, in the same attempt', async () => {
    let calls = 0
    const here = await world(
      within({ cost: usd(1) }, spender('a'), spender('b', { needs: ['a'] as never })),
      async budget => {
        const held = await budget.reserve({ cost: 0.8 })
        if (!held.ok) return { type: 'failed', failure: held.failure }
        calls++
        await budget.settle(held.id, { cost: 0.8 })
        return exited(0)
      },
    )
    const driven = here.drive()
    await here.asked()
    expect((await here.report()).status).toBe('paused')
    expect(await here.engine.submit(here.id, { type: 'raise', add: { cost: 1 } })).toMatchObject({ ok: true })
    expect(await driven).toMatchObject({ rest: 'ended' })
    expect(calls).toBe(2)
    const started = (await here.events()).filter(({ type }) => type === 'attempt.started')
    expect(started).toHaveLength(2)
    expect(await here.cost()).toMatchObject({ cap: 2, added: 1, spent: 1.6 })
  })

  it('whoever does not want to wait for a person is told that one is asked; nothing is lost and nothing counted', async () => {
    let tries = 0
    const here = await world(within({ calls: 1, attempts: 9 }, spender('a')), async budget => {
      tries++
      const held = await budget.reserve({ calls: 2 }, { wait: 'others' })
      if (held.ok) return exited(0)
      return { type: 'interrupted', begun: false, reason: held.why }
    })
    expect(await here.drive()).toMatchObject({ rest: 'paused' })
    expect(tries).toBe(1)
    const id = await here.asked()
    await here.engine.submit(here.id, { type: 'answer', id, answers: { more: 'yes' } })
    expect(await here.drive()).toMatchObject({ rest: 'ended' })
    expect(tries).toBe(2)
    const [block] = (await here.report()).blocks
    expect(block?.lines.find(({ key }) => key === 'attempts')).toMatchObject({ spent: 1, reserved: 0 })
  })

  it('a no ends the call that waited', async () => {
    const here = await world(within({ calls: 1 }, spender('a')), async budget => {
      const held = await budget.reserve({ calls: 2 })
      return held.ok ? exited(0) : { type: 'failed', failure: held.failure }
    })
    const driven = here.drive()
    const id = await here.asked()
    await here.engine.submit(here.id, { type: 'answer', id, answers: { more: 'no' } })
    expect(await driven).toMatchObject({ rest: 'paused' })
    const failed = (await here.events()).find(({ type }) => type === 'attempt.failed')
    expect(failed).toMatchObject({ result: { failure: { class: 'policy', code: 'budget' } } })
  })

  it('a call that is stopped while it waits holds nothing', async () => {
    const here = await world(within({ calls: 1 }, spender('a')), async (budget, _, signal) => {
      const held = await budget.reserve({ calls: 2 }, { signal })
      return held.ok ? exited(0) : { type: 'interrupted', reason: held.why }
    })
    const stop = new AbortController()
    const driven = here.worker.drive(here.id, { stop: stop.signal })
    await here.asked()
    stop.abort()
    expect(await driven).toMatchObject({ status: 'stopped' })
    const [block] = (await here.report()).blocks
    expect(block?.lines[0]).toMatchObject({ spent: 0, reserved: 0 })
  })

  it('without a budget everything is granted, and nothing is written', async () => {
    const here = await world(plan('p', spender('a')), async budget => {
      const held = await budget.reserve({ cost: 4, calls: 1 })
      if (held.ok) await budget.settle(held.id, { cost: 4, calls: 1 })
      return exited(held.ok ? 0 : 1)
    })
    expect(await here.drive()).toMatchObject({ rest: 'ended' })
    expect((await here.events()).filter(({ type }) => type.startsWith('budget.'))).toEqual([])
    expect(await here.report()).toMatchObject({ kept: false, blocks: [], used: null })
  })
})

describe('more', () => {
  const empty = () =>
    world(within({ attempts: 1 }, spender('a'), spender('b', { needs: ['a'] as never })), async () => exited(0))

  it('is said by a person: no agent, no operator, no command of a task', async () => {
    const here = await empty()
    expect(await here.drive()).toMatchObject({ rest: 'paused' })
    const id = await here.asked()
    const more = { type: 'raise', add: { attempts: 1 } } as const
    const yes = { type: 'answer', id, answers: { more: 'yes' } } as const
    const me = trusted('me')
    const others = [agentCaller(me, ME), { ...me, rights: RIGHTS.operator }]
    for (const caller of others)
      for (const order of [more, yes])
        expect(await new EngineLocal(here.rooms, caller).submit(here.id, order)).toMatchObject({ ok: false })
    const inside = { ...here.rooms, environment: { ...here.rooms.environment, PLANFOLD_KEY: 'p/a/1' } }
    for (const order of [more, yes])
      expect(await new EngineLocal(inside, me).submit(here.id, order)).toMatchObject({
        ok: false,
        refusal: { code: 'not-allowed' },
      })
    expect(await here.engine.submit(here.id, more)).toMatchObject({ ok: true })
    expect(await here.drive()).toMatchObject({ rest: 'ended' })
  })

  it('a forecast is made from what similar tasks took, here and in other plans', async () => {
    const here = await empty()
    expect((await here.report()).forecast).toEqual({ tasks: 2, unknown: 2, samples: 0, rest: null })
    await here.drive()
    const { forecast } = await here.report()
    expect(forecast).toMatchObject({ tasks: 1, unknown: 0, samples: 1, rest: { attempts: 1 } })
    const other = await here.engine.submit(null, { type: 'create', definition: plan('q', spender('z')) })
    if (!other.ok) throw new Error(other.refusal.message)
    expect((await here.engine.ask({ type: 'budget', plan: other.plan }))!.forecast).toMatchObject({
      tasks: 1,
      samples: 1,
    })
    const alone = await here.engine.ask({ type: 'budget', plan: other.plan, earlier: false })
    expect(alone!.forecast).toMatchObject({ tasks: 1, unknown: 1, rest: null })
  })
})

describe('time', () => {
  it('ends an attempt when it is used up; time that is added while it runs counts', async () => {
    const HOUR = 3_600_000
    let begin = () => {}
    const begun = new Promise<void>(resolve => {
      begin = resolve
    })
    let ended = 0
    const here = await world(within({ timeMs: HOUR, exceeded: 'fail' }, spender('a')), async (_, __, signal) => {
      begin()
      await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
      ended++
      return { type: 'interrupted' }
    })
    // The hours of the budget pass when the test says so; all shorter waits are real.
    const [waits, looks] = [[] as number[], [] as (() => void)[]]
    let ahead = 0
    Object.assign(here.rooms, {
      clock: {
        ...systemClock,
        monotonic: () => systemClock.monotonic() + ahead,
        after: (ms: number, look: () => void) => {
          if (ms < HOUR / 2) return systemClock.after(ms, look)
          waits.push(Math.round(ms / HOUR))
          looks.push(look)
          return () => {}
        },
      },
    })
    const passHour = () => {
      ahead += HOUR
      looks.shift()?.()
    }
    const driven = here.drive()
    await begun
    expect(waits).toEqual([1])
    expect(await here.engine.submit(here.id, { type: 'raise', add: { timeMs: HOUR } })).toMatchObject({ ok: true })
    passHour()
    await expect.poll(() => waits).toEqual([1, 1])
    expect(ended).toBe(0)
    passHour()
    expect(await driven).toMatchObject({ rest: 'ended' })
    expect(ended).toBe(1)
    const failed = (await here.events()).find(({ type }) => type === 'attempt.failed')
    expect(failed).toMatchObject({ result: { failure: { class: 'policy', code: 'budget' } } })
  })
})
