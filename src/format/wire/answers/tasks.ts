// Tasks as the PlanStore describes them, and their evaluations.

import type { Json, JsonObject } from '../../../domain/json.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import type { Int, PageOf, TaskWord, Time } from './fields.ts'

export interface Task {
  readonly id: string
  readonly name: string
  readonly plan_id: string
  readonly plan_name: string
  readonly agent_id: string | null
  readonly title: string | null
  readonly description: string | null
  readonly task_type: string | null
  /** How it is carried out; `external`: somebody claims it and reports. */
  readonly action: string
  readonly input_data: JsonObject
  readonly output_data: Json | null
  /** In the words of the PlanStore. */
  readonly status: TaskWord
  /** In the words of Planfold. */
  readonly state: TaskStatus
  readonly sequence_order: Int
  /** Names of the tasks it needs. */
  readonly depends_on: readonly string[]
  readonly priority: Int
  readonly labels: readonly string[]
  readonly optional: boolean
  readonly claimed_by: string | null
  readonly reason: string | null
  readonly visit: Int
  readonly attempt: Int
  readonly created_at: Time
  readonly started_at: Time | null
  readonly completed_at: Time | null
  /** What clients said; the times beside it are ours. */
  readonly client: { readonly started_at: string | null; readonly completed_at: string | null }
  /** Whatever else was sent. */
  readonly extra: JsonObject
}

export interface TaskChanged extends Task {
  /** Of a task that was set running: for heartbeats, and for reports by others. */
  readonly claim?: { readonly token: string; readonly expires_in_seconds: number }
}

export interface Evaluation {
  readonly id: string
  readonly task_id: string
  readonly visit: Int
  readonly score: number | null
  readonly passed: boolean | null
  readonly metrics: JsonObject
  readonly notes: string | null
  readonly evaluator: string
  /** The actor who said it. */
  readonly by: string
  readonly created_at: Time
}

export type EvaluationPage = PageOf<Evaluation>
export type TasksMade = Task | readonly Task[]
export type TaskPage = PageOf<Task>
type TaskNear = { readonly id: string; readonly name: string; readonly status: TaskWord; readonly state: TaskStatus }

export interface TaskDependencies {
  readonly task_id: string
  readonly name: string
  readonly depends_on: readonly TaskNear[]
  readonly needed_by: readonly TaskNear[]
  /** Names of those it still waits for. */
  readonly unmet: readonly string[]
}
