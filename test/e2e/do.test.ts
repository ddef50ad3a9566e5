// Needs the extras: agents

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, test as anyTest, describe, expect } from 'vitest'
import { AGENTS, closeWorlds, ONE_AGENT, World } from './started-agents.fixture.ts'
import { hasTerminal, terminal } from './terminal.fixture.ts'

// From a sentence to a reviewed change, in a real terminal: a coding agent in the sandbox, a model that follows a script for each task.

afterAll(closeWorlds)

const GOAL = 'sum in sum.js is wrong: 2 and 3 make -1'
const TEST = "const sum = require('../sum')\nif (sum(2, 3) !== 5) process.exit(1)\n"
const STEPS = {
  reproduce: [{ write: ['test/sum.test.js', TEST] }, { say: 'It fails: -1 instead of 5.' }],
  fix: [{ edit: ['sum.js', 'a - b', 'a + b'] }, { shell: 'node test.js' }, { say: 'Fixed.' }],
} as const

async function opened(agent: (typeof AGENTS)[number], name: string, onStep?: (step: number) => void | Promise<void>) {
  const world = await World.open(agent, name, STEPS, { onStep })
  world.write('package.json', '{ "scripts": { "test": "node --test" } }\n')
  world.write('notes.txt', 'committed\n')
  world.write('test/first.test.js', "require('../sum')\n")
  world.commit('tests')
  // What a person has under way, in a file of their own.
  world.write('notes.txt', 'not committed\n')
  return world
}

const at = (world: World) => ({ folder: world.root, env: world.env() })
const DRAFT = '[a]pprove'
const REVIEW = '[a]pprove and commit'

describe.each(ONE_AGENT)('planfold do, worked by $name', agent => {
  const test = anyTest.skipIf(agent.missing !== null || !hasTerminal)

  test('a goal becomes a commit on the branch of the plan', { timeout: 120_000 }, async () => {
    const world = await opened(agent, 'do-approve')
    const head = world.git('rev-parse', 'HEAD')
    const person = terminal(at(world), 'do', GOAL, '--model', 'openai-chat/scripted', '--budget', '40 calls')
    await person.sees(DRAFT)
    expect(person.shown()).toContain('grok')
    person.press('a')
    await person.sees('sum.js')
    await person.sees('+module.exports = (a, b) => a + b')
    await person.sees('spent: drafting nothing')
    await person.sees(REVIEW)
    // It is worked on again, and told why.
    person.press('c')
    await person.sees('what should be different?')
    person.press('say why\r')
    await person.sees(REVIEW)
    expect(world.model.requests.flatMap(({ messages }) => messages.map(({ text }) => text)).join()).toContain('say why')
    person.press('a')
    expect(await person.ended, person.shown()).toBe(0)
    const [name] = world.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/plan').split('\n')
    expect(world.git('diff', '--name-only', 'HEAD', name!)).toBe('sum.js\ntest/sum.test.js')
    expect(world.git('log', '-1', '--format=%s', name!)).toBe(GOAL)
    // The person's branch, index and edits are as they were.
    expect(world.git('rev-parse', 'HEAD')).toBe(head)
    expect(world.git('diff', '--cached', '--name-only')).toBe('')
    expect(world.read('notes.txt')).toBe('not committed\n')
    // Nothing is open now; another goal would be another plan.
    expect(await world.tell('do')).toMatchObject({ code: 2, out: expect.stringContaining('no goal is open') })
  })

  test('killed in the middle it goes on, and undo takes back what it did and nothing else', {
    timeout: 120_000,
  }, async () => {
    let kill: (() => void) | null = null
    const world = await opened(agent, 'do-undo', async step => {
      if (step === 1) kill?.()
    })
    const run = world.start('do', GOAL, '--yes', '--model', 'openai-chat/scripted')
    kill = () => void run.child.kill('SIGKILL')
    expect((await run.ended).code).toBeNull()
    kill = null
    world.write('new-notes.txt', 'written meanwhile\n')
    // Without a terminal it ends where a person has to look.
    const again = await world.run('do')
    expect(again.code, again.out).toBe(4)
    expect(world.read('sum.js')).toContain('a + b')
    const person = terminal(at(world), 'do', GOAL)
    await person.sees('continues ')
    // The call that was cut off counts as what it could have used.
    await person.sees('of it assumed')
    await person.sees(REVIEW)
    person.press('u')
    expect(await person.ended, person.shown()).toBe(0)
    expect(world.git('status', '--porcelain')).toBe('M notes.txt\n?? new-notes.txt')
    expect(world.read('notes.txt')).toBe('not committed\n')
    expect(existsSync(join(world.root, 'test/sum.test.js'))).toBe(false)
  })
})

anyTest('who works it is said before anything is drafted', async () => {
  const world = await World.open({ ...AGENTS[0]!, path: '/nowhere' }, 'do-nobody', {})
  expect(await world.tell('do', GOAL, '--with', 'planfold')).toMatchObject({
    code: 2,
    out: expect.stringContaining('Planfold has no agent of its own yet'),
  })
  const none = await world.tell('do', GOAL)
  expect(none).toMatchObject({ code: 1, out: expect.stringContaining('no coding agent is installed here') })
  expect(none.out).toContain('npm install -g ')
  expect(await world.tell('do', GOAL, '--with', 'opencode')).toMatchObject({
    code: 1,
    out: expect.stringContaining('opencode is not installed'),
  })
  expect((await world.tell('list')).out).not.toContain('sum')
})
