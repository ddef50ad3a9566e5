// Sessions, and plans as the session task planner describes them.

import type { Json, JsonObject } from '../../../domain/json.ts'
import type { PlanStatus, TaskStatus } from '../../../domain/status.ts'
import type { Int, Loose, PageOf, PlanNamed, PlanTimes, SessionWord, StepWord, Time } from './fields.ts'
import type { GoalAnalysis } from './goals.ts'
import type { Surroundings } from './plans.ts'

export interface Session {
  readonly id: string
  readonly title: string
  readonly status: 'open' | 'closed'
  readonly messages: Int
  readonly version: Int
  readonly created_at: Time
  readonly updated_at: Time
}

export type SessionList = PageOf<Session>

export interface Message {
  /** Rises with every message of the session; hand it back as `after`. */
  readonly id: Int
  readonly session_id: string
  readonly role: 'user' | 'agent' | 'system'
  readonly text: string
  readonly data?: Json
  /** The plan that was made with it. */
  readonly plan_id?: string
  readonly by: string
  readonly at: Time
}

export interface SessionMoved {
  readonly session_id: string
  readonly status: 'paused' | 'resumed'
  /** Those it was done to. */
  readonly plans: readonly (PlanNamed & { readonly version: Int })[]
  /** Those it could not be done to; the others do not wait for them. */
  readonly refused: readonly (PlanNamed & { readonly detail: string; readonly hint: string | null })[]
}

export type MessageList = PageOf<Message>

export interface SessionStep {
  /** The name of the task in its plan. */
  readonly id: string
  readonly task_id: string
  readonly title: string | null
  readonly description: string
  readonly tool: string | null
  readonly params: JsonObject
  readonly dependencies: readonly string[]
  readonly retryable: boolean
  readonly max_retries: Int
  readonly status: StepWord
  readonly state: TaskStatus
  readonly result: {
    readonly success: boolean
    readonly output: Json
    readonly error: string | null
    readonly retries: Int
    readonly duration_ms: number | null
  } | null
  readonly start_time: Time | null
  readonly end_time: Time | null
}

export interface SessionPlan extends PlanTimes {
  readonly id: string
  readonly name: string
  readonly session_id: string | null
  readonly description: string
  readonly status: SessionWord
  readonly state: PlanStatus
  readonly reason: string | null
  readonly steps: readonly SessionStep[]
  /** How many steps have ended. */
  readonly current_step: Int
  readonly cloned_from: string | null
  readonly revision: Int
  readonly version: Int
}

export interface SessionPlanMade extends SessionPlan {
  /** Who made steps of the description; null when a document says them. */
  readonly planner: string | null
  readonly analysis?: GoalAnalysis
  /** How the steps came about. */
  readonly planned: string
  readonly auto_execute: boolean
  readonly replayed?: true
}

export type SessionPlanList = readonly SessionPlan[]
export type SessionPlanPage = PageOf<SessionPlan>

export interface SessionHistory {
  readonly plans: readonly {
    readonly id: string
    readonly name: string
    readonly description: string
    readonly status: SessionWord
    readonly state: PlanStatus
    readonly created_at: Time
    readonly updated_at: Time
    readonly completed_at: Time | null
    readonly step_count: Int
    readonly completed_steps: Int
    /** In milliseconds; null before it was started. */
    readonly duration: number | null
  }[]
  /** Null when a cursor was used. */
  readonly page: Int | null
  readonly limit: Int
  /** Null when a cursor was used: counting is for pages. */
  readonly total: Int | null
  readonly total_pages: Int | null
  readonly next: string | null
}

export interface Checkpoint {
  readonly id: string
  readonly plan_id: string
  readonly step_id: string | null
  readonly timestamp: Time
  /** The entry of the journal it stands behind. */
  readonly version: Int
  readonly why: 'after' | 'asked' | 'task' | 'every' | 'risky' | 'ended'
  readonly paths: Int | null
  /** Are all files of then stored? */
  readonly has_files: boolean
  readonly git_head: string | null
  readonly description: string
}

export type CheckpointList = readonly Checkpoint[]
export type CheckpointPage = PageOf<Checkpoint>

export interface Execution {
  readonly plan_id: string
  readonly step_id: string
  readonly visit: Int
  readonly attempt: Int
  readonly status: 'running' | 'success' | 'failed' | 'lost'
  readonly started_at: Time
  readonly completed_at: Time | null
  readonly duration_ms: number | null
  readonly retries: Int
  readonly exit: Int | null
  readonly error_class: string | null
}

export interface ExecutionMetrics {
  readonly total_steps: Int
  readonly completed_steps: Int
  readonly failed_steps: Int
  readonly skipped_steps: Int
  readonly total_attempts: Int
  readonly total_retries: Int
  readonly total_duration_ms: number
  readonly avg_step_duration_ms: number
  /** Attempts that succeeded, of all that ended; one that was lost did not succeed. */
  readonly success_rate: number | null
  readonly tools_used: readonly string[]
}

export interface SessionPlanStatus extends PlanNamed, PlanTimes {
  readonly status: SessionWord
  readonly state: PlanStatus
  readonly reason: string | null
  readonly description: string
  readonly progress: number
  readonly running: readonly string[]
  readonly waiting: readonly { readonly task: string; readonly asks: string; readonly since: Time }[]
  readonly executions: readonly Execution[]
  readonly metrics: ExecutionMetrics
  readonly version: Int
}

export interface Analysis extends Loose {
  readonly plan_id: string
  readonly total_steps: Int
  readonly max_parallelism: Int
  readonly critical_path: readonly string[]
  readonly parallel_groups: readonly (readonly string[])[]
  readonly estimated_speedup: number
  readonly findings: readonly {
    readonly code: string
    readonly severity: string
    readonly message: string
    readonly [key: string]: unknown
  }[]
  readonly surroundings: Surroundings
}

type GitOperation = Loose & { readonly type: string; readonly at: Time; readonly task?: string }
export type GitOperationList = readonly GitOperation[]
export type GitOperationPage = PageOf<GitOperation>

export interface FullPlan {
  readonly plan: SessionPlan
  readonly executions: readonly Execution[]
  readonly metrics: ExecutionMetrics
  readonly checkpoints: readonly Checkpoint[]
  readonly stats: {
    readonly total_duration: number
    readonly success_rate: number | null
    readonly execution_count: Int
  }
  readonly modified_files: readonly { readonly path: string; readonly change: 'created' | 'changed' | 'deleted' }[]
  readonly git_operations: readonly GitOperation[]
}
