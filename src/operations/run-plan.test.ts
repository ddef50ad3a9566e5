// A plan is run from its definition again, whatever became of it before.

import { expect, it } from 'vitest'
import type { PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import type { Order, SubmitOptions } from '../engine/engine.ts'
import { exited, name, setup } from '../engine/rooms.fixture.ts'
import { type RunAsk, runPlan } from './run-plan.ts'

const run = (id: string, more: Partial<TaskDefinition> = {}): TaskDefinition => ({
  id: name(id),
  action: { type: 'run', command: { argv: [id] } },
  ...more,
})

/** `deploy` succeeds, what needs it fails, and the plan is put away. */
async function archived(deploy: Partial<TaskDefinition>) {
  const room = setup(async ({ task }) => exited(task === 'test' ? 1 : 0))
  const definition = {
    name: 'p' as PlanDefinition['name'],
    tasks: [run('deploy', deploy), run('test', { needs: [name('deploy')] })],
  }
  const plan = await room.define(definition)
  await room.drive(plan)
  expect((await room.statuses(plan)).plan).toBe('failed')
  await room.engine.submit(plan, { type: 'archive' })
  const { engine } = room
  const submit = (of: string | null, order: Order, options?: SubmitOptions) =>
    engine.submit(of as never, order, options)
  const again = async (more: Partial<RunAsk> = {}) =>
    await runPlan(
      { ask: engine.ask.bind(engine), submit },
      { create: { type: 'create', definition }, rationale: 'run p.yaml', ...more },
    )
  return { again }
}

it('a plan that failed and was archived is not run afresh by itself when something in it may not happen twice', async () => {
  const { again } = await archived({})
  expect(await again()).toMatchObject({
    how: 'refused',
    refusal: { code: 'not-allowed', message: "plan 'p' failed, but 'deploy' completed and is unsafe to repeat" },
  })
  expect(await again({ again: true })).toMatchObject({ how: 'afresh', name: 'p-2' })
})

it('it is where doing that twice is harmless', async () => {
  const { again } = await archived({ effect: 'idempotent' })
  expect(await again()).toMatchObject({ how: 'afresh', name: 'p-2' })
})

it('an unsafe task that is done is not done again under another id', async () => {
  const done: string[] = []
  const room = setup(async ({ task }) => {
    done.push(task)
    return exited(task === 'test' ? 1 : 0)
  })
  const { engine } = room
  const definition = (deploy: string): PlanDefinition => ({
    name: 'p' as PlanDefinition['name'],
    tasks: [{ ...run('deploy'), id: name(deploy) }, run('test', { needs: [name(deploy)] })],
  })
  const plan = await room.define(definition('deploy'))
  await room.drive(plan)
  const submit = (of: string | null, order: Order, options?: SubmitOptions) =>
    engine.submit(of as never, order, options)
  const again = async (more: Partial<RunAsk> = {}) =>
    await runPlan(
      { ask: engine.ask.bind(engine), submit },
      { create: { type: 'create', definition: definition('publish') }, rationale: 'run p.yaml', ...more },
    )
  for (const more of [{}, { unsafe: 'keep' }] as const)
    expect(await again(more)).toMatchObject({
      how: 'refused',
      refusal: { message: "task 'publish' does the same as 'deploy', which is completed and unsafe to repeat" },
    })
  expect(done).toEqual(['deploy', 'test'])
  expect(await again({ unsafe: 'repeat' })).toMatchObject({ how: 'went-on' })
})

it('a plan that is open does not begin afresh, and one that is completed is not gone on with', async () => {
  const room = setup(async () => exited(0))
  const { engine } = room
  const definition = { name: 'p' as PlanDefinition['name'], tasks: [run('a')] }
  const plan = await room.define(definition)
  const submit = (of: string | null, order: Order, options?: SubmitOptions) =>
    engine.submit(of as never, order, options)
  const again = async (more: Partial<RunAsk>) =>
    await runPlan(
      { ask: engine.ask.bind(engine), submit },
      { create: { type: 'create', definition }, rationale: 'run p.yaml', ...more },
    )
  expect(await again({ again: true })).toMatchObject({
    how: 'refused',
    refusal: { message: "plan 'p' is not finished, so it cannot start over" },
  })
  await room.drive(plan)
  expect(await again({ unsafe: 'keep' })).toMatchObject({
    how: 'refused',
    refusal: { message: "plan 'p' is completed: nothing is left to continue" },
  })
})
