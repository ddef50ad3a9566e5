// The door of `engine/`, used by every face: submit a command, ask a query, watch what happens. Queries are typed values, so
// the same door works over HTTP. Driving plans is the Worker's job, below; a face that only asks never needs one.

import type { CommandOf, Reset } from '../domain/command.ts'
import type { Event, GateVerdict, ImportedTask, PlanSource } from '../domain/event.ts'
import type { Actor, Millis, PlanId, Sha256, TaskName } from '../domain/id.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Result } from '../domain/result.ts'
import type { PlanStatus } from '../domain/status.ts'
import type { Card } from '../domain/views/board.ts'
import type { Briefing } from '../domain/views/briefing.ts'
import type { Checkpoint } from '../domain/views/checkpoints.ts'
import type { Comparison } from '../domain/views/compare.ts'
import type { Digest } from '../domain/views/digest.ts'
import type { Removed } from '../domain/views/removed.ts'
import type { Summary } from '../domain/views/summary.ts'
import type {
  AttemptQuery,
  AttemptRow,
  CheckReport,
  Entry,
  Found,
  Holder,
  MetricRow,
  Page,
  PlanQuery,
  PlanRow,
  Position,
  Pruned,
  StoredLog,
  TaskQuery,
  TaskRow,
} from '../stores/store.ts'
import type { RollbackStep } from '../workspace/git/git.ts'
import type { Change, LeftOut } from '../workspace/workspace.ts'
import type { AuditTrail, HandedOn } from './audit-answers.ts'
import type { Halt, Halted } from './halting.ts'
import type { Inbox, InboxFate } from './inbox-answers.ts'
import type { Chain } from './proving.ts'
import type { PullRequest } from './pull-request.ts'
import type { Replay } from './replay.ts'

export type { AuditTrail, HandedOn } from './audit-answers.ts'
export type { Halt, Halted } from './halting.ts'
export type { Inbox, InboxEntry, InboxFate } from './inbox-answers.ts'
export type { Chain } from './proving.ts'
export type { PullRequest } from './pull-request.ts'
export type { Replay, ReplayFault } from './replay.ts'

export interface Engine {
  /** `plan` is a UUID or a name; null for `create`. Resolves only when what happened is durable. */
  submit(
    plan: string | null,
    order: Order,
    actor: Actor,
    options?: { readonly expectedVersion?: number },
  ): Promise<Submitted>
  ask<T extends QueryType>(query: QueryOf<T>): Promise<AnswerOf<T>>
  readonly killSwitch: KillSwitch
  watch(options: {
    readonly plan?: PlanId
    readonly after: Position
    readonly signal: AbortSignal
  }): AsyncIterable<Entry>
  close(): Promise<void>
}

/** Stops everything in this store, and lets nothing begin until it is lifted. */
export interface KillSwitch {
  halt(reason: string, actor: Actor): Promise<Halted>
  /** Who had halted it; null when nobody had. */
  lift(): Promise<Halt | null>
  halted(): Promise<Halt | null>
}

/** What a face may order. Ids, hashes and tokens are made by the engine. */
export type Order =
  | {
      readonly type: 'create'
      readonly definition: PlanDefinition
      readonly origin?: PlanId
      readonly session?: string
      readonly goal?: string /** `number` makes `name-2`, `name-3` … when the name is taken. */
      readonly taken?: 'refuse' | 'number'
      readonly source?: PlanSource
      readonly imported?: readonly ImportedTask[]
    }
  | {
      readonly type: 'revise'
      readonly definition: PlanDefinition
      readonly rationale: string
      readonly source?: PlanSource
      readonly expectedRevision?: number
    }
  | CommandOf<'start'>
  | CommandOf<'pause'>
  | CommandOf<'resume'>
  | CommandOf<'cancel'>
  | CommandOf<'archive'>
  | { readonly type: 'claim'; readonly task?: TaskName; readonly leaseMs?: number }
  | { readonly type: 'heartbeat'; readonly task: TaskName; readonly token: string; readonly leaseMs?: number }
  | { readonly type: 'report'; readonly task: TaskName; readonly token?: string; readonly result: Result }
  | { readonly type: 'decide'; readonly task: TaskName; readonly verdict: GateVerdict; readonly rationale: string }
  | CommandOf<'retry'>
  | CommandOf<'skip'>
  | CommandOf<'note'>
  /** All files are stored first; without a name it is called after the time. */
  | { readonly type: 'checkpoint'; readonly name?: string }
  /** Refused where somebody has worked since and nobody chose. Whoever drives the plan carries it out. */
  | ({ readonly type: 'rollback' } & RollbackAsk)
  /** A new plan that goes on from where this one stood; this one and its files stay as they are. */
  | ({ readonly type: 'fork' } & ForkAsk)
  /** Takes back the last rollback; twice is a redo. */
  | ({ readonly type: 'undo' } & Pick<RollbackAsk, 'choices' | 'every' | 'force' | 'keepGit'>)

/** From where, and with what else. */
export interface ForkAsk {
  /** A task (where it had ended), a checkpoint by name, or the number of an entry. */
  readonly from: string
  /** `<plan>-fork`, numbered, when absent. */
  readonly name?: string
  /** By `task.key`, for tasks that are open there. */
  readonly inputs?: { readonly [place: string]: Json }
  /** Another definition than that of then. */
  readonly definition?: PlanDefinition
  readonly source?: PlanSource
  /** For open tasks that ask a model. */
  readonly model?: string
  /** Work in the workspace as it is, instead of in a folder of its own. */
  readonly here?: true
}

/** What a fork begins with. */
export interface Forked {
  /** The entry of the other plan it goes on from. */
  readonly from: number
  /** Brought along with what they left. */
  readonly ended: readonly TaskName[]
  readonly open: readonly TaskName[]
  readonly works:
    | { readonly in: 'workspace' }
    | {
        readonly in: 'folder' | 'worktree'
        /** Relative to the workspace. */
        readonly place: string
        readonly files: number
        /** What is not there: ignored, or never stored. */
        readonly left: { readonly paths: number; readonly first: readonly LeftOut[] }
        /** Files the plan never wrote: as they were at that entry, or as they are now. */
        readonly others: 'then' | 'now'
        /** Tasks that worked since without anybody looking at what they wrote: their files are as they are now. */
        readonly unseen: readonly TaskName[]
        /** Why it is no worktree although there is a repository. */
        readonly why?: string
      }
}

/** Where to, and how much of it. */
export interface RollbackAsk {
  /** A checkpoint by name, or the number of an entry; before the first task when absent. */
  readonly to?: string
  /** Only these paths or patterns; tasks stay as they are. */
  readonly files?: readonly string[]
  /** Only what these tasks wrote; they and what came after them are open again. */
  readonly tasks?: readonly TaskName[]
  readonly filesOnly?: true
  readonly keepGit?: true
  readonly force?: true
  /** For single paths where somebody has worked since. */
  readonly choices?: { readonly [path: string]: 'mine' | 'theirs' | 'merge' }
  /** For all other such paths. */
  readonly every?: 'mine' | 'theirs' | 'merge'
}

/** What a rollback would do. Nothing was changed. */
export type RollbackPreview =
  | {
      readonly ok: true
      readonly kind: 'rollback' | 'undo'
      /** The entry it goes to, and the checkpoint it is known by. */
      readonly to: number
      readonly checkpoint: Checkpoint | null
      /** Every path that was written since. */
      readonly files: readonly FilePreview[]
      readonly resets: readonly Reset[]
      /** Whose compensation would be run, last completed first. */
      readonly compensate: readonly TaskName[]
      /** What happened outside the workspace and stays: tasks with effects nobody can undo here. */
      readonly stays: readonly { readonly task: TaskName; readonly why: string; readonly declared: boolean }[]
      readonly git: readonly RollbackStep[]
      /** Edits somebody made between two tasks, kept under their hash. */
      readonly kept: readonly { readonly path: string; readonly sha256: Sha256 }[]
    }
  | { readonly ok: false; readonly refusal: Refusal }

export interface FilePreview {
  readonly path: string
  readonly will: 'restore' | 'create' | 'delete' | 'chmod' | 'leave'
  /** Somebody has worked there since. */
  readonly conflict?: 'edited since' | 'appeared' | 'gone'
  readonly why?: string
}

export type Submitted =
  | {
      readonly ok: true
      readonly plan: PlanId
      readonly name: string
      readonly version: number
      readonly events: readonly Event[] /** For `claim`. */
      readonly claim?: { readonly task: TaskName; readonly token: string; readonly expiresInMs: number }
      /** For `fork`; the plan told of is the new one. */
      readonly fork?: Forked
    }
  | { readonly ok: false; readonly refusal: Refusal }

/** Every query with its answer. `plan` is a UUID or a name; an unknown one answers null. */
export interface Queries {
  find: { ask: { reference: string }; answer: Found | null }
  summary: { ask: { plan: string }; answer: (Summary & { readonly holder: Holder | null }) | null }
  board: { ask: { plan: string }; answer: readonly Card[] | null }
  task: { ask: { plan: string; task: string }; answer: Card | null }
  /** What whoever takes the task in hand must know, with its inputs resolved. */
  briefing: { ask: { plan: string; task: string }; answer: Briefing | null }
  /** A task that a revision took away, as it stood last; null for one that is there or never was. */
  removed: { ask: { plan: string; task: string }; answer: Removed | null }
  definition: {
    ask: { plan: string; revision?: number }
    answer: { readonly definition: PlanDefinition; readonly revision: number; readonly hash: string } | null
  }
  /** What can be worked on now, best first; with the reason for every task that cannot when `explain` is set. */
  next: {
    ask: { plan: string; explain?: boolean }
    answer: {
      readonly ready: readonly Card[]
      readonly explained: readonly { readonly task: TaskName; readonly why: string }[]
    } | null
  }
  plans: { ask: PlanQuery; answer: Page<PlanRow> }
  tasks: { ask: TaskQuery; answer: Page<TaskRow> }
  attempts: { ask: AttemptQuery; answer: Page<AttemptRow> }
  metrics: { ask: { plan: string }; answer: readonly MetricRow[] | null }
  entries: { ask: { plan: string; after?: number; limit?: number }; answer: readonly Entry[] | null }
  logs: { ask: { plan: string; task?: string; after?: number; limit?: number }; answer: readonly StoredLog[] | null }
  /** The diff or command a task would carry out, without doing it. */
  preview: { ask: { plan: string; task: string }; answer: { readonly text: string } | null }
  /** Every entry proven, decided again, and where a loop wrote it re-enacted. Nothing is written, run or reached. */
  replay: { ask: { plan: string }; answer: Replay | null }
  checkpoints: { ask: { plan: string }; answer: readonly Checkpoint[] | null }
  /** One of them, with what the plan knew there. */
  checkpoint: { ask: { plan: string; checkpoint: string }; answer: CheckpointCard | null }
  /** Paths that differ between two checkpoints, or one and now. */
  checkpointDiff: { ask: { plan: string; from: string; to?: string }; answer: CheckpointDiff | null }
  /** Stored bytes by their hash; null where there are none. */
  blob: { ask: { sha256: Sha256 }; answer: Uint8Array | null }
  rollbackPreview: { ask: { plan: string; undo?: true } & RollbackAsk; answer: RollbackPreview | null }
  compare: { ask: { plan: string; with: string }; answer: Comparison | null }
  /** Title and body for what the plan did, from its journal and its branch. */
  pullRequest: { ask: { plan: string }; answer: PullRequest | null }
  /** Who asked, decided, ran and wrote what, as far as the chain proves it. */
  audit: { ask: { plan: string; since?: Millis }; answer: AuditTrail | null }
  /** The chain of a journal, proven to its end; with the hashes of single entries. */
  chain: { ask: { plan: string; at?: readonly number[] }; answer: Chain | null }
  /** What whoever comes next must know, as facts and as Markdown. The same journal gives the same. */
  handoff: { ask: { plan: string }; answer: HandedOn | null }
  /** Progress and blockers since a time. */
  digest: { ask: { plan: string; since: Millis }; answer: Digest | null }
  /** Everything that waits for a person, in all plans, oldest first. */
  inbox: { ask: object; answer: Inbox }
  /** What became of something that waited; null for an id that never did. */
  inboxFate: { ask: { id: string }; answer: InboxFate | null }
  check: { ask: { readData?: boolean }; answer: CheckReport }
  prune: { ask: { before: Millis; dryRun: boolean }; answer: Pruned }
}
export interface CheckpointCard extends Checkpoint {
  readonly status: PlanStatus
  readonly revision: number
  readonly completed: readonly TaskName[]
  /** What completed tasks had left for others, by task. */
  readonly outputs: { readonly [task: string]: JsonObject }
  readonly decisions: readonly { readonly task: TaskName; readonly verdict: string; readonly rationale: string }[]
  readonly evidence: readonly { readonly task: TaskName; readonly criterion: string; readonly holds: boolean | null }[]
}

export type CheckpointDiff =
  | {
      readonly ok: true
      /** `whole`: all files of both were stored. `written`: only what the plan wrote between them is known. */
      readonly basis: 'whole' | 'written'
      readonly changes: readonly Change[]
      readonly left: readonly LeftOut[]
    }
  | { readonly ok: false; readonly refusal: Refusal }

export type QueryType = keyof Queries
export type QueryOf<T extends QueryType> = { readonly type: T } & Readonly<Queries[T]['ask']>
export type AnswerOf<T extends QueryType> = Queries[T]['answer']

/** Drives plans: claims the lease, runs the loop until the plan rests. */
export interface Worker {
  drive(plan: PlanId, options: DriveOptions): Promise<Driven>
  /** Active plans whose owner is gone: what a rescuer would take over. */
  orphans(): Promise<readonly PlanId[]>
  /** Takes over orphans and gives back lapsed claims, now and every `everyMs`, until `stop` fires. */
  rescue(options: RescueOptions): Promise<void>
}

export interface RescueOptions {
  readonly everyMs: number
  readonly stop: AbortSignal
  readonly onRescued?: (plan: PlanId) => void
  readonly onDriven?: (plan: PlanId, driven: Driven) => void
}

export interface DriveOptions {
  /** Graceful: start nothing new, end what may be run again, wait for what may not. */
  readonly stop: AbortSignal
  /** At once: also ends what may not be run again; it is parked. */
  readonly force?: AbortSignal
  /** Keep driving while the plan waits for people or agents. */
  readonly stay?: boolean
  /** Live output, in order, already durable or about to be; text is raw: escape before printing. */
  readonly onOutput?: (task: TaskName, text: string) => void
}

export type Driven =
  | { readonly status: 'rested'; readonly rest: 'ended' | 'paused' | 'draft' | 'waiting' }
  /** Another process drives it. */
  | { readonly status: 'held'; readonly holder: Holder }
  /** Our lease is gone; whoever has it now drives on. */
  | { readonly status: 'lost' }
  | { readonly status: 'stopped' }
