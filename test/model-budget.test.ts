// The limits of model tasks, on the journaled budget of a real plan and a scripted model behind real HTTP: what is reached pauses the plan
// and asks, what was paid for stays, and a person's yes lets it go on.

import { describe, expect, it } from 'vitest'
import type { ActionType, Budget, TaskDefinition } from '../src/domain/plan.ts'
import { setup as engineRooms, name } from '../src/engine/rooms.fixture.ts'
import { setup as modelsRoom, PRICE } from '../src/models/models.fixture.ts'
import { modelRunner } from '../src/runners/model/model-runner.ts'
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
