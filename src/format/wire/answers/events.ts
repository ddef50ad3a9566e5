// Journal entries, task output, and attempts.

import type { Int, PageOf, Time } from './fields.ts'

export interface EntryPage {
  readonly items: readonly {
    readonly position: Int
    readonly plan_id: string
    readonly version: Int
    readonly actor: string
    readonly at: Time
    readonly fence: Int | null
    readonly hash: string
    /** What was asked, as the journal holds it; left out when that is not wanted. */
    readonly command?: { readonly type: string; readonly [key: string]: unknown }
    /** What then happened, as the journal holds it. */
    readonly events: readonly { readonly type: string; readonly [key: string]: unknown }[]
    /** The same in sentences. */
    readonly told: readonly string[]
  }[]
  /** Hand it back as `cursor`; null at the end. */
  readonly next: string | null
}

export interface LogPage {
  readonly items: readonly {
    readonly seq: Int
    readonly plan_id: string
    readonly task: string
    readonly visit: Int
    readonly attempt: Int
    readonly level: 'debug' | 'info' | 'warning' | 'error'
    readonly stream: 'stdout' | 'stderr' | 'engine'
    readonly at: Time
    readonly text: string
  }[]
  /** Hand it back as `cursor`; null at the end. */
  readonly next: string | null
  /** With `tail` or `before`: hand it back as `before`; null at the beginning. */
  readonly previous: string | null
}

/** What the agent of a task did, step by step. */
export type AgentStepPage = PageOf<{
  readonly visit: Int
  readonly attempt: Int
  readonly at: Time
  /** What it thought before; empty if its protocol does not report thoughts. */
  readonly thought: string
  /** What it said before. */
  readonly said: string
  /** Its tool calls; none after its last words. */
  readonly actions: readonly string[]
}>

export type AttemptPage = PageOf<{
  readonly task: string
  readonly visit: Int
  readonly attempt: Int
  readonly status: 'running' | 'succeeded' | 'failed' | 'lost'
  readonly started_at: Time
  readonly ended_at: Time | null
  readonly duration_ms: number | null
  readonly exit: Int | null
  readonly failure_class: string | null
}>
