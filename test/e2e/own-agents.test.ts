// Needs the extras: agents

import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, test as anyTest, describe, expect } from 'vitest'
import type { AgentStep } from '../../src/extras/agents/agent-script.ts'
import { AGENTS, closeWorlds, FIX, plan, World } from './started-agents.fixture.ts'

// Agents that a person added, each by one row of ~/.config/planfold/agents.yaml: a program that reads its brief and prints lines, and one
// that speaks ACP. Started by the built program in a real sandbox, against a model that follows a script.

const [scripted] = AGENTS
const test = anyTest.skipIf(scripted!.missing !== null)
afterAll(closeWorlds)

/** It has a shell and nothing else. */
const LINES_AGENT = `#!/usr/bin/env node
const { readFileSync } = require('node:fs')
const { execSync } = require('node:child_process')
const command = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] }
const tools = [{ type: 'function', function: { name: 'bash', parameters: command } }]
const messages = [{ role: 'user', content: readFileSync(0, 'utf8') }]
const headers = { 'content-type': 'application/json', authorization: 'Bearer ' + process.env.OPENAI_API_KEY }
const go = async () => {
  for (;;) {
    const body = JSON.stringify({ model: 'scripted', tools, messages })
    const answer = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', { method: 'POST', headers, body })
    const { message } = (await answer.json()).choices[0]
    messages.push(message)
    if (!message.tool_calls) return console.log(JSON.stringify({ text: message.content }))
    for (const { id, function: called } of message.tool_calls) {
      let content = 'done'
      try {
        content += execSync(JSON.parse(called.arguments).command, { encoding: 'utf8' })
      } catch (error) {
        content = String(error)
      }
      messages.push({ role: 'tool', tool_call_id: id, content })
    }
  }
}
go()
`

const SCRATCH = '\n    scratch: [.my-agent/**, .my-agent-*]'
/** Each is one row; `bin` is where its program lies. */
const ROWS: { readonly [name: string]: (bin: string) => string } = {
  'my-lines': bin => `  my-lines:
    command: [${bin}/my-lines]`,
  'my-acp': bin => `  my-acp:
    title: My agent
    wire: openai-chat
    env: { XAI_API_KEY: '{token}', GROK_XAI_API_BASE_URL: '{url}/v1' }
    acp: { command: [${bin}/my-acp, -m, '{model}'] }`,
}

async function worldOf(name: string, about: string, steps: readonly AgentStep[], more = '') {
  const world = await World.open(scripted!, `${name}-${about}`, { go: steps, edit: FIX })
  const bin = join(world.folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'my-lines'), LINES_AGENT, { mode: 0o755 })
  symlinkSync(join(scripted!.path, 'grok'), join(bin, 'my-acp'))
  const settings = join(world.folder, 'home/.config/planfold')
  mkdirSync(settings, { recursive: true })
  writeFileSync(join(settings, 'agents.yaml'), `agents:\n${ROWS[name]!(bin)}${more}\n`, { mode: 0o600 })
  world.write('plan.yaml', plan().replace('grok', name))
  return world
}

const leave = 'mkdir -p .my-agent; echo state > .my-agent/state; echo said > .my-agent-history; cat .my-agent/state'

describe.each(Object.keys(ROWS))('an agent of a person’s own: %s', name => {
  test('is listed as theirs, fits, and works a task to green; what its row says it leaves is no fault, and does not stay', async () => {
    const world = await worldOf(name, 'works', [{ shell: leave }, ...FIX], SCRATCH)
    const { data } = JSON.parse((await world.tell('agents', '--json')).out) as {
      data: { agents: readonly { readonly name: string; readonly from: string }[]; faults: readonly object[] }
    }
    expect(data.faults).toEqual([])
    expect(data.agents.at(-1)).toMatchObject({ name, from: 'user', status: 'installed', tested: null, install: null })
    expect(data.agents.filter(({ from }) => from === 'planfold')).toHaveLength(10)
    const tried = await world.run('agents', 'test', name)
    expect(tried.out).toContain('fits: it repaired the test in ')
    const run = await world.run('run', 'plan.yaml')
    expect(run.code, run.out).toBe(0)
    expect(world.read('sum.js')).toContain('a + b')
    expect(readdirSync(world.root).filter(one => one.startsWith('.my-agent'))).toEqual([])
    const log = (await world.tell('log', 'repair', 'fix', '--output')).out
    expect(log).toContain('Fixed.')
    const [, moved] = /'\.my-agent-history', which the agent leaves by itself, moved to (\S+)/.exec(log) ?? []
    expect(readFileSync(join(moved!, '.my-agent-history'), 'utf8')).toBe('said\n')
    expect(world.alive()).toEqual([])
  })

  test('is refused writes outside of its scope, and new files beside it that its row does not name fail the attempt', async () => {
    const attack = `${leave}; echo escaped > ../outside.txt; echo escaped > test.js; echo escaped > beside.txt; true`
    const world = await worldOf(name, 'attacks', [{ shell: attack }, ...FIX])
    const before = world.read('test.js')
    const run = await world.run('run', 'plan.yaml')
    expect(run.code).not.toBe(0)
    expect(run.out).toContain("'.my-agent', '.my-agent-history', 'beside.txt' appeared outside its write scope")
    expect(world.read('test.js')).toBe(before)
    expect(existsSync(join(world.folder, 'outside.txt'))).toBe(false)
    expect(existsSync(join(world.root, 'beside.txt'))).toBe(false)
  })
})

test('a workspace adds no agent, and it is said that its file is not read', async () => {
  const world = await worldOf('my-lines', 'workspace', FIX)
  const own = join(world.folder, 'home/.config/planfold/agents.yaml')
  world.write('agents.yaml', readFileSync(own, 'utf8'))
  writeFileSync(own, '', { mode: 0o600 })
  const run = await world.run('run', 'plan.yaml')
  expect(run).toMatchObject({ code: 2, out: expect.stringContaining("'my-lines' is not a known agent") })
  expect(run.out).toContain('is not read: a workspace cannot add an agent')
  expect(world.read('sum.js')).toContain('a - b')
})

test('a command of a plan may speak ACP', async () => {
  const world = await worldOf('my-acp', 'plan', FIX)
  const program = join(world.folder, 'bin/acp-of-the-plan')
  // It knows no variables but its own.
  writeFileSync(
    program,
    `#!/bin/sh\nXAI_API_KEY=$OPENAI_API_KEY GROK_XAI_API_BASE_URL=$OPENAI_BASE_URL exec ${scripted!.path}/grok -m scripted\n`,
    { mode: 0o755 },
  )
  world.write(
    'plan.yaml',
    plan().replace('{ use: grok, model: openai-chat/scripted }', `{ command: [${program}], protocol: acp }`),
  )
  const run = await world.run('run', 'plan.yaml')
  expect(run.code, run.out).toBe(0)
  expect(world.read('sum.js')).toContain('a + b')
})
