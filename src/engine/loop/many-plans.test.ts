// One signal stops many plans: a listener for each is no leak, and nobody is warned of one.

import { expect, test } from 'vitest'
import type { PlanName } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { name, setup } from '../rooms.fixture.ts'

const PLANS = 50

test('50 plans that are driven under one signal warn nobody', async () => {
  const warnings: Error[] = []
  const heed = (warning: Error): void => void warnings.push(warning)
  process.on('warning', heed)
  let begun = 0
  let allBegan = (): void => {}
  const all = new Promise<void>(resolve => {
    allBegan = resolve
  })
  const room = setup((_attempt, _tools, signal) => {
    if (++begun === PLANS) allBegan()
    return new Promise(resolve =>
      signal.addEventListener('abort', () => resolve({ type: 'interrupted' }), { once: true }),
    )
  })
  const [stop, force] = [new AbortController(), new AbortController()]
  const driven = []
  for (let at = 0; at < PLANS; at++) {
    const plan = await room.define({ name: `plan-${at}` as PlanName, tasks: [{ id: name('a') } as TaskDefinition] })
    driven.push(room.worker.drive(plan, { stop: stop.signal, force: force.signal }))
  }
  await all
  stop.abort()
  force.abort()
  await Promise.all(driven)
  // A warning comes a turn later.
  await new Promise(resolve => setImmediate(resolve))
  process.off('warning', heed)
  expect(warnings).toEqual([])
})
