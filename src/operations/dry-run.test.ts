// A dry run tells what would happen, in order, and does none of it.

import { expect, it } from 'vitest'
import type { PlanId, PlanName } from '../domain/id.ts'
import type { TaskDefinition } from '../domain/plan.ts'
import { exited, name, setup } from '../engine/rooms.fixture.ts'
import { dryRun } from './dry-run.ts'

const run = (id: string, more: Partial<TaskDefinition> = {}): TaskDefinition => ({
  id: name(id),
  action: { type: 'run', command: { argv: [id] } },
  ...more,
})

it('tasks come wave by wave, with what a gate releases and who is asked', async () => {
  const done: string[] = []
  const room = setup(async ({ task }) => {
    done.push(task)
    return exited(0)
  })
  const definition = {
    name: 'p' as PlanName,
    owner: 'ana',
    tasks: [
      run('ship', { needs: [name('review')] }),
      run('announce', { needs: [name('review'), name('site')] }),
      run('build'),
      run('site'),
      { id: name('review'), needs: [name('build')], action: { type: 'gate', gate: 'approval' } },
    ],
  } as const
  const made = await room.engine.submit(null, { type: 'create', definition })
  if (!made.ok) throw new Error(made.refusal.message)
  const told = (await dryRun(room.engine, made.plan))!
  expect(told.map(({ wave, task }) => [wave, task])).toEqual([
    [1, 'build'],
    [1, 'site'],
    [2, 'review'],
    [3, 'ship'],
    [3, 'announce'],
  ])
  expect(told.find(({ task }) => task === 'review')).toMatchObject({
    gate: { gate: 'approval' },
    asks: ['ana'],
    releases: ['ship'],
    alsoWaits: [{ task: 'announce', for: ['site'] }],
  })
  expect(told[0]).toMatchObject({ action: 'run', effect: 'unsafe', status: null, asks: [] })
  expect(done).toEqual([])
  expect(await dryRun(room.engine, 'nobody' as PlanId)).toBeNull()
})
