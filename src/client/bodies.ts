// What is sent to the service and comes back from it, as plain types: whoever has only JSON needs nothing else. A test holds them
// against the schemas of the service.

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

// The door's types without their brands: what is sent is checked where it arrives, so a caller may write names as plain text.

type Branded = Actor | CheckpointName | PlanId | PlanName | Sha256 | TaskId | TaskName

/** The same, with text wherever a name, an id or a hash stands. Maps hold what clients wrote themselves, and stay as they are. */
export type Plain<T> = T extends Branded
  ? string
  : T extends readonly (infer One)[]
    ? readonly Plain<One>[]
    : T extends object
      ? string extends keyof T
        ? T
        : { readonly [K in keyof T]: Plain<T[K]> }
      : T

/** A plan as it is written, in the canonical format. The service knows every key and says which one it does not. */
export interface PlanDocument {
  readonly planfold?: 1
  /** One is made when it has none, and numbered when it is taken. */
  readonly name?: string
  readonly title?: string
  readonly tasks: readonly TaskDocument[]
  readonly [key: string]: unknown
}

/** Without `run`, `edit`, `gate` … it is external: somebody claims it and reports. */
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
  /** Start it at once. */
  readonly start?: boolean
  /** Instead of the one the document says. */
  readonly name?: string
  /** The format it is read as, whatever it looks like. */
  readonly from?: string
  readonly session_id?: string
  readonly goal_id?: string
  readonly agent_id?: string
}

export interface ForkWanted {
  /** A task (where it had ended), `before:TASK`, a checkpoint, or the number of an entry. */
  readonly from: string | number
  readonly name?: string
  /** Of tasks that are open there, by `task.key`. */
  readonly inputs?: { readonly [place: string]: Json }
  readonly model?: string
  /** Work in the workspace, instead of in a folder of its own. */
  readonly here?: boolean
}

export interface RedraftWanted {
  /** What was said about the draft; without a task about all of it. */
  readonly comments: readonly {
    readonly task?: string | null
    readonly text: string
    readonly field?: string
    readonly line?: number
  }[]
  /** Who drafts; whoever drafted before when not said. */
  /** What a model may use in all, as `{ calls: 40, tokens: '600k', cost: '3 USD' }`. */
  readonly budget?: { readonly calls?: number; readonly tokens?: number | string; readonly cost?: string }
  readonly planner?: string
  readonly model?: string
  readonly template?: string
  /** See first what fails today. */
  readonly look?: boolean
}

export interface WorkerWanted {
  /** The name of an agent that is installed where the service runs. */
  readonly agent: string
  /** `PROVIDER/NAME`; the agent's own when not said. */
  readonly model?: string
  /** Commit what the review of a draft approves, on the branch `plan/NAME`; nothing without git. */
  readonly commit?: boolean
  /** Only this task. */
  readonly task?: string
}
export interface ReportSaid {
  readonly status: 'completed' | 'failed'
  /** Of the claim; without one, the claim must be yours, or there must be none. */
  readonly token?: string
  readonly outputs?: { readonly [name: string]: Json }
  readonly outcome?: string
  /** Why it failed. */
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
