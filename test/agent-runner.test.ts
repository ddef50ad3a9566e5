// An agent as a real program, started by the real runner with a real gateway, where there is no sandbox: what a person is asked, and what
// happens when the budget says no for good. The program stands for any agent that is named by `command`.
// Needs the extras: agents, models

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Budget, TaskDefinition } from '../src/domain/plan.ts'
import { name, type Script, setup } from '../src/engine/rooms.fixture.ts'
import { agentRunner } from '../src/extras/agents/agent-runner.ts'
import { filled, modelOf } from '../src/extras/agents/agent-start.ts'
import { stockRows } from '../src/extras/agents/known-agents.ts'
import { gatewayFor } from '../src/extras/models/gateway/gateway.fixture.ts'
import { processTree } from '../src/runners/run/process-tree.ts'
import type { AgentTools, AskedPermission, Outcome } from '../src/runners/runner.ts'

/** Keeps its brief, asks its model twice or on and on, and writes what it was answered. */
const PROGRAM = `
const { readFileSync, writeFileSync, appendFileSync } = require('node:fs')
writeFileSync('brief.txt', readFileSync(0, 'utf8'))
const ask = async () => {
  const headers = { 'content-type': 'application/json', 'x-api-key': process.env.ANTHROPIC_API_KEY, 'anthropic-version': '2023-06-01' }
  const body = JSON.stringify({ model: 'm', max_tokens: 200, messages: [{ role: 'user', content: 'Go on.' }] })
  const { status } = await fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages', { method: 'POST', headers, body })
  appendFileSync('asked.txt', status + ' ')
}
const isTireless = process.env.STAYS !== undefined
const go = async () => {
  for (let times = 0; times < (isTireless ? 8 : 2); times++) await ask()
  // It ends when it is ended.
  if (isTireless) setInterval(() => {}, 1000)
}
go()
`

interface Given {
  readonly answers?: readonly ('yes' | 'no')[]
  readonly budget?: Budget
  readonly task?: Partial<TaskDefinition>
  readonly stays?: boolean
  readonly login?: AgentTools['login']
}

async function planWith({ answers = ['yes'], budget, task = {}, stays = false, login }: Given) {
  const place = await gatewayFor('anthropic', () => ({
    text: 'and so on',
    usage: { input: 100, output: 100, cacheRead: 0 },
  }))
  const asked: AskedPermission[] = []
  const outcomes: Outcome[] = []
  const facts = { plan: 'p', goal: null, decisions: [], earlier: [], changed: { paths: [], more: 0 } }
  const runner = agentRunner({
    tree: processTree(),
    version: '0',
    openGateway: async request => {
      const opened = await place.models.openGateway({
        ...request,
        wires: ['anthropic'],
        use: 'anthropic/claude-sonnet-4-5',
      })
      return opened
    },
  })
  const script: Script = async (attempt, tools, signal) => {
    const action = { type: 'agent', spec: { command: [process.execPath, '-e', PROGRAM] } } as const
    const agent = {
      facts,
      ...(login === undefined ? {} : { login }),
      permit: async (what: AskedPermission) => answers[asked.push(what) - 1] ?? ('no' as const),
    }
    const environment = { PATH: process.env.PATH ?? '' }
    const env = { ...attempt.env, ...(stays ? { STAYS: '1' } : {}) }
    const definition = { ...attempt.definition, instruction: 'Go on.' }
    const given = { ...attempt, action, env, definition }
    const outcome = await runner.attempt(given, { ...tools, agent, environment }, { aborted: signal.aborted, signal })
    outcomes.push(outcome)
    return outcome
  }
  const rooms = setup(script)
  const plan = await rooms.define({
    tasks: [{ id: name('agent'), action: { type: 'run', command: { argv: ['true'] } }, ...task }] as never,
    ...(budget === undefined ? {} : { policy: { budget } }),
  })
  await rooms.drive(plan)
  const state = (await rooms.rooms.store.state(plan))!
  const left = (file: string): string | null => {
    const path = join(rooms.rooms.root, file)
    return existsSync(path) ? readFileSync(path, 'utf8') : null
  }
  return { state, task: state.tasks.get(name('agent'))!, asked, outcomes, left, server: place.server }
}

it('where there is no sandbox a person is asked before anything is started, and with a yes it works', async () => {
  const { task, asked, left, server } = await planWith({})
  expect(asked).toEqual([
    {
      what: expect.stringMatching(/^work without a sandbox, with your permissions \(.*node.*\)$/),
      about: 'no sandbox',
    },
  ])
  expect(task.status).toBe('completed')
  expect(left('brief.txt')).toContain('Go on.')
  expect(left('asked.txt')).toBe('200 200 ')
  expect(server.served.calls).toBe(2)
})

it('with a no nothing is started, and the task fails by the policy', async () => {
  const { task, outcomes, left, server } = await planWith({ answers: ['no'] })
  expect(outcomes).toMatchObject([
    { type: 'failed', begun: false, failure: { class: 'policy', code: 'agent:no-sandbox', retryable: false } },
  ])
  expect(task.status).toBe('failed')
  expect(left('brief.txt')).toBe(null)
  expect(server.served.calls).toBe(0)
})

it('a login is lent to nobody without a sandbox, nor where the policy forbids it: nothing is started, and nobody is asked', async () => {
  const lent = { ok: true, value: { files: ['.agent/auth.json'], hosts: [] } } as const
  const failure = { class: 'policy', message: 'the organisation lends no login', retryable: false } as const
  for (const [login, message] of [
    [lent, 'an agent may use your login only inside one'],
    [{ ok: false, failure } as const, 'lends no login'],
  ] as const) {
    const { outcomes, asked, left } = await planWith({ login })
    expect(outcomes).toMatchObject([
      { type: 'failed', begun: false, failure: { class: 'policy', message: expect.stringContaining(message) } },
    ])
    expect(asked).toEqual([])
    expect(left('brief.txt')).toBe(null)
  }
})

it('with `exceeded: fail` a budget that is used up ends the agent and fails the task: nobody is asked, nothing is tried again', async () => {
  const { state, task, outcomes, server } = await planWith({
    budget: { tokens: 450, exceeded: 'fail' },
    stays: true,
    task: { retry: { attempts: 3 } } as never,
  })
  expect(outcomes).toMatchObject([{ type: 'parked', failure: { class: 'policy', code: 'budget', retryable: false } }])
  expect(task).toMatchObject({ status: 'failed', attempt: 1 })
  expect(state.questions).toEqual([])
  expect(state.budget?.accounts.get('')?.spent.tokens).toBeLessThanOrEqual(450)
  expect(server.served.calls).toBe(2)
})

it('and where its criteria hold by then, the task is completed', async () => {
  const { state, task, outcomes } = await planWith({
    budget: { tokens: 450, exceeded: 'fail' },
    stays: true,
    task: { accept: [{ type: 'expect', expression: 'true' }] } as never,
  })
  expect(outcomes).toMatchObject([{ type: 'parked' }])
  expect(task.status).toBe('completed')
  expect(state.questions).toEqual([])
})

it('a bare name of a model is told to the agent as it is, and the default provider is asked', () => {
  const rowOf = (name: string) => stockRows().find(row => row.name === name)!
  const claude = rowOf('claude')
  const request = { use: 'claude', models: null, turns: null, command: null, protocol: 'lines' } as const
  expect(modelOf({ ...request, model: 'sonnet-x' }, claude)).toEqual({ use: null, name: 'sonnet-x' })
  expect(modelOf({ ...request, model: 'anthropic/sonnet-x' }, claude)).toEqual({
    ...{ use: 'anthropic/sonnet-x', name: 'sonnet-x' },
  })
  expect(modelOf({ ...request, model: null }, claude)).toEqual({ use: null, name: claude.model })
  expect(modelOf({ ...request, use: 'kimi', model: null }, rowOf('kimi'))).toMatchObject({ class: 'logic' })
  expect(filled(claude.env.ANTHROPIC_MODEL!, { model: 'sonnet-x' })).toBe('sonnet-x')
})
