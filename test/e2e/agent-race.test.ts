// Needs the extras: agents

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, test as anyTest, describe, expect } from 'vitest'
import type { AgentStep } from '../../src/extras/agents/agent-script.ts'
import { ALL } from '../crash/kill-points.ts'
import { closeWorlds, ONE_AGENT, World } from './started-agents.fixture.ts'

// Three coding agents race in real sandboxes, each in a folder of its own: one cheats, one is wrong, one is right. Killed in the middle and
// resumed; replayed without a request; and with a budget that ends in the middle.

afterAll(closeWorlds)

const AGENT = '{ use: grok, model: openai-chat/scripted }'
const PLAN = `planfold: 1
name: race
tasks:
  - id: fix
    agent: ${AGENT}
    instruction: "Make the test pass. [script go]"
    write: [sum.js]
    tries: { with: [${AGENT}, ${AGENT}, ${AGENT}] }
    accept: [{ check: [node, test.js] }]
`
/** What each does depends on its number alone. */
const RACE: readonly AgentStep[] = [
  { shell: 'ls node_modules/three && git status --porcelain' },
  { shell: 'cat notes.txt' },
  {
    shell:
      'case $PLANFOLD_TRY in 1) echo > test.js;; 2) sed -i "s/a - b/a - b - 1/" sum.js;; 3) sed -i "s/a - b/a + b/" sum.js;; esac; true',
  },
  { say: 'Done.' },
]
const FILES = {
  'sum.js': 'module.exports = (a, b) => a - b\n',
  'test.js': "if (require('./sum.js')(1, 2) !== require('three')) throw new Error('wrong')\n",
  '.gitignore': 'node_modules/\n.planfold/\n',
  'node_modules/three/index.js': 'module.exports = 3\n',
}
const FIXED = '// not committed\nmodule.exports = (a, b) => a + b\n'

interface Logged {
  readonly data: {
    readonly entries: readonly {
      readonly events: readonly { readonly type: string; readonly [key: string]: unknown }[]
    }[]
  }
}

describe.each(ONE_AGENT)('agents that race: $name', agent => {
  const test = anyTest.skipIf(agent.missing !== null)
  const longTest = anyTest.skipIf(agent.missing !== null || !ALL)
  const open = async (name: string, onStep?: (step: number) => void) => {
    const world = await World.open(agent, name, RACE, { files: FILES, onStep })
    writeFileSync(join(world.root, 'sum.js'), `// not committed\n${FILES['sum.js']}`)
    writeFileSync(join(world.root, 'notes.txt'), 'untracked\n')
    world.write('plan.yaml', PLAN)
    return world
  }
  const ends = async (world: World): Promise<readonly string[]> => {
    const { out } = await world.tell('export', 'race', '--to', 'journal')
    const events = out
      .trim()
      .split('\n')
      .flatMap(line => (JSON.parse(line) as Logged['data']['entries'][number]).events)
    return events
      .filter(({ type }) => type === 'race.tried')
      .map(({ number, ended }) => `${number} ${ended}`)
      .toSorted()
  }
  const clean = (world: World): void => {
    expect(existsSync(join(world.root, '.planfold/tries'))).toBe(false)
    expect(world.git('worktree', 'list').split('\n')).toHaveLength(1)
    expect(world.git('branch', '--list').split('\n')).toHaveLength(1)
    expect(world.alive()).toEqual([])
  }

  test('the right one wins, and it is replayed without a request', async () => {
    const world = await open('wins')
    const run = await world.run('run', 'plan.yaml')
    expect(run.code, run.out).toBe(0)
    expect(world.read('sum.js')).toBe(FIXED)
    expect(world.read('test.js')).toBe(FILES['test.js'])
    expect(await ends(world)).toEqual(['1 failed', '2 failed', '3 passed'])
    const told = world.model.requests.map(({ messages }) => messages.map(({ text }) => text).join('\n')).join('\n')
    expect(told).toContain('M sum.js')
    expect(told).toContain('untracked')
    clean(world)
    const { calls } = world.model.served
    expect(await world.tell('replay', 'race')).toMatchObject({ code: 0 })
    expect(world.model.served.calls).toBe(calls)
  })

  longTest('killed in the middle, it ends the same', async () => {
    let kill = (): void => {}
    const killed = await open('killed', step => {
      if (step === 3) kill()
    })
    const first = killed.start('run', 'plan.yaml')
    kill = () => {
      kill = () => {}
      first.child.kill('SIGKILL')
    }
    await first.ended
    const resumed = await killed.run('resume', 'race')
    expect(resumed.code, resumed.out).toBe(0)
    expect(killed.read('sum.js')).toBe(FIXED)
    expect(await ends(killed)).toEqual(['1 failed', '2 failed', '3 passed'])
    clean(killed)
  })

  longTest('parks when the budget ends in the middle, and goes on when a person adds to it', async () => {
    const world = await open('parks')
    world.write('plan.yaml', PLAN.replace('name: race\n', 'name: race\npolicy: { budget: { calls: 2 } }\n'))
    const { ended, says } = world.start('run', 'plan.yaml')
    await says('the budget is used up')
    const first = await ended
    expect(first.code, first.out).toBe(4)
    // None of them has come as far as its edit.
    expect(await ends(world)).toEqual([])
    expect((await world.tell('budget', 'add', 'race', '--calls', '50')).code).toBe(0)
    const resumed = await world.run('resume', 'race')
    expect(resumed.code, resumed.out).toBe(0)
    expect(world.read('sum.js')).toBe(FIXED)
    clean(world)
  })
})
