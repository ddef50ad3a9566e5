// What is sent to the service and comes back from it, as plain types: whoever has only JSON needs nothing else. A test holds them
// against the schemas of the service.

import type { Actor, CheckpointName, PlanId, PlanName, Sha256, TaskId, TaskName } from '../domain/id.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { ShortageKind } from '../domain/shortage.ts'
import type { PlanStatus, TaskStatus } from '../domain/status.ts'
import type { Briefing } from '../domain/views/board.ts'

export type * from './large-bodies.ts'

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

interface PlanFields {
  readonly id: string
  readonly name: string
  readonly title: string | null
  readonly description: string | null
  readonly goal_id: string | null
  readonly agent_id: string | null
  readonly session_id: string | null
  /** In the words of the PlanStore. */
  readonly status: string
  /** In the words of Planfold. */
  readonly state: PlanStatus
  readonly revision: number
  /** Counts what happened to it. */
  readonly version: number
  readonly archived: boolean
  readonly created_at: string
  readonly updated_at: string
  readonly started_at: string | null
  readonly completed_at: string | null
}

/** A plan in a list. */
export interface PlanItem extends PlanFields {
  readonly tasks: number
  readonly done: number
  readonly progress: Pick<PlanBody['progress'], 'total' | 'done' | 'ratio'>
  /** How many tasks stand how, in the words of Planfold. */
  readonly counts: { readonly [state: string]: number }
  readonly running: number
  /** Tasks that failed or were given up. */
  readonly failed: number
  /** How many items of it are in the inbox; null when its journal is damaged. */
  readonly waiting: number | null
  /** What ended attempts used; null when none tells. */
  readonly tokens: number | null
  readonly cost: number | null
}

export interface PlanPage extends PageOf<PlanItem> {
  /** How many match, on all pages. */
  readonly total: number
  /** How many match in each state, whatever `status` and `waiting` ask for. */
  readonly states: { readonly [state: string]: number }
  /** False when tokens and cost may lack what happened last. */
  readonly complete: boolean
}

/** What a dry run tells. Nothing was written. */
export interface PlanChecked {
  readonly status: 'dry_run'
  readonly name: string
  /** It would be numbered. */
  readonly name_taken: boolean
  readonly title: string | null
  readonly tasks: number
  readonly start: boolean
  readonly warnings: NonNullable<PlanMade['warnings']>
  /** What policies, secrets and databases around the service will refuse, or ask about. `error`: it will not start. */
  readonly surroundings: readonly {
    readonly severity: 'error' | 'warning'
    readonly task?: string
    readonly message: string
    readonly hint?: string
  }[]
  /** What would be made, in the canonical format. */
  readonly document: JsonObject
}

export interface PlanBody extends PlanFields {
  readonly owner: string | null
  readonly labels: readonly string[]
  readonly plan_type: string
  readonly steps: readonly Json[]
  readonly current_step: number
  /** What clients said; the times beside it are ours. */
  readonly client: { readonly started_at: string | null; readonly completed_at: string | null }
  readonly reason: string | null
  /** It is paused because the engine lacks this; no task failed by it, and it goes on by itself. */
  readonly shortage?:
    | {
        readonly kind: ShortageKind
        readonly code: string
        readonly message: string
        readonly hint: string
      }
    | undefined
  readonly origin: string | null
  readonly progress: {
    readonly total: number
    readonly done: number
    readonly ended: number
    readonly ratio: number
    readonly counts: { readonly [state: string]: number }
  }
  readonly extra: JsonObject
}

export interface PlanMade extends PlanBody {
  readonly replayed?: true | undefined
  readonly warnings?:
    | readonly {
        readonly message: string
        readonly line: number
        readonly column: number
        readonly hint?: string | undefined
      }[]
    | undefined
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

export interface ForkMade extends Moved {
  readonly origin: string
  /** What it begins with; null when it was asked for before. */
  readonly fork: {
    readonly from: number
    readonly ended: readonly string[]
    readonly open: readonly string[]
    readonly works: { readonly in: 'workspace' | 'folder' | 'worktree'; readonly [key: string]: unknown }
  } | null
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
export interface WorkerBody extends Moved {
  readonly agent: string
  /** The tasks of the plan that the agent works. */
  readonly tasks: readonly string[]
}

/** How the plan stands after something was ordered. */
export interface Moved {
  readonly plan_id: string
  readonly name: string
  readonly state: string
  readonly version: number
  readonly replayed?: true | undefined
}

export interface TaskBody {
  readonly id: string
  readonly name: string
  readonly plan_id: string
  readonly plan_name: string
  readonly agent_id: string | null
  readonly title: string | null
  readonly description: string | null
  readonly task_type: string | null
  readonly action: string
  readonly input_data: JsonObject
  readonly output_data: Json
  readonly status: string
  readonly state: TaskStatus
  readonly sequence_order: number
  readonly depends_on: readonly string[]
  readonly priority: number
  readonly labels: readonly string[]
  readonly optional: boolean
  readonly claimed_by: string | null
  readonly reason: string | null
  readonly visit: number
  readonly attempt: number
  readonly created_at: string
  readonly started_at: string | null
  readonly completed_at: string | null
  readonly client: { readonly started_at: string | null; readonly completed_at: string | null }
  readonly extra: JsonObject
}

/** A task with what most answers tell of it. */
export type TaskShown = Pick<TaskBody, 'id' | 'name' | 'plan_id' | 'status' | 'state'>

export interface ClaimBody extends Moved {
  /** For heartbeats and the report. */
  readonly token: string
  readonly expires_in_seconds: number
  readonly agent_id: string | null
  /** The folder to work in, relative to the workspace; null for the workspace. */
  readonly place: string | null
  readonly task: TaskShown
  /** What to do, with what, and what to report. */
  readonly briefing: Plain<Pick<Briefing, 'task' | 'title' | 'description' | 'instruction' | 'inputs'>> & {
    readonly outputs: { readonly [name: string]: { readonly from: string } }
    readonly outcomes: { readonly [outcome: string]: readonly string[] }
  }
}

export interface HeartbeatBody extends Moved {
  readonly task: string
  readonly token: string
  readonly expires_in_seconds: number
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

export interface TaskMoved extends Moved {
  readonly task: TaskShown
}

export interface GateBody {
  /** The task that asks. */
  readonly gate: string
  readonly plan_id: string
  readonly task_id: string
  readonly title: string | null
  readonly asks: string
  readonly asked: { readonly [key: string]: unknown }
  /** The last words of the addresses that answer it. */
  readonly answers: readonly string[]
  readonly since: string
  /** Of everything the answer will be bound to. */
  readonly hash: string | null
}

export interface GateDecided extends Moved {
  readonly gate: string
  readonly verdict: string
  readonly by: string
  /** False when others must approve as well. */
  readonly counts: boolean
  readonly task_state: string
  readonly asks: string | null
}

export interface PageOf<T> {
  readonly items: readonly T[]
  /** Hand it back as `cursor`; null when this was the last. */
  readonly next: string | null
}
