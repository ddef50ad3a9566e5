// Request and response bodies of the service as plain types, for programs that only handle JSON. A test compares them with the
// schemas of the service.

import type { Actor, CheckpointName, PlanId, PlanName, Sha256, TaskId, TaskName } from '../domain/id.ts'
import type { Json } from '../domain/json.ts'

export type { Budget as BudgetBody } from '../format/wire/answers/budget.ts'
export type {
  Claim as ClaimBody,
  Heartbeat as HeartbeatBody,
  TaskMoved,
  TaskShown,
  Worker as WorkerBody,
} from '../format/wire/answers/claims.ts'
export type { Moved, PageOf } from '../format/wire/answers/fields.ts'
export type {
  CheckpointDiff as CheckpointDiffBody,
  Comparison as ComparisonBody,
  Forked as ForkMade,
} from '../format/wire/answers/forks.ts'
export type { Decided as GateDecided, Gate as GateBody } from '../format/wire/answers/people.ts'
export type {
  Plan as PlanBody,
  PlanChecked,
  PlanMade,
  PlanOverview as PlanItem,
  PlanPage,
} from '../format/wire/answers/plans.ts'
export type { Redraft as RedraftBody } from '../format/wire/answers/revisions.ts'
export type { Task as TaskBody } from '../format/wire/answers/tasks.ts'
export type {
  GatePage as GatePageBody,
  PlanState as PlanStateBody,
  TaskPageAnswer as TaskPageBody,
} from '../format/wire/answers/views.ts'

// The engine's types without their brands: the service validates what it receives, so callers may use plain strings.

type Branded = Actor | CheckpointName | PlanId | PlanName | Sha256 | TaskId | TaskName

/** The same type with `string` for names, ids and hashes. Maps with user-defined keys stay as they are. */
export type Plain<T> = T extends Branded
  ? string
  : T extends readonly (infer One)[]
    ? readonly Plain<One>[]
    : T extends object
      ? string extends keyof T
        ? T
        : { readonly [K in keyof T]: Plain<T[K]> }
      : T

/** A plan in the canonical format. The service reports keys that it does not know. */
export interface PlanDocument {
  readonly planfold?: 1
  /** Generated if absent, and numbered if already taken. */
  readonly name?: string
  readonly title?: string
  readonly tasks: readonly TaskDocument[]
  readonly [key: string]: unknown
}

/** Without an action key (`run`, `edit`, `gate` …) the task is external: an agent or person claims it and reports. */
export interface TaskDocument {
  readonly id: string
  readonly title?: string
  readonly description?: string
  readonly kind?: string
  readonly instruction?: string
  readonly needs?: string | readonly string[]
  readonly run?: unknown
  readonly edit?: unknown
  readonly gate?: unknown
  readonly inputs?: { readonly [name: string]: unknown }
  readonly [key: string]: unknown
}

export interface CreateOptions {
  readonly start?: boolean
  /** Overrides the name in the document. */
  readonly name?: string
  /** The format to read it as, instead of detecting it. */
  readonly from?: string
  readonly session_id?: string
  readonly goal_id?: string
  readonly agent_id?: string
}

export interface ForkWanted {
  /** A task (its end), `before:TASK`, a checkpoint, or the number of an entry. */
  readonly from: string | number
  readonly name?: string
  /** Inputs of tasks that are open in the fork, by `task.key`. */
  readonly inputs?: { readonly [place: string]: Json }
  readonly model?: string
  /** Work in the workspace instead of a separate folder. */
  readonly here?: boolean
}

export interface RedraftWanted {
  /** Comments on the draft; without a task, on all of it. */
  readonly comments: readonly {
    readonly task?: string | null
    readonly text: string
    readonly field?: string
    readonly line?: number
  }[]
  /** Total model budget, for example `{ calls: 40, tokens: '600k', cost: '3 USD' }`. */
  readonly budget?: { readonly calls?: number; readonly tokens?: number | string; readonly cost?: string }
  /** The planner; by default the one that made the draft. */
  readonly planner?: string
  readonly model?: string
  readonly template?: string
  /** Run the project's checks first, to see what fails today. */
  readonly look?: boolean
}

export interface WorkerWanted {
  /** The name of an agent installed where the service runs. */
  readonly agent: string
  /** `PROVIDER/NAME`; by default the agent's own model. */
  readonly model?: string
  /** Commit approved changes on the branch `plan/NAME`; has no effect without git. */
  readonly commit?: boolean
  /** Only this task; by default all that wait for a claim. */
  readonly task?: string
}
export interface ReportSaid {
  readonly status: 'completed' | 'failed'
  /** The claim's token. Without it, the claim must be yours, or there must be none. */
  readonly token?: string
  readonly outputs?: { readonly [name: string]: Json }
  readonly outcome?: string
  readonly error?: string
}

/** In the units of a plan file: `{ cost: '2 USD', time: '30m' }`. */
export interface BudgetMore {
  readonly task?: string
  readonly cost?: string
  readonly tokens?: number | string
  readonly calls?: number
  readonly attempts?: number
  readonly time?: string
  readonly output?: string
}
