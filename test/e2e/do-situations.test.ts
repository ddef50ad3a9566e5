// A few of the situations of `npm run bench:do`, which has all of them and every way to be lazy in each.
// Needs the extras: agents

import { afterAll, test as anyTest, expect } from 'vitest'
import { waysOf } from '../../bench/do/lazy-agents.ts'
import { SITUATIONS } from '../../bench/do/situations.ts'
import { tryAgent } from '../../bench/do/trial.ts'
import { AGENTS, closeWorlds } from './started-agents.fixture.ts'

afterAll(closeWorlds)

const [agent] = AGENTS
const test = anyTest.skipIf(agent?.missing !== null)

test.each([
  ['not-installed', 'honest', 'completed'],
  ['lodash-advisory', 'lock file by hand', "task 'install-update' failed: exit 1: npm error"],
  ['negation', 'forbidden file', "task 'fix' failed: check failed: the new test passes"],
])('planfold do: %s, worked by an agent that is %s, ends with: %s', async (name, way, end) => {
  const situation = SITUATIONS.find(one => one.name === name)!
  const found = waysOf(situation).find(one => one.name === way)!
  const { isGreen, why, log } = await tryAgent(agent!, situation, found)
  expect(why, log).toContain(end)
  expect(isGreen).toBe(found.isHonest)
})
