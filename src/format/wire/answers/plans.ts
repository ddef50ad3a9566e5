// Plans: one, a page, a new one, and the results of actions on one.

import type { Json, JsonObject } from '../../../domain/json.ts'
import type { PlanStatus } from '../../../domain/status.ts'
import type { Counts, Int, Loose, Moved, PageOf, PlanTimes, Time } from './fields.ts'

interface PlanFields extends PlanTimes {
  readonly id: string
  readonly name: string
  readonly title: string | null
  readonly goal_id: string | null
  readonly agent_id: string | null
  readonly session_id: string | null
  /** In the words of the PlanStore. */
  readonly status: PlanStatus
  /** In the words of Planfold. */
  readonly state: PlanStatus
  readonly revision: Int
  /** Counts what happened to it; its ETag. */
  readonly version: Int
  readonly archived: boolean
}

/** What the row of a plan tells by itself. */
interface ShortProgress {
  readonly total: Int
  /** Completed or skipped. */
  readonly done: Int
  readonly ratio: number
}

type Progress = ShortProgress & { readonly ended: Int; readonly counts: Counts }

export interface Plan extends PlanFields {
  readonly description: string | null
  readonly owner: string | null
  readonly labels: readonly string[]
  /** Of a plan that does not say: `sequential` when each task needs the one before it, else `parallel`. */
  readonly plan_type: string
  /** The outline as it was sent; of a plan that was sent as a list of steps, its tasks in that format. */
  readonly steps: readonly Json[]
  readonly current_step: Int
  /** What clients said; the times beside it are ours. */
  readonly client: { readonly started_at: string | null; readonly completed_at: string | null }
  readonly reason: string | null
  /** It is paused because the engine lacks this; no task failed by it, and it goes on by itself. */
  readonly shortage?: {
    readonly kind: 'disk-full' | 'open-files' | 'processes' | 'unavailable'
    /** As the operating system says it, such as ENOSPC. */
    readonly code: string
    readonly message: string
    readonly hint: string
  }
  /** The plan it was made from. */
  readonly origin: string | null
  readonly progress: Progress
  /** Whatever else was sent. */
  readonly extra: JsonObject
}

export interface PlansArchived {
  readonly archived: readonly string[]
  /** There is no such plan. */
  readonly missing: readonly string[]
  readonly refused: readonly { readonly id: string; readonly detail: string; readonly hint: string | null }[]
}

export interface PlanOrdered {
  readonly plan_id: string
  readonly revision: Int
  readonly version: Int
  readonly order: readonly string[]
}

interface Warning {
  readonly message: string
  readonly hint?: string
  readonly path?: string
  readonly line: Int
  readonly column: Int
}

export interface PlanChecked {
  readonly status: 'dry_run'
  readonly name: string
  /** It would be numbered. */
  readonly name_taken: boolean
  readonly title: string | null
  readonly tasks: Int
  /** It would be started at once. */
  readonly start: boolean
  readonly warnings: readonly Warning[]
  readonly surroundings: Surroundings
  /** What would be made, in the canonical format. */
  readonly document: JsonObject
}

export type PlanMade = Plan & { readonly replayed?: true; readonly warnings?: readonly Warning[] }

export interface PlanItem extends PlanFields {
  readonly description: string | null
  readonly tasks: Int
  readonly done: Int
  /** The first of what the plan itself tells of its progress. */
  readonly progress: ShortProgress
}

export interface PlanOverview extends PlanItem {
  /** How many tasks stand how, in the words of Planfold. */
  readonly counts: Counts
  readonly running: Int
  /** Tasks that failed or were given up. */
  readonly failed: Int
  /** How many items of it are in the inbox; null when its journal is damaged. */
  readonly waiting: Int | null
  /** What ended attempts used; null when none tells. */
  readonly tokens: number | null
  /** In dollars, or as agents said. */
  readonly cost: number | null
}

export interface PlanPage extends PageOf<PlanOverview> {
  /** How many match, on all pages. */
  readonly total: Int
  /** How many match in each state, in the words of Planfold, whatever `status` and `waiting` ask for. */
  readonly states: Counts
  /** False when tokens and cost may lack what happened last. */
  readonly complete: boolean
}

interface AttemptNumbers {
  readonly attempts: Int
  readonly succeeded: Int
  readonly failed: Int
  readonly lost: Int
  readonly retries: Int
  /** Attempts that succeeded, of all that ended; one that was lost did not succeed. */
  readonly success_rate: number | null
  readonly duration_ms: Int
}

export interface PlanMetrics extends AttemptNumbers {
  readonly plan_id: string
  readonly progress: Progress
  readonly elapsed_ms: number | null
  /** What completed tasks say in their `output_data`. Said, not measured; null when none says any. */
  readonly reported: {
    readonly files_modified: readonly string[]
    readonly tests_added: number
    readonly lines_changed: number
    /** As it was said last. */
    readonly coverage: number | null
    readonly artifacts: readonly string[]
  } | null
  readonly kinds: readonly (AttemptNumbers & { readonly kind: string | null })[]
}

export interface PlanExecuted extends Moved {
  readonly status: 'execution_started'
  /** It was under way already; nothing was started twice. */
  readonly attached: boolean
  readonly message?: string
  /** It had failed and goes on: what becomes of its tasks. */
  readonly went_on?: {
    readonly stay_done: Int
    readonly run_again: readonly string[]
    readonly added: readonly string[]
    readonly not_run_yet: Int
  }
}

export interface PlanOrderDone extends Moved {
  /** `cancelling`: what it has begun is ended, and undone, first. */
  readonly status: 'paused' | 'resumed' | 'cancelling' | 'cancelled'
}

type FilePreview = Loose & { readonly path: string; readonly will: 'restore' | 'create' | 'delete' | 'chmod' | 'leave' }

export type RolledBack =
  | (Moved & {
      readonly status: 'rollback_started' | 'rollback_completed' | 'rollback_stopped'
      readonly checkpoint_id: string | null
      readonly to: Int
      /** What was changed, once it has ended. */
      readonly outcome: JsonObject | null
    })
  | {
      readonly status: 'dry_run'
      readonly plan_id: string
      readonly name: string
      readonly checkpoint_id: string | null
      readonly to: Int
      readonly files: readonly FilePreview[]
      /** Somebody has worked there since, and nobody chose. */
      readonly conflicts: readonly FilePreview[]
      readonly choices: readonly ('keep' | 'take' | 'merge')[]
      readonly tasks: readonly { readonly task: string; readonly status: string; readonly [key: string]: unknown }[]
      readonly compensate: readonly string[]
      readonly stays: readonly { readonly task: string; readonly why: string; readonly [key: string]: unknown }[]
      /** Decisions of people about tasks that will run again; they are asked again. */
      readonly decisions_lost: readonly {
        readonly task: string
        readonly verdict: string
        readonly [key: string]: unknown
      }[]
      readonly git: readonly Loose[]
      readonly kept: readonly { readonly path: string; readonly sha256: string; readonly [key: string]: unknown }[]
    }

export type CheckpointMade = Moved & { readonly id: string; readonly at: Time }
export type GoalPlans = PageOf<PlanItem>

/** What policies, secrets and databases around the service will refuse, or ask about. */
export type Surroundings = readonly {
  /** error: it will not start. */
  readonly severity: 'error' | 'warning'
  readonly task?: string
  readonly message: string
  readonly hint?: string
}[]
