// Several agents, each with a `planfold mcp` process of its own, on one store: a small version of `npm run bench:mcp`.

import { expect, test } from 'vitest'
import { askNext, drain, timesText } from '../../bench/mcp-drain.ts'
import { MAIN } from './planfold.fixture.ts'

test('three processes over stdio drain sixty tasks: each is claimed exactly once, and none is lost', async () => {
  const { claims, done, claimMs } = await drain(MAIN, { agents: 3, tasks: 60 })
  console.info(`claim: ${timesText(claimMs)}`)
  expect([...claims].filter(([, times]) => times !== 1)).toEqual([])
  expect({ claimed: claims.size, done }).toEqual({ claimed: 60, done: 60 })
})

test('the next task of a plan with 1,000 tasks is told, while the plan moves', async () => {
  const { times } = await askNext('in process', { main: MAIN, tasks: 1_000, rounds: 20 })
  console.info(`plan_read next with 1,000 tasks: ${timesText(times)}`)
  expect(times).toHaveLength(20)
})
