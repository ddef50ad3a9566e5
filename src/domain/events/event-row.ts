// What the views, the query tables and the documents ask about an event: one row each. Its fields are in event.ts, what it changes
// is in state/evolve.ts.

import type { Event, EventOf, EventType } from '../event.ts'
import type { Wording } from '../hint.ts'
import type { Sha256, TaskName } from '../id.ts'
import type { Json, JsonObject } from '../json.ts'
import type { NoticeKind, TaskDefinition } from '../plan.ts'
import type { GitOperation } from '../plan-rules/git-operation.ts'

/** What an event is about; the audit trail is sorted by it. */
export type EventKind =
  | 'revision'
  | 'decision'
  | 'plan'
  | 'task'
  | 'attempt'
  | 'files'
  | 'checkpoint'
  | 'rollback'
  | 'git'
  | 'compensation'
  | 'recovery'
  | 'network'
  | 'budget'
  | 'note'

export interface EventRow<E extends Event> {
  /** Null: bookkeeping that the audit trail leaves out. */
  readonly kind: EventKind | null
  sentence(event: E, words?: PlanWording): string
  /** The line of the audit trail, where it says more than the sentence. */
  audited?(event: E): string
  /** The fields that the audit trail shows. Never a token. */
  readonly shows?: readonly Exclude<keyof E & string, 'type'>[]
  /** What it shows instead, if these are not fields as they are. Values that tasks returned are named by their hash. */
  facts?(event: E, about: Audited): JsonObject
  /** What went wrong; null if nothing did. */
  failure?(event: E): string | null
  /** A setback: something failed, was lost, or stops until somebody decides. With `failure`, only if that says what went wrong. */
  readonly setback?: true
  /** The rows of the query tables that change with it. */
  rows?(event: E): TableRows
  /** What people are notified of. */
  notice?(event: E): NoticeKind | null
  /** What was done to the repository. */
  operations?(event: E): readonly GitOperation[]
}

/** The row of the plan; those of the tasks that the event names; or the plan and all its tasks. */
export type TableRows = 'plan' | 'tasks' | 'all'

/** The rows of the events whose names begin so. */
export type RowsOf<Prefix extends string> = {
  readonly [T in Extract<EventType, `${Prefix}.${string}`>]: EventRow<EventOf<T>>
}

/** What the facts of an event are made of besides the event. */
export interface Audited {
  /** As the revision of then defines it. */
  readonly task: TaskDefinition | undefined
  /** The hash of a value as canonical JSON. */
  readonly hashOf: (value: Json) => Sha256
}

/** How steps of this plan are said; without it, none is named. */
export interface PlanWording {
  readonly plan: string
  readonly word: Wording
}

/** The tasks an event is about. */
export function tasksOf(event: Event): readonly TaskName[] {
  if (event.type === 'task.imported') return event.tasks.map(({ task }) => task)
  if (event.type === 'task.added') return event.tasks.map(({ id }) => id)
  if ('tasks' in event && event.tasks !== undefined) return event.tasks
  return 'task' in event && event.task !== undefined ? [event.task] : []
}
