// A reviewer that is an agent, looking at the work of an agent: both are real processes in a sandbox, their model follows a script. The same
// with other agents, killed at every write: `npm run agents`.
// Needs the extras: agents

import { afterAll, test as anyTest, describe, expect } from 'vitest'
import { FAIL, REVIEWED, reviewScripts } from '../agents/review-script.ts'
import { closeWorlds, ONE_AGENT, World } from './started-agents.fixture.ts'

afterAll(closeWorlds)

describe.each(ONE_AGENT)('agents that judge: $name', agent => {
  const test = anyTest.skipIf(agent.missing !== null)

  test('one reviews the work of another, which goes on in its conversation, and may change nothing itself', async () => {
    const world = await World.open(agent, 'reviews', reviewScripts({ tampers: true }))
    world.write('plan.yaml', REVIEWED)
    const run = await world.run('run', 'plan.yaml')
    expect(run.code, run.out).toBe(0)
    expect(world.read('sum.js')).toContain('b + a')
    const prompts = world.model.requests.map(({ messages }) => messages.map(({ text }) => text).join('\n'))
    const seen = prompts.filter(prompt => prompt.includes('Review the work of somebody else'))
    expect(seen[0]).toContain("[data: what it changed ('fix')")
    expect(seen[0]).toContain('-module.exports = (a, b) => a - b')
    expect(seen[0]).toContain('End with a message that is one JSON object')
    expect(seen.at(-1)).toContain('run 1 was sent back by fix/review: sum.js:1: put the second first (task)')
    const { out } = await world.tell('log', 'repair', '--output')
    expect(out).toContain('took up conversation')
    expect(prompts.some(told => told.includes('Your work was reviewed') && told.includes(FAIL.findings[0]!.says))).toBe(
      true,
    )
    // Asked again, because its first answer was no JSON.
    expect(prompts.some(told => told.includes('Your last message was not the answer that was asked for'))).toBe(true)
    expect((await world.tell('show', 'repair', 'fix/review', '--json')).out).toContain('"verdict":"pass"')
    const { served } = world.model
    expect(await world.tell('replay', 'repair')).toMatchObject({ code: 0 })
    expect(world.model.served.calls).toBe(served.calls)
    expect(world.alive()).toEqual([])
  })
})
