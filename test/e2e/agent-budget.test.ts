// Needs the extras: agents

import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as anyTest, describe, expect, onTestFinished } from 'vitest'
import { type AgentStep, agentScript } from '../../src/extras/agents/agent-script.ts'
import { makeTestFolder } from '../../src/extras/agents/test-agent.ts'
import type { ScriptedRequest } from '../../src/testing/model-protocols.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { type TestAgent, testAgents } from '../agents/installed.ts'
import { MAIN } from './planfold.fixture.ts'

// A coding agent (a small one of our own; with PLANFOLD_REAL_AGENTS=1 Grok Build) with too small a budget: it is parked, a person gives more, and its conversation goes on.

const AGENTS = await testAgents()

/** Too few for all it does, and enough for one request: the instructions of a real agent alone are thousands of tokens long. */
const TOKENS = { scripted: 1_500, grok: 32_000 } as const
const planFor = ({ name }: TestAgent): string => `planfold: 1
name: repair
policy: { budget: { tokens: ${TOKENS[name]} } }
tasks:
  - id: fix
    agent: { use: grok, model: openai-chat/scripted }
    instruction: "Make the test pass. [script go]"
    write: [sum.js]
    retry: { attempts: 1 }
    accept: [{ check: [node, test.js] }]
`

interface Inbox {
  readonly data?: { readonly items: readonly { readonly id: string }[] }
}

interface Usage {
  readonly data: { readonly total: { readonly calls: number; readonly usage: { readonly [name: string]: number } } }
}

type Answer = (request: ScriptedRequest, index: number) => Promise<object>

/** A repository with a failing test, a plan, and a model that counts four bytes of what is asked as a token, as real ones do. */
async function setup(agent: TestAgent, name: string, steps: readonly AgentStep[], around: (answer: Answer) => Answer) {
  const folder = join(import.meta.dirname, '../../.cache', `agent-budget-${name}-${agent.name}-${process.pid}`)
  const root = join(folder, 'work')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'home'), { recursive: true })
  makeTestFolder(root)
  writeFileSync(join(root, 'plan.yaml'), planFor(agent))
  const answer = around(agentScript({ root, scripts: { go: steps } }) as Answer)
  const model = await scriptedModel(async (request, index) => ({
    ...(await answer(request, index)),
    usage: {
      input: Math.ceil(request.body.length / 4),
      output: Math.min(60, request.outputTokensMax ?? 60),
      cacheRead: 0,
    },
  }))
  onTestFinished(() => model.close())
  const env = {
    PATH: `${agent.path}:${process.env.PATH}`,
    HOME: join(folder, 'home'),
    LANG: 'C.UTF-8',
    PLANFOLD_AS: 'ana@example.com',
    PLANFOLD_DIR: join(root, '.planfold'),
    ...model.environment(),
  }
  const planfold = async (
    ...argv: readonly string[]
  ): Promise<{ readonly code: number | null; readonly out: string }> => {
    const child = spawn(process.execPath, [MAIN, ...argv], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let out = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        out += text
      })
    return await new Promise(resolve => child.once('close', code => resolve({ code, out })))
  }
  const isFixed = (): boolean => readFileSync(join(root, 'sum.js'), 'utf8').includes('a + b')
  return { root, model, planfold, isFixed }
}

describe.each([AGENTS.findLast(({ missing }) => missing === null) ?? AGENTS[0]!])('$name', agent => {
  const test = anyTest.skipIf(agent.missing !== null)
  test('half a budget parks the agent, more lets it finish, and it is never passed', async () => {
    let parkings = 0
    const steps = [
      { read: 'sum.js' },
      { read: 'test.js' },
      { edit: ['sum.js', 'a - b', 'a + b'] },
      { say: 'Fixed.' },
    ] as const
    // Taken up again, it goes on with the step after the last one that was answered.
    const { model, planfold, isFixed } = await setup(agent, 'parked', steps, script => request => {
      const brief = request.messages.findIndex(({ role, text }) => role === 'user' && text.includes('[script go]'))
      const messages = request.messages.filter(({ role }, at) => at <= brief || role !== 'user')
      return script({ ...request, messages }, 0)
    })
    let run = await planfold('run', 'plan.yaml')
    let cap: number = TOKENS[agent.name]
    for (; run.code !== 0 && parkings < 6; run = await planfold('run', 'plan.yaml')) {
      parkings += 1
      expect(run.out).toContain('the budget is used up')
      expect(model.served.input + model.served.output).toBeLessThanOrEqual(cap)
      const { data } = JSON.parse((await planfold('inbox', '--json')).out) as Inbox
      const answered = await planfold('answer', 'repair', data?.items[0]?.id ?? 'nobody asks', 'more=yes')
      expect(answered.code, answered.out).toBe(0)
      cap += Number(/added ([\d,]+) tokens/.exec(answered.out)?.[1]?.replaceAll(',', ''))
    }
    expect(run.code, run.out).toBe(0)
    expect(parkings).toBeGreaterThan(0)
    expect(isFixed()).toBe(true)
    const { served, requests } = model
    expect(served.input + served.output).toBeLessThanOrEqual(cap)
    const { total } = (JSON.parse((await planfold('models', 'usage', '--json')).out) as Usage).data
    expect(total).toMatchObject({
      calls: served.calls,
      usage: { inputTokens: served.input, outputTokens: served.output },
    })
    // The conversation went on: what was said before the budget was used up is in the last request.
    expect(requests.at(-1)?.messages.some(({ role }) => role === 'tool')).toBe(true)
  })

  test('what was done when the budget is used up is judged: where the criteria hold, the task is completed', async () => {
    const steps = [
      { edit: ['sum.js', 'a - b', 'a + b'] },
      ...Array.from({ length: 12 }, () => ({ read: 'test.js' })),
      { say: 'Fixed.' },
    ] as const
    const { model, planfold, isFixed } = await setup(agent, 'judged', steps, script => script)
    const run = await planfold('run', 'plan.yaml')
    expect(isFixed()).toBe(true)
    expect(run.code, run.out).toBe(0)
    expect(run.out).toContain('the budget is used up')
    // Nobody needs to answer any more.
    expect((JSON.parse((await planfold('inbox', '--json')).out) as Inbox).data?.items).toEqual([])
    expect(model.requests.length).toBeLessThan(steps.length)
  })
})
