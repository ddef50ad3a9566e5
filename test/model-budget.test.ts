// The limits of model tasks, on the journaled budget of a real plan and a scripted model behind real HTTP: what is reached pauses the plan
// and asks, what was paid for stays, and a person's yes lets it go on.
// Needs the extras: models

import { writeFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import {
  attemptStarted,
  hold,
  newLedger,
  packLedger,
  raise,
  settle,
  unpackLedger,
} from '../src/domain/budget/ledger.ts'
import { visitCaps } from '../src/domain/budget/visit-caps.ts'
import type { ActionType, Budget, TaskDefinition } from '../src/domain/plan.ts'
import { setup as engineRooms, name } from '../src/engine/rooms.fixture.ts'
import { modelRunner } from '../src/extras/models/model-runner.ts'
import { setup as modelsRoom, PRICE } from '../src/extras/models/models.fixture.ts'
import type { Runner } from '../src/runners/runner.ts'
import type { Script } from '../src/testing/scripted-model.ts'

const BUSY = { error: { status: 529, message: 'busy' } }
const YES = { text: 'yes', usage: { input: 10, output: 1 } }
const RETRY: Partial<TaskDefinition> = { retry: { attempts: 9, backoffMs: { min: 1, max: 1 } } }
const PRICES = { models: { 'anthropic/scripted': { price: PRICE } } }

interface Wanted {
  readonly spec?: object
  readonly budget?: Budget
  readonly settings?: object
}

/** A plan with one model task. */
async function planWith(script: Script, { spec = {}, budget, settings = PRICES }: Wanted) {
  const place = await modelsRoom(script, settings)
  const rooms = engineRooms()
  const runners = rooms.rooms.runners as Map<ActionType, Runner>
  runners.set('model', modelRunner({ models: place.models }))
  const plan = await rooms.define({
    tasks: [
      {
        id: name('ask'),
        action: { type: 'model', spec: { use: 'anthropic/scripted', ...spec } },
        instruction: 'Is it so?',
        ...RETRY,
        ...(budget === undefined ? {} : { budget }),
      },
    ] as never,
  })
  const state = async () => (await rooms.rooms.store.state(plan))!
  const answer = async (more: 'yes' | 'no') => {
    const [question] = (await state()).questions
    return await rooms.engine.submit(plan, { type: 'answer', id: question!.id, answers: { more } })
  }
  return { ...place, ...rooms, plan, state, answer }
}

describe('the caps of a model task', () => {
  it('are its budget: all attempts count, the plan pauses and asks, and goes on after a yes', async () => {
    const here = await planWith([BUSY, BUSY, YES], { spec: { caps: { calls: 2 } } })
    expect(await here.drive(here.plan)).toMatchObject({ rest: 'paused' })
    expect(here.server.requests).toHaveLength(2)
    const { questions, status } = await here.state()
    expect(status).toBe('paused')
    expect(questions).toMatchObject([
      { task: 'ask', budget: { reason: { short: [{ task: 'ask', key: 'calls', cap: 2, spent: 2 }] } } },
    ])
    expect(await here.answer('yes')).toMatchObject({ ok: true })
    expect(await here.drive(here.plan)).toMatchObject({ rest: 'ended' })
    expect(await here.statuses(here.plan)).toEqual({ plan: 'completed', ask: 'completed' })
    expect(here.server.requests).toHaveLength(3)
  })

  it('the lower of caps and budget counts, and the budget says what happens', async () => {
    const here = await planWith([BUSY], { spec: { caps: { calls: 5 } }, budget: { calls: 1, exceeded: 'fail' } })
    expect(await here.drive(here.plan)).toMatchObject({ rest: 'ended' })
    expect(await here.statuses(here.plan)).toEqual({ plan: 'failed', ask: 'failed' })
    expect(here.server.requests).toHaveLength(1)
    const failed = (await here.events(here.plan)).findLast(({ type }) => type === 'attempt.failed')
    expect(failed).toMatchObject({ result: { failure: { class: 'policy', code: 'budget' } } })
  })
})

test('an answer that was kept when the attempt was interrupted is neither asked for nor paid for again', async () => {
  const { models, server } = await modelsRoom([YES], PRICES)
  const settled: unknown[] = []
  const budget = {
    reserve: async () => ({ ok: true as const, id: 'r', granted: {} }),
    settle: async (_: string, actual: unknown) => void settled.push(actual),
  }
  const action = { type: 'model', spec: { use: 'anthropic/scripted' } } as const
  const definition = { id: name('ask'), action, instruction: 'Is it so?' }
  const asking = { key: 'p/ask/1', action, definition, timeoutMs: 60_000 }
  const ask = async (keepAs: string) =>
    await modelRunner({ models }).attempt({ ...asking, keepAs } as never, { budget, log: () => {} } as never, {
      aborted: false,
      signal: new AbortController().signal,
    })
  const [first, again] = [await ask('p/ask/1/0'), await ask('p/ask/1/0')]
  expect(again).toEqual(first)
  expect(again).toMatchObject({ outputs: { text: 'yes' }, model: { use: { calls: 1 } } })
  expect(server.requests).toHaveLength(1)
  expect(settled).toEqual([expect.objectContaining({ calls: 1 }), {}])
  // After a failure it is asked anew.
  await ask('p/ask/1/1')
  expect(server.requests).toHaveLength(2)
})

describe('the limits of the user', () => {
  it('our default is asked about like a budget, in the middle of an attempt too, and what was paid for is not paid again', async () => {
    const here = await planWith(
      [{ ...YES, usage: { input: 395_000, output: 1 }, text: 'no JSON' }, { text: '{"so":true}' }],
      {
        spec: { answer: { so: 'boolean' } },
      },
    )
    const driven = here.drive(here.plan)
    await expect.poll(async () => (await here.state()).questions.length).toBe(1)
    expect((await here.state()).questions).toMatchObject([
      { budget: { reason: { short: [{ task: 'ask', key: 'tokens', cap: 400_000, spent: 395_001 }] } } },
    ])
    await here.answer('yes')
    expect(await driven).toMatchObject({ rest: 'ended' })
    expect(await here.statuses(here.plan)).toEqual({ plan: 'completed', ask: 'completed' })
    expect(here.server.requests).toHaveLength(2)
    expect((await here.events(here.plan)).filter(({ type }) => type === 'attempt.started')).toHaveLength(1)
  })

  it('what they wrote is a ceiling: nobody is asked, the plan rests and says where, and goes on when it is raised there', async () => {
    const here = await planWith([BUSY, BUSY, YES], { settings: { ...PRICES, caps: { calls: 2 } } })
    expect(await here.drive(here.plan)).toMatchObject({ rest: 'paused' })
    const { questions, reason } = await here.state()
    expect(questions).toEqual([])
    expect(reason).toContain(`by your settings (${here.settingsFile}), 'ask' may use 2 calls: 2 calls spent`)
    expect(await here.engine.submit(here.plan, { type: 'resume' })).toMatchObject({ ok: true })
    expect(await here.drive(here.plan)).toMatchObject({ rest: 'paused' })
    expect(here.server.requests).toHaveLength(2)
    writeFileSync(here.settingsFile, JSON.stringify({ ...PRICES, caps: { calls: 3 } }))
    expect(await here.engine.submit(here.plan, { type: 'resume' })).toMatchObject({ ok: true })
    expect(await here.drive(here.plan)).toMatchObject({ rest: 'ended' })
    expect(await here.statuses(here.plan)).toEqual({ plan: 'completed', ask: 'completed' })
  })

  it('a model without a price is in the way of a limit of money that they wrote, not of ours', async () => {
    const free = await planWith([YES], { settings: {} })
    expect(await free.drive(free.plan)).toMatchObject({ rest: 'ended' })
    const here = await planWith([YES], { settings: { caps: { cost: '1 USD' } } })
    expect(await here.drive(here.plan)).toMatchObject({ rest: 'paused' })
    expect((await here.state()).questions).toMatchObject([{ budget: { reason: { type: 'price', cap: '1 USD' } } }])
    expect(here.server.requests).toEqual([])
  })

  it('a task that is visited again may use as much again', () => {
    const state = { tasks: new Map([[name('ask'), { definition: { action: { type: 'model' } } }]]) } as never
    const ledger = newLedger()
    const started = (visit: number) =>
      attemptStarted(ledger, {} as never, { type: 'attempt.started', task: name('ask'), visit, attempt: 1 } as never, 0)
    const calls = (visit: number) =>
      visitCaps(state, ledger, { task: name('ask'), visit }).find(({ key }) => key === 'calls')
    started(1)
    hold(ledger, 'a', { task: name('ask'), visit: 1, attempt: 1, amount: { calls: 15 } })
    settle(ledger, 'a', { calls: 15 })
    raise(ledger, { type: 'budget.raised', task: name('ask'), add: { calls: 5 }, by: 'ana' })
    expect(calls(1)).toMatchObject({ cap: 25, spent: 15 })
    started(2)
    raise(ledger, { type: 'budget.raised', task: name('ask'), add: { calls: 1 }, by: 'ana' })
    const again = unpackLedger(packLedger(ledger))
    expect(visitCaps(state, again, { task: name('ask'), visit: 2 }).at(-1)).toEqual({
      key: 'calls',
      cap: 21,
      spent: 0,
      reserved: 0,
    })
  })
})
