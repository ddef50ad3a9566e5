// Page views of the web UI: a plan, a task, a gate.

import type { Json, JsonObject } from '../../../domain/json.ts'
import type { Int, Loose, PageOf, PlanNamed, Time } from './fields.ts'

export interface PlanState extends PlanNamed {
  /** The number of journal entries that this state includes. */
  readonly version: Int
  /** The position of the last of these entries: events after it are new. */
  readonly position: Int
  /** The state as stored between runs: for each task only what differs from a task that has not started. Unpacked by `unpackFold`. */
  readonly fold: JsonObject
  /** The plan's definition, as in the journal. */
  readonly definition: JsonObject
}

type Verdict = Loose & { readonly criterion: string; readonly holds: boolean | null }

interface Used {
  readonly tokens: number | null
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  /** In dollars, or as the agent reported it. */
  readonly cost: number | null
  /** The agent's own numbers, not measured by Planfold. */
  readonly reported: boolean
}

interface AttemptShown {
  readonly visit: Int
  readonly attempt: Int
  readonly status: 'running' | 'succeeded' | 'failed' | 'lost'
  readonly started_at: Time
  readonly ended_at: Time | null
  readonly duration_ms: number | null
  /** Who had claimed it; null when the engine ran it. */
  readonly by: string | null
  readonly exit: Int | null
  readonly outcome: string | null
  readonly failure: { readonly message: string; readonly [key: string]: unknown } | null
  /** Why its result is unknown. */
  readonly lost: string | null
  readonly verdicts: readonly Verdict[]
  readonly outputs: JsonObject | null
  readonly log: { readonly sha256: string; readonly bytes: Int } | null
  readonly changes: string | null
  /** How many paths it wrote; null when files were not compared. */
  readonly paths: Int | null
  /** Sentences about files that changed outside its write scope while it ran, perhaps not by it, and about files that were not stored. */
  readonly beside: readonly string[]
  readonly used: Used | null
  /** The connections that its commands requested, and the decisions of the proxy. */
  readonly network: readonly {
    readonly host: string
    readonly port: Int
    readonly allowed: boolean
    readonly why: string
    readonly count: Int
    readonly [key: string]: unknown
  }[]
  /** How its commands ran; null for none, and in older plans. */
  readonly runs: 'held' | 'as you' | 'agent' | null
  /** The programs of the machine that it ran with, with version and path. */
  readonly programs: readonly string[]
  /** The journal entry in which it ended, or started if it has not ended. */
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
  /** The difference as a unified diff. */
  readonly patch: readonly string[] | null
  /** Why there is no patch. */
  readonly why: string | null
}

interface WhyRecord {
  readonly plan: string
  readonly name: string
  readonly task: string | null
  readonly at: Time
  readonly entry: Int
}

interface WhyCommit {
  readonly id: string
  readonly author: string
  readonly at: Time
  readonly subject: string
  /** What its trailers claim, for a commit that Planfold made. */
  readonly planfold: Loose | null
  readonly is_cut_off: boolean
}

export interface WhyAnswer {
  readonly path: string
  /** `whole`: binary or too large, so only the last change is known. `gone`: there is no such file any more. */
  readonly basis: 'text' | 'whole' | 'gone'
  readonly lines: Int
  /** Ranges of lines, each with the index of its origin. */
  readonly parts: readonly { readonly from: Int; readonly to: Int; readonly origin: Int }[]
  readonly origins: readonly (
    | (WhyRecord & {
        readonly by: 'task'
        readonly task: string
        readonly title: string | null
        /** What the file was called when the task wrote it. */
        readonly path: string
        readonly visit: Int
        readonly attempt: Int
        readonly status: 'succeeded' | 'failed' | 'lost' | 'undone' | 'unknown'
        readonly action: string
        readonly agent: string | null
        readonly model: string | null
        readonly claimed_by: string | null
        readonly instruction: string | null
        readonly is_confidential: boolean
        /** The criteria that held when it ended. */
        readonly checks: readonly string[]
        readonly approvals: readonly { readonly by: string; readonly of: string; readonly at: Time }[]
        readonly commit: WhyCommit | null
        readonly undo: string
      })
    | { readonly by: 'plan'; readonly plan: string; readonly name: string; readonly at: Time; readonly actor: string }
    /** Changed outside any plan, between two records. */
    | {
        readonly by: 'hand'
        readonly since: WhyRecord
        readonly until: WhyRecord | null
        readonly commit: WhyCommit | null
      }
    | { readonly by: 'commit'; readonly commit: WhyCommit }
    | { readonly by: 'unknown'; readonly change: WhyRecord }
    | { readonly by: 'nobody' | 'hidden' }
  )[]
  /** What could not be read. */
  readonly lacks: readonly string[]
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
  /** As in a plan file; a task of a group after expansion. */
  readonly definition: JsonObject
  readonly needed_by: readonly string[]
  /** Why it has its status. */
  readonly why: string
  readonly attempts: readonly AttemptShown[]
  readonly decisions: readonly DecisionShown[]
  /** What critics, reviews and people said about its attempts, oldest first. */
  readonly lessons: readonly {
    readonly text: string
    readonly by: string
    readonly at: Time
    readonly visit: Int
    readonly attempt: Int
    readonly entry: Int
  }[]
  /** Each criterion and its last result. */
  readonly criteria: readonly {
    readonly part: string
    readonly criterion: string
    readonly holds: boolean | null
    readonly [key: string]: unknown
  }[]
  /** Sums over all attempts; null for values that no attempt reports. */
  readonly used: Used
  /** What would run; null when the task has ended. */
  readonly preview: string | null
  readonly log: {
    readonly items: readonly {
      readonly seq: Int
      readonly stream: string
      readonly at: Time
      readonly text: string
      readonly [key: string]: unknown
    }[]
    /** There are earlier lines: GET …/logs?before=… */
    readonly cut: boolean
  }
  /** Null when no attempt changed files, and for viewers. */
  readonly changes: {
    readonly visit: Int
    readonly attempt: Int
    readonly files: readonly FileChange[]
    /** The number of changed files that are not listed. */
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
  /** It waits for an answer. `question`, `asks`, `asked`, `answers` and `agree` are present only then. */
  readonly open: boolean
  readonly state: string
  /** What is asked, as a sentence. */
  readonly question?: string
  readonly asks?: string
  readonly asked?: Json
  readonly answers?: readonly string[]
  readonly agree?: {
    /** The role that may answer; null for everyone with the right to decide. */
    readonly role: string | null
    /** How many approvals are needed. */
    readonly count: Int
    readonly given: readonly { readonly by: string; readonly rationale: string }[]
    readonly told: string | null
  }
  readonly definition: JsonObject
  /** The decisions so far, oldest first. */
  readonly decisions: readonly DecisionShown[]
  /** Reviewers and affected people of the plan, and what it claims about an approval, as sentences. */
  readonly people: readonly string[]
  readonly consent: {
    /** The hash of what is shown; an approval can be bound to it. */
    readonly hash: string
    /** The whole text, the same in the CLI, the web UI and for agents. */
    readonly text: string
    /** The same text with emphasis. */
    readonly lines: readonly (readonly Span[])[]
    /** The data that the text is made from. */
    readonly shown: { readonly type: 'task' | 'gate'; readonly [key: string]: unknown }
    /** The files that the commands name, with the content that would be run. */
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
  /** What a review that waits for a person shows of the work: its brief, diff, checks and earlier attempts. */
  readonly work?: readonly { readonly title: string; readonly text: string }[]
  /** Viewers do not see what is stored: `consent` is null for them. */
  readonly hidden: boolean
}

export type DecisionList = PageOf<{
  /** `PLAN@ENTRY`. */
  readonly id: string
  readonly plan_id: string
  readonly name: string
  readonly task: string | null
  readonly asked: string
  readonly answer: string
  /** The reason given; empty if none. */
  readonly why: string
  readonly by: string
  readonly at: Time
  readonly entry: Int
}>

export type LessonList = PageOf<{
  readonly plan_id: string
  readonly name: string
  readonly task: string
  /** The run of the task that it is about. */
  readonly visit: Int
  readonly text: string
  readonly by: string
  /** When the task that learnt it ended. */
  readonly at: Time
  readonly files: readonly {
    readonly path: string
    /** Where the file is now; null if the lesson no longer holds there. */
    readonly now: string | null
    readonly standing: 'valid' | 'doubtful' | 'dropped'
    readonly why: string | null
  }[]
  /** `doubtful`: its lines were moved, or the file was renamed. `dropped`: they were changed since, or its time is up. */
  readonly standing: 'valid' | 'doubtful' | 'dropped'
  readonly why: string | null
}>
