// Checks an agent that is named to work a plan: is it known and installed, and which model does it use?

import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { Models } from '../../runners/models.ts'
import type { KnownAgent } from '../../runners/runner.ts'
import type { AgentWorker } from './agent-worker.ts'

/** `model`: its default; null: its own. `needsModel`: it has neither. */
export type StartableAgent = KnownAgent & { readonly model?: string | null }

/** Adds the default model of the settings, if the agent supports it. An agent with the user's login brings its own model. */
export function withStandardModel(
  agents: readonly KnownAgent[],
  { default: standard, models }: Awaited<ReturnType<Models['list']>>,
  withLogin: readonly string[],
): readonly StartableAgent[] {
  const found = models.find(({ name }) => name === standard)
  return agents.map(agent => {
    if (withLogin.includes(agent.name)) return { ...agent, model: null, needsModel: false }
    return agent.wire !== null && found?.wires.includes(agent.wire) === true
      ? { ...agent, model: found.name, needsModel: false }
      : agent
  })
}

export interface WorkerRequest {
  readonly agent: string
  /** `provider/name`; the agent's own if absent. */
  readonly model?: string | undefined
}

export type WorkerFound =
  | { readonly ok: true; readonly worker: AgentWorker }
  | { readonly ok: false; readonly refusal: Refusal }

export function findWorker(agents: readonly StartableAgent[], { agent, model }: WorkerRequest): WorkerFound {
  const no = (refusal: Refusal): WorkerFound => ({ ok: false, refusal })
  const names = `name one of ${agents.map(({ name }) => name).join(', ')}`
  if (agent === 'planfold') return no(refuse('invalid', 'Planfold has no agent of its own yet', names))
  const found = agents.find(({ name }) => name === agent)
  if (found === undefined) return no(refuse('invalid', `'${agent.slice(0, 60)}' is not a known agent`, names))
  if (found.status === 'missing') return no(refuse('not-ready', `${found.title} is not installed`, installHint(found)))
  if (found.needsModel && model === undefined)
    return no(
      refuse(
        'not-ready',
        `${found.title} has no model of its own, and the settings name none that it can ask`,
        'name the model, as PROVIDER/NAME, or choose a default in your settings that it can ask',
      ),
    )
  return { ok: true, worker: { agent, model: model ?? found.model ?? null } }
}

export const installHint = ({ install }: Pick<KnownAgent, 'install'>): string =>
  `${install === null ? 'install it' : `npm install -g ${install}`}; its program must be on PATH`
