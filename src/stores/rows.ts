// The rows and pages of the query tables, written in the transaction of their events. Part of the door, seen through store.ts.

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
  readonly agent?: string
  /** Every word must be the prefix of a word of its name, title, goal or labels. A text without words is matched literally. */
  readonly text?: string
  readonly archived?: boolean
  /** Only plans with a task that had several attempts, or whose last entry may report a stopped rollback. */
  readonly unsettled?: true
  readonly limit?: number
  readonly cursor?: string
}
export interface PlanRow {
  readonly id: PlanId
  readonly name: PlanName
  readonly title: string | null
  readonly goal: string | null
  readonly goalId: string | null
  readonly agent: string | null
  readonly status: PlanStatus
  readonly revision: number
  readonly version: number
  readonly session: string | null
  readonly tasks: number
  readonly done: number
  readonly archived: boolean
  readonly createdAt: Millis
  readonly updatedAt: Millis
  readonly startedAt: Millis | null
  readonly endedAt: Millis | null
}

export interface OverviewQuery extends PlanQuery {
  readonly since?: Millis
  readonly until?: Millis
  /** Default `newest`. `updated`: last changed first. `cost`: most expensive first. */
  readonly order?: 'newest' | 'updated' | 'name' | 'cost'
  /** Only these plans, and all plans of these sessions. */
  readonly within?: PlanSet
  readonly among?: readonly PlanId[]
}
export interface PlanOverview extends PlanRow {
  readonly counts: Readonly<Record<TaskStatus, number>>
  /** The known use of its ended attempts. */
  readonly tokens: number | null
  readonly cost: number | null
}
export interface OverviewPage extends CaughtUp<PlanOverview> {
  readonly total: number
  /** The counts by status, regardless of the filters `status` and `among`. */
  readonly statuses: Readonly<Record<PlanStatus, number>>
}

export interface TaskQuery {
  readonly plan?: PlanId
  readonly status?: TaskStatus
  readonly statuses?: readonly TaskStatus[]
  readonly assignee?: string
  /** `sequence`: in order of work. `recent`: latest first, over all plans. Default: as added. Newest plan first. */
  readonly order?: 'sequence' | 'recent'
  readonly archived?: boolean
  readonly limit?: number
  readonly cursor?: string
}
export interface TaskRow {
  readonly id: TaskId
  readonly plan: PlanId
  readonly name: TaskName
  readonly ordinal: number
  /** `sequence_order` of the task, else its ordinal. */
  readonly sequence: number
  readonly title: string | null
  readonly kind: string | null
  /** The assignee of the definition, or else the claimant. */
  readonly assignee: string | null
  readonly addedAt: Millis
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
export interface MetricRow {
  readonly kind: string | null
  readonly attempts: number
  readonly succeeded: number
  readonly failed: number
  readonly lost: number
  readonly retries: number
  readonly durationMs: number
}

// Search and steps: caught up with the journal on demand, so that running plans do not pay for them

/** `complete` is false when the store could not catch up: it is read-only, locked, or the disk is full. */
export interface CaughtUp<T> extends Page<T> {
  readonly complete: boolean
}

export interface SearchQuery {
  /** Every word must be the prefix of a word; nothing is an operator. */
  readonly text: string
  /** Default: all. Plans first, then tasks, then output; each newest first. */
  readonly kinds?: readonly SearchHit['kind'][]
  readonly plan?: PlanId
  /** Only these plans, and all plans of these sessions. */
  readonly within?: PlanSet
  readonly archived?: boolean
  readonly limit?: number
  readonly cursor?: string
}
export interface PlanSet {
  readonly plans?: readonly PlanId[]
  readonly sessions?: readonly string[]
}
export interface SearchHit {
  readonly kind: 'plan' | 'task' | 'log'
  readonly plan: PlanId
  readonly name: PlanName
  readonly task: TaskName | null
  /** One line of plain text around the first hit; `matches` are the positions of hits in it. */
  readonly snippet: string
  readonly matches: readonly (readonly [number, number])[]
  readonly at: Millis
  readonly log: {
    readonly seq: number
    readonly visit: number
    readonly attempt: number
    readonly stream: 'stdout' | 'stderr' | 'engine'
  } | null
}

/** Sums over ended attempts. */
export interface StepsQuery {
  readonly by: 'plan' | 'agent' | 'capability' | 'kind' | 'hour' | 'day'
  readonly plan?: PlanId
  readonly agent?: string
  readonly capability?: string
  readonly kind?: string
  readonly since?: Millis
  readonly until?: Millis
  readonly limit?: number
  readonly cursor?: string
}
/** One group. A step with several capabilities counts for each of them. */
export interface StepsRow {
  /** The plan's id, the agent (`engine` for its own), the capability or action, the kind; an hour or day as its first instant. */
  readonly group: string | null
  readonly attempts: number
  readonly succeeded: number
  readonly failed: number
  readonly lost: number
  readonly retries: number
  /** The share of ended attempts that succeeded, from 0 to 1. */
  readonly successRate: number
  readonly durationMs: { readonly sum: number; readonly p50: number; readonly p95: number; readonly max: number }
  /** Paths written, measured by comparing before and after; and bytes of output. */
  readonly files: number
  readonly bytes: number
  /** As reported by agents; null for none. */
  readonly tokens: { readonly input: number; readonly output: number; readonly total: number } | null
  /** In the agents' own currency: dollars if they report `cost_usd`. Null for none. */
  readonly cost: number | null
  readonly tools: readonly { readonly name: string; readonly steps: number }[]
}

export interface CheckReport {
  readonly ok: boolean
  readonly plans: number
  readonly entries: number
  readonly blobs: number
  readonly bytes: number
  readonly faults: readonly { readonly plan: string | null; readonly what: string; readonly hint: string }[]
  /** Plans with unknown rules or format, whose hash chain is valid and which cannot be checked further. Absent: none. */
  readonly unread?: readonly { readonly plan: string; readonly why: string }[]
}
export interface Pruned {
  readonly plans: number
  readonly entries: number
  readonly blobs: number
  readonly bytes: number
  /** Plans that stay because reverted files can still be restored. */
  readonly held: number
}
/** Files that appeared outside a scope and were moved to the state folder. They may be a person's. */
export interface MovedFiles {
  /** The number of attempts after which there were such files. */
  readonly attempts: number
  /** Their paths in the workspace; at most two hundred. */
  readonly files: readonly string[]
  readonly more: number
}
