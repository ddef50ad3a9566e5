// What is asked of the extra that starts coding agents.

import type { TaskName } from '../../domain/id.ts'
import type { ModelUse } from '../../domain/model-use.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { AgentLogin } from '../../domain/plan-rules/agent-request.ts'
import type { Failure } from '../../domain/result.ts'
import type { EngineInProcess } from '../../engine/engine.ts'
import type { ModelCaps, Models, ModelsPlace } from '../../runners/models.ts'
import type { KnownAgent, ProcessTree, Runner } from '../../runners/runner.ts'
import type { SettingsPlace } from '../../safety/files/user-settings.ts'
import type { StartableAgent } from './worker-request.ts'

export interface CodingAgents {
  openRunner(parts: AgentRunnerParts): Promise<Runner>
  /** Those that are known, installed or not. */
  listAgents(place: SettingsPlace): Promise<readonly KnownAgent[]>
  /** The same, each with the model that it would ask. */
  startableAgents(place: SettingsPlace): Promise<readonly StartableAgent[]>
  /** How an agent is signed in on this machine; null: it has no login that could be used. */
  loginOf(place: SettingsPlace, agent: string): Promise<AgentLogin | null>
  /** Those that may use the person's own login. */
  agentsWithLogin(place: SettingsPlace): Promise<readonly string[]>
  /** What is wrong with the agents that a plan names. */
  agentFaults(place: SettingsPlace, named: readonly NamedAgent[]): Promise<readonly AgentFault[]>
  /** Drafting by an agent, which only reads. */
  openDrafting(place: ModelsPlace & { readonly models: Models }): DraftWithAgent
}

export interface AgentRunnerParts {
  readonly tree: ProcessTree
  readonly models: Pick<Models, 'openGateway'>
  /** For the plan tools of an agent; opened after its runner. */
  readonly engine: () => EngineInProcess
  readonly now: () => number
  readonly stateDir: string
}

export interface NamedAgent {
  readonly task: TaskName
  readonly name: string
}

/** Without a task: about the person's own list of agents. */
export interface AgentFault {
  readonly task?: TaskName
  readonly message: string
  readonly hint: string
}

/** Starts an agent that may only read, and answers with the plan it submitted last. */
export type DraftWithAgent = (request: {
  readonly agent: string
  readonly model?: string
  readonly instruction: string
  /** What is drafted: an earlier drafting of the same that was cut short is taken up. */
  readonly what: readonly string[]
  /** What it may use; absent: what the settings say. */
  readonly budget?: ModelCaps
  /** Asks the person whether more may be used. */
  readonly more?: (question: string) => Promise<boolean>
  /** What the person should know while it works. */
  readonly tell?: (note: string) => void
  readonly signal: AbortSignal
}) => Promise<AgentDraft>

export type AgentDraft =
  | {
      readonly ok: true
      readonly definition: PlanDefinition
      readonly used: Pick<ModelUse, 'model' | 'calls' | 'usage' | 'cost'> | null
    }
  | { readonly ok: false; readonly failure: Failure }
