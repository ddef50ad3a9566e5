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
  readonly agent?: string
  /** Every word begins a word of its name, title, goal or labels. A text without words is looked for as it stands. */
  readonly text?: string
  readonly archived?: boolean
  /** Only those whose last entry may tell of a stopped rollback, or in which something was tried more than once. */
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

/** Plans for an overview: their state, and what they used. */
export interface OverviewQuery extends PlanQuery {
  readonly since?: Millis
  readonly until?: Millis
  /** `newest` when not said. `updated`: changed last first. `cost`: what cost most first. */
  readonly order?: 'newest' | 'updated' | 'name' | 'cost'
  /** Only these plans, and all plans of these sessions. */
  readonly within?: PlanSet
  readonly among?: readonly PlanId[]
}
export interface PlanOverview extends PlanRow {
  readonly counts: Readonly<Record<TaskStatus, number>>
  /** What its attempts used that have ended, as far as that is known. */
  readonly tokens: number | null
  readonly cost: number | null
}
export interface OverviewPage extends CaughtUp<PlanOverview> {
  readonly total: number
  /** How many of them there would be in each status, whatever status is asked for, and not only `among` some. */
  readonly statuses: Readonly<Record<PlanStatus, number>>
}

export interface TaskQuery {
  readonly plan?: PlanId
  readonly status?: TaskStatus
  readonly statuses?: readonly TaskStatus[]
  readonly assignee?: string
  /** `sequence`: as they are to be done. `recent`: latest first, of all plans. Default: as added. Newest plan first. */
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
  /** Where it stands among the tasks of its plan, by its own word (`sequence_order`); else its ordinal. */
  readonly sequence: number
  readonly title: string | null
  readonly kind: string | null
  /** Whom the definition names, or else who holds it. */
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

// ── search and steps: caught up from the journal when asked, so that no step of a plan pays for them ─────────────────

/** `complete` is false when the store may only be read and what is new was not caught up yet. */
export interface CaughtUp<T> extends Page<T> {
  readonly complete: boolean
}

export interface SearchQuery {
  /** Words, each of which begins a word that is found. Nothing in it is an operator. */
  readonly text: string
  /** All of them when absent. Plans are found first, then tasks, then output; each newest first. */
  readonly kinds?: readonly SearchHit['kind'][]
  readonly plan?: PlanId
  /** Only in these plans, and in all plans of these sessions. */
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
  /** Null when the plan itself was found. */
  readonly task: TaskName | null
  /** The text around the first words that were found, plain, in one line. */
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

/** Attempts that have ended, summed up. */
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
  /** Succeeded out of all that ended, from 0 to 1. */
  readonly successRate: number
  readonly durationMs: { readonly sum: number; readonly p50: number; readonly p95: number; readonly max: number }
  /** Paths written, as seen by looking before and after. */
  readonly files: number
  readonly bytes: number
  /** As agents report them; null when none did. */
  readonly tokens: { readonly input: number; readonly output: number; readonly total: number } | null
  /** In the agents' own currency, which is dollars where they say so; null when none did. */
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
  /** Plans of rules or a format that this program does not know: their hash chain holds, and no more can be checked. Absent: none. */
  readonly unread?: readonly { readonly plan: string; readonly why: string }[]
}
export interface Pruned {
  readonly plans: number
  readonly entries: number
  readonly blobs: number
  readonly bytes: number
  /** Plans that stay because files set back in them can still be restored. */
  readonly held: number
}
/** Files that appeared outside a scope and were moved to the state folder. A person may have made them. */
export interface MovedFiles {
  /** How many attempts they were found after. */
  readonly attempts: number
  /** As they were called in the workspace; at most two hundred are named. */
  readonly files: readonly string[]
  readonly more: number
}
