// An agent that drafts a plan: one turn in a sandbox in which it can write nothing, outside of any plan. What it submits with its plan
// tools is the draft.

import type { PlanId, TaskName } from '../../domain/id.ts'
import type { ModelUse } from '../../domain/model-use.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { AGENT_NAMES, isAgentName } from '../../domain/plan-rules/agent-request.ts'
import type { Failure } from '../../domain/result.ts'
import { failure } from '../../safety/safety-refusal.ts'
import type { Sandbox } from '../../safety/sandbox/sandbox.ts'
import { processTree } from '../run/process-tree.ts'
import type { Attempt, RunnerTools } from '../runner.ts'
import { type AgentRunnerOptions, agentRunner } from './agent-runner.ts'

export interface DraftingRequest extends Omit<AgentRunnerOptions, 'tree'> {
  readonly agent: string
  readonly model?: string
  readonly instruction: string
  readonly signal: AbortSignal
  readonly root: string
  readonly stateDir: string
  readonly environment: RunnerTools['environment']
  readonly about: string
  readonly monotonic: () => number
  /** Of its own, taken away afterwards. */
  readonly folder: string
  readonly sandbox: Sandbox
  /** What was submitted last; null when nothing was. */
  readonly submitted: () => Promise<PlanDefinition | null>
}

type Draft =
  | { readonly ok: true; readonly definition: PlanDefinition; readonly used: Omit<ModelUse, 'recording'> | null }
  | { readonly ok: false; readonly failure: Failure }

const DRAFTING_MS = 30 * 60_000

export async function draftWithAgent(request: DraftingRequest): Promise<Draft> {
  const { agent, model, instruction, signal, sandbox, folder, submitted } = request
  if (!isAgentName(agent))
    return no(
      failure(
        'logic',
        `'${agent}' is no agent that can be started by its name`,
        `write one of ${AGENT_NAMES.join(', ')}`,
      ),
    )
  const standing = await sandbox.check()
  if (!standing.ok) return no(standing.failure)
  let said = ''
  const tools: RunnerTools = {
    root: request.root,
    stateDir: request.stateDir,
    owner: `draft-${process.pid}`,
    write: [],
    environment: request.environment,
    about: request.about,
    evaluate: () => ({ ok: false, message: 'nothing is evaluated here' }),
    log: (stream, chunk) => {
      if (stream !== 'engine') said = `${said}${Buffer.from(chunk).toString('utf8')}`.slice(-SAID_MAX)
    },
    monotonic: request.monotonic,
    sandbox: { room: sandbox, network: 'none', isRequired: true },
    agent: {
      facts: { plan: '', goal: null, decisions: [], earlier: [], changed: { paths: [], more: 0 } },
      readOnly: true,
      place: folder,
      permit: async () => 'no',
    },
  }
  const action = { type: 'agent', spec: { use: agent, ...(model === undefined ? {} : { model }) } } as const
  const task = 'draft' as TaskName
  const definition: TaskDefinition = { id: task, action, instruction }
  const attempt: Attempt = {
    ...{ plan: NO_PLAN, task, visit: 1, attempt: 1, key: `draft/${folder}`, definition, action },
    ...{ inputs: {}, env: {}, timeoutMs: DRAFTING_MS },
  }
  const stop = { aborted: signal.aborted, signal }
  const outcome = await agentRunner({ ...request, tree: processTree() }).attempt(attempt, tools, stop)
  if (outcome.type === 'interrupted')
    return no({ class: 'cancelled', code: 'model:cancelled', message: 'stopped on request', retryable: false })
  const drafted = await submitted()
  const used = 'model' in outcome ? (outcome.model?.use ?? null) : null
  // A turn that ended badly may have submitted a plan before.
  if (drafted !== null) return { ok: true, definition: drafted, used }
  if (outcome.type === 'failed') return no(outcome.failure)
  const last = said.trim().split('\n').at(-1)?.slice(0, 300) ?? ''
  return no({
    ...failure(
      'logic',
      `${agent} submitted no plan${last === '' ? '' : `; it said last: ${last}`}`,
      'try again, or draft with another planner',
    ),
    code: 'planner:draft',
  })
}

const SAID_MAX = 10_000
const NO_PLAN = '00000000-0000-7000-8000-000000000000' as PlanId
const no = (failure: Failure): Draft => ({ ok: false, failure })
