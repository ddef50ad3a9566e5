// Page views of the web UI: a plan, a task, a gate.

import type { Json, JsonObject } from '../../../domain/json.ts'
import type { Int, Loose, PlanNamed, Time } from './fields.ts'

export interface PlanState extends PlanNamed {
  /** How many entries of the journal are in it. */
  readonly version: Int
  /** Of the last of them: events and entries behind it are new. */
  readonly position: Int
  /** The state as Planfold keeps it between runs: of each task only what differs from one that has not begun. Opened by `unpackFold`. */
  readonly fold: JsonObject
  /** As it stands in the journal. */
  readonly definition: JsonObject
}

type Verdict = Loose & { readonly criterion: string; readonly holds: boolean | null }

interface Used {
  readonly tokens: number | null
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  /** In dollars, or as an agent said. */
  readonly cost: number | null
  /** Whoever did it says so; nobody counted. */
  readonly reported: boolean
}

interface AttemptShown {
  readonly visit: Int
  readonly attempt: Int
  readonly status: 'running' | 'succeeded' | 'failed' | 'lost'
  readonly started_at: Time
  readonly ended_at: Time | null
  readonly duration_ms: number | null
  /** Who had claimed it; null when the engine carried it out. */
  readonly by: string | null
  readonly exit: Int | null
  readonly outcome: string | null
  readonly failure: { readonly message: string; readonly [key: string]: unknown } | null
  /** Why nobody knows how it ended. */
  readonly lost: string | null
  readonly verdicts: readonly Verdict[]
  readonly outputs: JsonObject | null
  readonly log: { readonly sha256: string; readonly bytes: Int } | null
  readonly changes: string | null
  /** How many paths it wrote; null when nobody looked. */
  readonly paths: Int | null
  /** What appeared or changed beside its write scope while it ran, in sentences; nobody can tell by whom. */
  readonly beside: readonly string[]
  readonly used: Used | null
  /** What its commands asked the network for, and what the proxy answered. */
  readonly network: readonly {
    readonly host: string
    readonly port: Int
    readonly allowed: boolean
    readonly why: string
    readonly count: Int
    readonly [key: string]: unknown
  }[]
  /** Of the journal: where it ended, or began while it has not. */
  readonly entry: Int
}

interface DecisionShown {
  readonly verdict: string
  readonly by: string
  readonly at: Time
  readonly rationale: string
  readonly option: string | null
  readonly entry: Int
}

interface FileChange {
  readonly path: string
  readonly change: 'created' | 'changed' | 'deleted'
  /** Bytes; null where there was no file. */
  readonly before: Int | null
  readonly after: Int | null
  /** The lines that differ, in the unified form. */
  readonly patch: readonly string[] | null
  /** Why there is no patch. */
  readonly why: string | null
}

export interface TaskPageAnswer {
  readonly plan_id: string
  /** Of the plan. */
  readonly name: string
  readonly version: Int
  readonly task: {
    readonly id: string
    readonly name: string
    readonly status: string
    readonly [key: string]: unknown
  }
  /** As a plan file would say it; a task of a group as it was expanded. */
  readonly definition: JsonObject
  readonly needed_by: readonly string[]
  /** Why it stands where it stands. */
  readonly why: string
  readonly attempts: readonly AttemptShown[]
  readonly decisions: readonly DecisionShown[]
  /** Each criterion, and how it was judged last. */
  readonly criteria: readonly {
    readonly part: string
    readonly criterion: string
    readonly holds: boolean | null
    readonly [key: string]: unknown
  }[]
  /** Of all attempts; null for what none of them tells. */
  readonly used: Used
  /** What would run; null for what has ended. */
  readonly preview: string | null
  readonly log: {
    readonly items: readonly {
      readonly seq: Int
      readonly stream: string
      readonly at: Time
      readonly text: string
      readonly [key: string]: unknown
    }[]
    /** More was printed before that: GET …/logs?before=… */
    readonly cut: boolean
  }
  /** Null when no attempt changed files, and for viewers. */
  readonly changes: {
    readonly visit: Int
    readonly attempt: Int
    readonly files: readonly FileChange[]
    /** So many more files it changed. */
    readonly more: Int
  } | null
}

type Span = { readonly text: string; readonly tone: 'dim' | 'bold' | 'red' | 'yellow' | null }

export interface GatePage extends Loose {
  readonly gate: string
  readonly plan_id: string
  readonly task_id: string
  /** Of the plan. */
  readonly name: string
  readonly title: string | null
  /** It waits for an answer. What is asked is told only then. */
  readonly open: boolean
  readonly state: string
  /** In a sentence. */
  readonly question?: string
  readonly asks?: string
  readonly asked?: Json
  readonly answers?: readonly string[]
  readonly agree?: {
    /** Who may answer; null for anybody who decides. */
    readonly role: string | null
    /** So many must approve. */
    readonly count: Int
    readonly given: readonly { readonly by: string; readonly rationale: string }[]
    readonly told: string | null
  }
  readonly definition: JsonObject
  /** What was decided there so far, oldest first. */
  readonly decisions: readonly DecisionShown[]
  readonly consent: {
    /** Of what is shown; an approval can be bound to it. */
    readonly hash: string
    /** All of it, as every face says it. */
    readonly text: string
    /** The same, with what is set apart. */
    readonly lines: readonly (readonly Span[])[]
    /** What it is made from. */
    readonly shown: { readonly type: 'task' | 'gate'; readonly [key: string]: unknown }
    /** The files that the commands name, as they would be run. */
    readonly files: readonly {
      readonly sha256: string
      readonly lines: readonly string[] | null
      /** Why there are no lines. */
      readonly why: string | null
    }[]
    readonly changes: readonly {
      readonly path: string
      readonly before: string | null
      readonly now: string | null
      readonly patch: readonly string[] | null
      readonly why: string | null
    }[]
  } | null
  /** Viewers do not see what is stored: `consent` is null for them. */
  readonly hidden: boolean
}
