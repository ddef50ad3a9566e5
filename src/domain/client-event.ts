// What clients say about a plan they keep here: tasks added one by one to a draft, annotations that are kept and never followed,
// evaluations of what a task did. Part of the union in event.ts.

import type { Millis, TaskName } from './id.ts'
import type { Json, JsonObject } from './json.ts'
import type { TaskDefinition } from './plan.ts'

export type ClientEvent =
  /** Appended to a draft, which is unsealed by it: its definition has no hash until the next revision. */
  | { readonly type: 'task.added'; readonly tasks: readonly TaskDefinition[] }
  /** Merged key by key; null takes a key away. */
  | { readonly type: 'plan.annotated'; readonly set: JsonObject; readonly by: string }
  | { readonly type: 'task.annotated'; readonly task: TaskName; readonly set: JsonObject; readonly by: string }
  | ({ readonly type: 'task.evaluated'; readonly task: TaskName } & Said)

/** What somebody makes of a visit of a task. */
export interface Evaluation extends Said {
  readonly at: Millis
}

interface Said {
  readonly id: string
  readonly by: string
  readonly visit: number
  readonly score?: number
  readonly passed?: boolean
  readonly data?: Json
}
