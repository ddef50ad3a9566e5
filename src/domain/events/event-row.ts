// What the views, the query tables and the documents ask about an event: one row each. Its fields are in event.ts, its effect on the state
// in state/evolve.ts.

import type { Event, EventOf, EventType } from '../event.ts'
import type { Wording } from '../hint.ts'
import type { Sha256, TaskName } from '../id.ts'
import type { Json, JsonObject } from '../json.ts'
import type { NoticeKind, TaskDefinition } from '../plan.ts'
import type { GitOperation } from '../plan-rules/git-operation.ts'

/** The subject of an event, by which the audit trail is sorted. */
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
  /** Null: bookkeeping that the audit trail omits. */
  readonly kind: EventKind | null
  sentence(event: E, words?: PlanWording): string
  /** Its line in the audit trail, if that is longer than the sentence. */
  audited?(event: E): string
  /** The fields shown in the audit trail. Never a token. */
  readonly shows?: readonly Exclude<keyof E & string, 'type'>[]
  /** Replaces `shows` when the facts are not plain fields. Values that tasks returned appear as hashes. */
  facts?(event: E, about: Audited): JsonObject
  failure?(event: E): string | null
  /** A setback: something failed, was lost, or waits for a person. With `failure`, only if that returns one. */
  readonly setback?: true
  /** The rows of the query tables that it changes. */
  rows?(event: E): TableRows
  notice?(event: E): NoticeKind | null
  operations?(event: E): readonly GitOperation[]
}

/** The row of the plan; the rows of the tasks that the event names; or the plan and all its tasks. */
export type TableRows = 'plan' | 'tasks' | 'all'

export type RowsOf<Prefix extends string> = {
  readonly [T in Extract<EventType, `${Prefix}.${string}`>]: EventRow<EventOf<T>>
}

export interface Audited {
  /** As defined when the event happened. */
  readonly task: TaskDefinition | undefined
  readonly hashOf: (value: Json) => Sha256
}

export interface PlanWording {
  readonly plan: string
  readonly word: Wording
}

export function tasksOf(event: Event): readonly TaskName[] {
  if (event.type === 'task.imported') return event.tasks.map(({ task }) => task)
  if (event.type === 'task.added') return event.tasks.map(({ id }) => id)
  if ('tasks' in event && event.tasks !== undefined) return event.tasks
  return 'task' in event && event.task !== undefined ? [event.task] : []
}
