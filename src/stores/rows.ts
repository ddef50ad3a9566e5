// What the query tables answer: pages of rows, written in the same transaction as the events they come from. Part of the
// door; seen through store.ts.

import type { Millis, PlanId, PlanName, TaskId, TaskName } from '../domain/id.ts'
import type { PlanStatus, TaskStatus } from '../domain/status.ts'

export interface Page<T> {
  readonly items: readonly T[]
  /** Opaque; null at the end. */
  readonly next: string | null
}

export interface PlanQuery {
  readonly status?: PlanStatus
  readonly session?: string
  readonly goal?: string
  /** Matches name, title and goal text. */
  readonly text?: string
  readonly archived?: boolean
  readonly limit?: number
  readonly cursor?: string
}
export interface PlanRow {
  readonly id: PlanId
  readonly name: PlanName
  readonly title: string | null
  readonly goal: string | null
  readonly status: PlanStatus
  readonly revision: number
  readonly version: number
  readonly session: string | null
  readonly tasks: number
  /** How many tasks have ended well: completed or skipped. */
  readonly done: number
  readonly archived: boolean
  readonly createdAt: Millis
  readonly updatedAt: Millis
  readonly startedAt: Millis | null
  readonly endedAt: Millis | null
}

export interface TaskQuery {
  readonly plan?: PlanId
  readonly status?: TaskStatus
  readonly assignee?: string
  readonly limit?: number
  readonly cursor?: string
}
export interface TaskRow {
  readonly id: TaskId
  readonly plan: PlanId
  readonly name: TaskName
  readonly ordinal: number
  readonly title: string | null
  readonly kind: string | null
  readonly status: TaskStatus
  readonly visit: number
  readonly attempt: number
  readonly startedAt: Millis | null
  readonly endedAt: Millis | null
}

export interface AttemptQuery {
  readonly plan: PlanId
  readonly task?: TaskName
  readonly limit?: number
  readonly cursor?: string
}
export interface AttemptRow {
  readonly task: TaskName
  readonly visit: number
  readonly attempt: number
  readonly status: 'running' | 'succeeded' | 'failed' | 'lost'
  readonly startedAt: Millis
  readonly endedAt: Millis | null
  readonly durationMs: number | null
  readonly exit: number | null
  readonly failureClass: string | null
}
/** Derived from attempts: one row a kind of task. */
export interface MetricRow {
  readonly kind: string | null
  readonly attempts: number
  readonly succeeded: number
  readonly failed: number
  readonly lost: number
  readonly retries: number
  readonly durationMs: number
}

export interface CheckReport {
  readonly ok: boolean
  readonly plans: number
  readonly entries: number
  readonly blobs: number
  /** What the content store takes up. */
  readonly bytes: number
  readonly faults: readonly { readonly plan: string | null; readonly what: string; readonly hint: string }[]
}
export interface Pruned {
  readonly plans: number
  readonly entries: number
  readonly blobs: number
  readonly bytes: number
}
