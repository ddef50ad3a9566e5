// Tests a coding agent: a small folder with a failing test, a plan with one `agent` task, and a model that follows a script. No real model
// is called, and the workspace is not touched. The agent fits only if the test passes afterwards.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PlanId, TaskName } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { EngineInProcess, Worker } from '../../engine/engine.ts'
import { parsePlan } from '../../format/plan/parse.ts'
import { setGoing } from '../../operations/start-plan.ts'
import type { AgentRow } from './agent-settings.ts'

export interface AgentTest {
  readonly agent: string
  readonly fits: boolean
  readonly why: string | null
  readonly hint: string | null
  readonly durationMs: number
  /** Its calls to the model, by our count. */
  readonly calls: number | null
  readonly tokens: number | null
  readonly log: string
}

export interface AgentTestRoom {
  readonly engine: EngineInProcess
  readonly worker: Worker
  readonly monotonic: () => number
  readonly signal: AbortSignal
}

export const TEST_SCRIPT = 'edit'

/** The answers of the model, step by step; see `agent-script.ts`. */
export const TEST_STEPS = [
  { read: 'sum.js' },
  { edit: ['sum.js', 'a - b', 'a + b'] },
  { shell: 'node test.js' },
  { say: 'Fixed.' },
] as const

export function makeTestFolder(root: string): void {
  mkdirSync(root, { recursive: true })
  writeFileSync(join(root, 'sum.js'), 'module.exports = (a, b) => a - b\n')
  writeFileSync(
    join(root, 'test.js'),
    "const sum = require('./sum')\nif (sum(2, 3) !== 5) {\n  console.error('FAIL')\n  process.exit(1)\n}\nconsole.log('PASS')\n",
  )
}

/** The model name under which the script answers, by protocol. */
const TEST_MODELS: { readonly [wire in NonNullable<AgentRow['wire']>]: string } = {
  anthropic: 'anthropic/scripted',
  'openai-chat': 'local/scripted',
  'openai-responses': 'openai/scripted',
  gemini: 'google/gemini-2.5-pro',
}
export const testModel = (wire: AgentRow['wire']): string => TEST_MODELS[wire ?? 'openai-chat']

const FIX = 'fix' as TaskName

export const testPlanText = (agent: string): string => `planfold: 1
name: agent-test
goal: sum.js adds
defaults: { timeout: 3m }
tasks:
  - id: fix
    agent: ${agent}
    instruction: "Make the test pass. [script ${TEST_SCRIPT}]"
    write: [sum.js]
    retry: { attempts: 1 }
    accept: [{ check: [node, test.js] }]
`

export async function testAgent(
  { engine, worker, monotonic, signal }: AgentTestRoom,
  agent: string,
  model: string,
): Promise<AgentTest> {
  const began = monotonic()
  const definition = definitionOf(testPlanText(JSON.stringify({ use: agent, model })))
  const made = await engine.submit(null, { type: 'create', definition })
  if (!made.ok) throw new Error(`bug: ${made.refusal.message}`)
  const plan = made.plan as PlanId
  const going = await setGoing(engine, plan)
  if (going.status === 'refused') throw new Error(`bug: ${going.refusal.message}`)
  let log = ''
  const onOutput = (_: TaskName, text: string): void => {
    log += text
  }
  await worker.drive(plan, { stop: signal, onOutput })
  const card = await engine.ask({ type: 'task', plan, task: FIX })
  const entries = (await engine.ask({ type: 'entries', plan })) ?? []
  const results = entries.flatMap(({ events }) => events).flatMap(event => ('result' in event ? [event.result] : []))
  const result = results.at(-1)
  const failure = result?.status === 'failed' ? result.failure : null
  return {
    agent,
    fits: card?.status === 'completed',
    why: failure?.message ?? (card?.status === 'completed' ? null : (card?.reason ?? 'it was not carried out')),
    hint: typeof failure?.hint === 'string' ? failure.hint : null,
    durationMs: Math.round(monotonic() - began),
    calls: result?.model?.calls ?? null,
    tokens: result?.model === undefined ? null : result.model.usage.inputTokens + result.model.usage.outputTokens,
    log,
  }
}

function definitionOf(text: string): PlanDefinition {
  const parsed = parsePlan(text)
  if (!parsed.ok) throw new Error(`bug: the plan of the test is not one: ${JSON.stringify(parsed)}`)
  return parsed.definition
}
