// Needs the extras: agents

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { compose } from '../../src/compose.ts'
import { trusted } from '../../src/engine/roles.ts'
import { AGENTS, closeWorlds, FIX, type Inbox, plan, World } from '../e2e/started-agents.fixture.ts'

// What one agent (Grok Build) does beyond the trials that all of them go through. Part of `npm run agents`; what every change must hold is in
// `test/e2e/started-agents.test.ts`.

const agent = AGENTS.find(({ name }) => name === 'grok')
if (agent === undefined) throw new Error('set PLANFOLD_REAL_AGENTS=1')
if (agent.missing !== null) throw new Error(agent.missing)

afterAll(closeWorlds)

interface Proposed {
  readonly data: object
}

interface Listed {
  readonly data: { readonly agents: readonly { readonly name: string }[] }
}

describe('an agent that Planfold starts', { timeout: 120_000 }, () => {
  test('fails when a criterion does not hold, whatever it says; the next attempt knows why', async () => {
    const world = await World.open(agent, 'fails', [{ read: 'sum.js' }, { say: 'Fixed. All tests pass.' }])
    world.write('plan.yaml', plan().replace('attempts: 1', 'attempts: 2, backoff: 10ms'))
    const run = await world.run('run', 'plan.yaml')
    expect(run.code).not.toBe(0)
    expect(world.read('sum.js')).toContain('a - b')
    const prompts = world.model.requests.map(({ messages }) => messages.map(({ text }) => text).join('\n'))
    expect(prompts.some(text => text.includes('attempt 1 failed'))).toBe(true)
    expect(prompts.some(text => text.includes('not met: node test.js') || text.includes('not met:'))).toBe(true)
  })

  test('is parked when nobody answers in time, waits without spending a retry, and goes on with the answer', async () => {
    const world = await World.open(agent, 'parked', [{ write: ['linked.js', 'escaped\n'] }, ...FIX])
    symlinkSync(join(world.folder, 'outside.txt'), join(world.root, 'linked.js'))
    world.write('plan.yaml', plan().replace('write: [sum.js]', 'write: [sum.js, linked.js]'))
    expect(await world.run('run', 'plan.yaml', '--no-start')).toMatchObject({ code: 0 })
    const composed = await compose({
      ...{ cwd: world.root, environment: world.env(), caller: trusted('ana@example.com') },
      agentPatienceMs: 500,
    })
    const [row] = (await composed.engine.ask({ type: 'plans', limit: 1 })).items
    expect(await composed.engine.submit(row!.id, { type: 'start' })).toMatchObject({ ok: true })
    const stop = new AbortController().signal
    expect(await composed.worker.drive(row!.id, { stop })).toMatchObject({ status: 'rested', rest: 'waiting' })
    await composed.close()
    expect(world.alive()).toEqual([])
    // It is needed: the plan has not ended.
    expect((await world.tell('prune', '--before', '1ms')).out).not.toContain('conversations')
    // As long as nobody answers, no other attempt is made.
    const asked = world.model.requests.length
    expect(await world.run('resume', 'repair')).toMatchObject({ code: 4 })
    expect(world.model.requests.length).toBe(asked)
    expect((await world.tell('log', 'repair')).out).toContain('nobody has answered yet')
    const { data } = JSON.parse((await world.tell('inbox', '--json')).out) as Inbox
    expect(await world.tell('answer', 'repair', data!.items[0]!.id, 'allow=yes')).toMatchObject({ code: 0 })
    const run = await world.run('resume', 'repair')
    expect(run.code, run.out).toBe(0)
    expect(world.read('sum.js')).toContain('a + b')
    // Allowed by a person, and still held by the sandbox.
    expect(existsSync(join(world.folder, 'outside.txt'))).toBe(false)
    expect((await world.tell('log', 'repair', '--output')).out).toContain('took up conversation')
    const last = world.model.requests
      .at(-1)!
      .messages.map(({ text }) => text)
      .join('\n')
    expect(last).toContain('→ {"allow":"yes"}')
  })

  test('works in a worktree of its own, and what it did is merged into the branch of the plan', async () => {
    const world = await World.open(agent, 'apart', [{ shell: "sed -i 's/a - b/a + b/' sum.js" }, { say: 'Fixed.' }])
    world.write('plan.yaml', plan('git: { worktree: task }\n'))
    const run = await world.run('run', 'plan.yaml')
    expect(run.code, run.out).toBe(0)
    expect(String(execFileSync('git', ['show', 'plan/repair:sum.js'], { cwd: world.root }))).toContain('a + b')
    expect(world.read('sum.js')).toContain('a - b')
  })

  test('drafts a plan without writing anything', async () => {
    const tasks = [
      {
        ...{ id: 'fix', title: 'Fix sum', instruction: 'make it add', write: ['sum.js'] },
        accept: [{ check: ['node', 'test.js'] }],
      },
    ]
    const draft = { action: 'create', goal: 'sum adds', tasks }
    const world = await World.open(agent, 'drafts', [
      { read: 'sum.js' },
      { shell: 'echo escaped > drafted.txt; true' },
      { call: ['search_tool', { query: 'plan_write' }] },
      { call: ['use_tool', { tool_name: 'planfold__plan_write', tool_input: draft }] },
      { say: 'Submitted.' },
    ])
    const before = readdirSync(world.root).sort()
    const goal = 'sum.js must add [script go]'
    const draftWithin = async (budget: string) =>
      await world.run(
        ...['plan', goal, '--with', 'grok', '--model', 'openai-chat/scripted', '--dry-run', '--json'],
        ...['--budget', budget],
      )
    // Cut short by its limit, it goes on with its conversation when the same is asked for again.
    const cut = await draftWithin('2 calls')
    expect(cut.code, cut.out).toBe(1)
    expect(cut.out).toContain('the drafting limit is reached (2 calls; 2 calls, ')
    expect(cut.out).toContain("say it again with `--budget '3 calls'`")
    const run = await draftWithin('40 calls')
    expect(run.code, run.out).toBe(0)
    expect(
      world.model.requests
        .at(-1)
        ?.messages.map(({ text }) => text)
        .join('\n'),
    ).toContain('You were interrupted')
    expect(readdirSync(join(world.root, '.planfold/drafting'))).toEqual([])
    const { data } = JSON.parse(run.out.slice(run.out.indexOf('{"planfold"'))) as Proposed
    expect(data).toMatchObject({ planner: 'agent', status: 'proposed', tasks: [{ id: 'fix', action: 'external' }] })
    expect(
      readdirSync(world.root)
        .filter(name => name !== '.planfold')
        .sort(),
    ).toEqual(before)
  })

  test('is listed and tested by planfold agents', async () => {
    const world = await World.open(agent, 'listed', FIX)
    const { data } = JSON.parse((await world.run('agents', '--json')).out) as Listed
    expect(data.agents.find(({ name }) => name === 'grok')).toMatchObject({
      ...{ status: 'installed', road: 'acp', version: '1.0.41', tested: '1.0.41' },
    })
    const tested = await world.run('agents', 'test', 'grok')
    expect(tested.code, tested.out).toBe(0)
    expect(tested.out).toContain('Grok Build 1.0.41 fits')
  })
})
