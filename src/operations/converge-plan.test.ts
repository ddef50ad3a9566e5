// Rounds of judging and mending, until the plan converges or nothing more is to be tried.

import { expect, it } from 'vitest'
import type { PlanId, PlanName } from '../domain/id.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { Driven } from '../engine/engine.ts'
import { exited, name, setup } from '../engine/rooms.fixture.ts'
import type { Attempt } from '../runners/runner.ts'
import { type ConvergeAsk, type ConvergeStep, convergePlan, endedPlan } from './converge-plan.ts'
import { setGoing } from './start-plan.ts'

const DONE: NonNullable<PlanDefinition['done']> = [{ type: 'check', command: { argv: ['good'] } }]
const wordOf = ({ action }: Attempt): string =>
  action.type !== 'run' ? '' : 'argv' in action.command ? action.command.argv[0]! : action.command.script

/** The check `good` holds when `fix` was run so many times; `work` fails as long as it does not hold. */
async function scene(definition: Partial<PlanDefinition> = { done: DONE }, { fixes = 1 } = {}) {
  let fixed = 0
  const room = setup(async attempt => {
    const word = wordOf(attempt)
    if (word === 'fix') fixed++
    // How it ends says how much is missing, so that every round is seen to change something.
    return exited(word === 'good' || word === 'work' ? Math.max(0, fixes - fixed) : 0)
  })
  const plan = await room.define({
    name: 'p' as PlanName,
    tasks: [{ id: name('a'), action: { type: 'run', command: { argv: ['true'] } } }],
    ...definition,
  })
  const steps: string[] = []
  const over = new AbortController()
  const tell = (step: ConvergeStep) =>
    void steps.push(step.type === 'added' ? `added ${step.tasks}` : `judged ${step.unmet.length}`)
  const converge = async (ask: Partial<ConvergeAsk> = {}, id: PlanId = plan) =>
    await convergePlan<Driven>(
      {
        engine: room.engine,
        setMoving: async ({ goOn }) =>
          void (await setGoing(room.engine, id, goOn ? { goOn: { rationale: 'again', unsafe: 'repeat' } } : {})),
        drive: async () => await room.drive(id),
        tell,
        timeLeft: () => Number.POSITIVE_INFINITY,
        until: over.signal,
      },
      id,
      { rounds: 5, script: 'fix', ...ask },
    )
  return { ...room, plan, steps, over, converge }
}

it('a task is added for what does not hold, until it does', async () => {
  const { converge, steps, statuses, plan } = await scene({ done: DONE }, { fixes: 2 })
  expect(await converge()).toMatchObject({ status: 'converged', plan: 'completed', known: { round: 3, criteria: 1 } })
  expect(steps).toEqual(['judged 1', 'added 1', 'judged 1', 'added 1', 'judged 0'])
  expect(await statuses(plan)).toMatchObject({ 'converge-1-1': 'completed', 'converge-2-1': 'completed' })
})

it('what holds at once needs no round', async () => {
  const { converge, steps } = await scene({ done: DONE }, { fixes: 0 })
  expect(await converge()).toMatchObject({ status: 'converged', plan: 'completed' })
  expect(steps).toEqual(['judged 0'])
})

it('it ends when the rounds are over, and whoever allows more goes on', async () => {
  const { converge } = await scene({ done: DONE }, { fixes: 3 })
  expect(await converge({ rounds: 1 })).toMatchObject({ status: 'not-converged', why: { code: 'rounds', made: 1 } })
  expect(await converge({ rounds: 4 })).toMatchObject({ status: 'converged' })
})

it('it ends when a round changes nothing', async () => {
  const { converge } = await scene()
  expect(await converge({ script: 'true' })).toMatchObject({ status: 'not-converged', why: { code: 'no-progress' } })
})

it('it ends when the time is over', async () => {
  const { converge, over, steps } = await scene()
  over.abort()
  expect(await converge()).toMatchObject({ status: 'not-converged', why: { code: 'timeout' } })
  expect(steps).toEqual([])
})

it('a task without a script waits for whoever claims it', async () => {
  const { converge, steps } = await scene()
  expect(await converge({ script: undefined })).toMatchObject({ status: 'rests', rest: { status: 'rested' } })
  expect(steps).toEqual(['judged 1', 'added 1'])
})

it('what failed is tried again first', async () => {
  const tasks = [{ id: name('a'), action: { type: 'run', command: { argv: ['work'] } } }] as const
  const { converge, drive, plan, statuses } = await scene({ done: DONE, tasks })
  await drive(plan)
  expect(await statuses(plan)).toMatchObject({ plan: 'failed', a: 'failed' })
  expect(await converge()).toMatchObject({ status: 'converged', plan: 'completed' })
  expect(await statuses(plan)).toMatchObject({ a: 'completed' })
})

it('there must be something to converge to, and a way there', async () => {
  expect(await (await scene({})).converge()).toEqual({ status: 'unfit', why: 'no-criteria' })
  const { converge, engine, plan } = await scene()
  expect(await endedPlan(engine, 'p')).toBeNull()
  await engine.submit(plan, { type: 'cancel' })
  expect(await converge()).toEqual({ status: 'unfit', why: 'cancelled' })
  expect(await endedPlan(engine, 'p')).toEqual({ plan, name: 'p' })
})
