// What may be ordered and asked about a plan that clients build and keep task by task: the part of the door in engine.ts that is
// about adding, changing, removing, annotating, evaluating, and having the last word.

import type { PlanChanges, TaskChanges } from '../domain/changed-task.ts'
import type { Evaluation } from '../domain/client-event.ts'
import type { TaskName } from '../domain/id.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { TaskDefinition } from '../domain/plan.ts'
import type { CaughtUp, SearchHit, SearchQuery, StepsQuery, StepsRow } from '../stores/store.ts'

export type { PlanChanges, TaskChanges } from '../domain/changed-task.ts'

export type EditingOrder = RevisingOrder | KeepingOrder

/** Made from the definition as it stands when it is written, whoever else wrote meanwhile. */
export type RevisingOrder = Revising & {
  readonly rationale?: string
  /** Refused when the plan has another by then. */
  readonly expectedRevision?: number
}

type Revising =
  /** At the end of the plan. To a draft, plain tasks are added one by one at a constant cost; anything else is a revision. */
  | { readonly type: 'add'; readonly tasks: readonly TaskDefinition[] }
  /** `extra` is merged key by key; null takes a key away. */
  | { readonly type: 'change'; readonly task: TaskName; readonly set: TaskChanges; readonly extra?: JsonObject }
  /** Refused while others need them. */
  | { readonly type: 'remove'; readonly tasks: readonly TaskName[] }
  /** These first, in this order; all others behind them, as they stood. */
  | { readonly type: 'reorder'; readonly order: readonly TaskName[] }
  /** What the plan says of itself; null takes it away. `extra` is merged key by key. */
  | { readonly type: 'outline'; readonly set: PlanChanges; readonly extra?: JsonObject }

export type KeepingOrder =
  /** Kept beside the plan or the task and never followed; merged key by key, null takes a key away. */
  | { readonly type: 'annotate'; readonly set: JsonObject; readonly task?: TaskName }
  /** Its id is in the event. */
  | {
      readonly type: 'evaluate'
      readonly task: TaskName
      readonly score?: number
      readonly passed?: boolean
      readonly data?: Json
    }
  /** Somebody's word about the whole plan. What is open is passed over in their name. */
  | { readonly type: 'finish'; readonly as: 'completed' | 'failed'; readonly reason: string }

export interface EditingQueries {
  /** What was said of a task's work, oldest first. */
  evaluations: { ask: { plan: string; task: string }; answer: readonly Evaluation[] | null }
  /** Plans, tasks and output by their words. */
  search: { ask: SearchQuery; answer: CaughtUp<SearchHit> }
  /** Attempts that have ended, summed up: by plan when not said. An unknown plan answers null. */
  steps: {
    ask: Omit<StepsQuery, 'plan' | 'by'> & { readonly plan?: string; readonly by?: StepsQuery['by'] }
    answer: CaughtUp<StepsRow> | null
  }
}
