// An agent that somebody names to work a plan: is it known, and is it installed here?

import { AGENT_NAMES, isAgentName } from '../../domain/plan-rules/agent-request.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { KnownAgent } from '../../runners/runner.ts'
import type { AgentWorker } from './agent-worker.ts'

export interface WorkerRequest {
  readonly agent: string
  /** `provider/name`; the agent's own when absent. */
  readonly model?: string | undefined
}

export type WorkerFound =
  | { readonly ok: true; readonly worker: AgentWorker }
  | { readonly ok: false; readonly refusal: Refusal }

export function findWorker(agents: readonly KnownAgent[], { agent, model }: WorkerRequest): WorkerFound {
  const no = (refusal: Refusal): WorkerFound => ({ ok: false, refusal })
  if (agent === 'planfold')
    return no(refuse('invalid', 'Planfold has no agent of its own yet', `name one of ${AGENT_NAMES.join(', ')}`))
  if (!isAgentName(agent))
    return no(
      refuse('invalid', `'${agent.slice(0, 60)}' is not a known agent`, `name one of ${AGENT_NAMES.join(', ')}`),
    )
  const found = agents.find(({ name }) => name === agent)
  if (found === undefined || found.status === 'missing')
    return no(refuse('not-ready', `${found?.title ?? agent} is not installed`, installHint(found?.install ?? agent)))
  return { ok: true, worker: { agent, model: model ?? null } }
}

const installHint = (install: string): string => `npm install -g ${install}; its program must be on PATH`
