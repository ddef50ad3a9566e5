// Claims and briefings, and coding agents.

import type { Json, JsonObject } from '../../../domain/json.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import type { Loose, Moved, Time } from './fields.ts'

export interface Agents {
  readonly items: readonly {
    readonly name: string
    readonly title: string
    readonly installed: boolean
    readonly version: string | null
    /** The version that was tested; null: its row names none. */
    readonly tested: string | null
    /** When this version passed its test here. */
    readonly passed_at: Time | null
    /** The npm package that has it; null: its row names none. */
    readonly install: string | null
    /** It has no model of its own, and the settings name none for it. */
    readonly needs_model: boolean
  }[]
  readonly next: null
  /** The one last used here, else the only one installed; null when there is neither. */
  readonly preferred: string | null
}

export interface Worker extends Moved {
  readonly agent: string
  /** The tasks of the plan that the agent works. */
  readonly tasks: readonly string[]
}

export interface TaskShown extends Loose {
  readonly id: string
  readonly name: string
  readonly plan_id: string
  readonly status: string
  readonly state: TaskStatus
}

interface TaskBriefing extends Loose {
  readonly task: string
  readonly title: string | null
  readonly description: string | null
  readonly instruction: string | null
  readonly inputs: JsonObject
  readonly outputs: { readonly [key: string]: { readonly from: string; readonly [key: string]: unknown } }
  readonly outcomes: { readonly [key: string]: readonly string[] }
}

interface Claimed extends Moved {
  /** For heartbeats and the report. */
  readonly token: string
  readonly expires_in_seconds: number
  readonly agent_id: string | null
  /** The folder to work in, relative to the workspace; null for the workspace. */
  readonly place: string | null
  readonly task: TaskShown
  /** What to do, with what, and what to report. */
  readonly briefing: TaskBriefing
}

export type TaskRun =
  | (Claimed & { readonly status: 'claimed' })
  | (Moved & {
      /** The service carries it out. */
      readonly status: 'queued' | 'running'
      readonly task: TaskShown
      readonly outputs?: Json
    })

export type Claim = Claimed
export type Heartbeat = Moved & { readonly task: string; readonly token: string; readonly expires_in_seconds: number }

/** The task as it stands now, and its plan. */
export type TaskMoved = Moved & { readonly task: TaskShown }

export interface NextTasks {
  readonly items: readonly TaskShown[]
  readonly explained: readonly { readonly task: string; readonly why: string }[]
  /** Tasks that wait because tasks of other plans have reserved their files. */
  readonly held: readonly {
    readonly task: string
    readonly paths: readonly string[]
    readonly by: readonly {
      readonly plan: string
      readonly name: string
      readonly task: string
      readonly paths: readonly string[]
      readonly since: string
      /** A living process drives that plan. */
      readonly driven: boolean
      /** What ends the wait: give that plan one of these orders. Empty while it is driven. */
      readonly orders: readonly ('resume' | 'cancel')[]
    }[]
  }[]
}
