// How a command learns which coding agent works a plan, from the extra that starts agents.

import type { AgentWorker } from '../operations/agents/agent-worker.ts'
import type { CallerEngine } from '../operations/run-plan.ts'
import type { Context } from './context.ts'

export interface WorkerChoice {
  /** Null: without a terminal to ask at, or the person wants the tasks to wait for a claim. */
  workerFor(
    context: Context,
    engine: Pick<CallerEngine, 'ask'> | null,
    options: WorkerOptions,
  ): Promise<AgentWorker | null>
}

export interface WorkerOptions {
  readonly with?: string
  readonly model?: string
}
