// The door of `engine/`, used by every face: submit a command, ask a query, watch what happens, always in the name of one caller.
// Queries are typed values, so the same door works over HTTP. Driving plans is the Worker's job, below; a face that only asks never
// needs one.

import type { CommandOf, Decide, UnsafeWork } from '../domain/command.ts'
import type { Event, ImportedTask, PlanSource } from '../domain/event.ts'
import type { Hint } from '../domain/hint.ts'
import type { Actor, Millis, PlanId, Sha256, TaskName } from '../domain/id.ts'
import type { JsonObject } from '../domain/json.ts'
import type { Field, PlanDefinition } from '../domain/plan.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Result } from '../domain/result.ts'
import type { Shortage } from '../domain/shortage.ts'
import type { PlanStatus } from '../domain/status.ts'
import type { Briefing, Card, Removed } from '../domain/views/board.ts'
import type { Checkpoint } from '../domain/views/checkpoints.ts'
import type { Comparison } from '../domain/views/compare.ts'
import type { Contract } from '../domain/views/contract.ts'
import type { Digest } from '../domain/views/digest.ts'
import type { Summary } from '../domain/views/summary.ts'
import type {
  AttemptQuery,
  AttemptRow,
  CheckReport,
  Conversation,
  Entry,
  Found,
  Holder,
  MetricRow,
  Once,
  Page,
  PlanQuery,
  PlanRow,
  Position,
  Pruned,
  ScopeHolder,
  Store,
  StoredLog,
  Streams,
  StreamUpdated,
  TaskQuery,
  TaskRow,
} from '../stores/store.ts'
import type { Change, LeftOut } from '../workspace/workspace.ts'
import type { Caller } from './caller.ts'
import type {
  AdoptAsk,
  Adopted,
  EditingOrder,
  ForkAsk,
  Forked,
  ReplanningOrder,
  RestoreAsk,
  RollbackAsk,
} from './order-types.ts'
import type {
  AdoptionPreview,
  AskedQuestion,
  AuditTrail,
  Chain,
  ChangedFile,
  EditingQueries,
  Halt,
  Halted,
  HandedOn,
  Inbox,
  InboxFate,
  KeptFile,
  OpenReview,
  PullRequest,
  RecordQueries,
  ReplanningQueries,
  Replay,
  RollbackPreview,
} from './query-types.ts'

export type { PlanChanges, TaskChanges } from '../domain/revisions/merge.ts'
export type { Caller, Right, Role, Scope } from './caller.ts'
export type { AdoptAsk, Adopted, ForkAsk, Forked, RestoreAsk, RollbackAsk } from './order-types.ts'
export type {
  AdoptionPreview,
  AskedQuestion,
  AuditTrail,
  Chain,
  ChangedFile,
  Feed,
  FilePreview,
  Halt,
  Halted,
  HandedOn,
  Inbox,
  InboxEntry,
  InboxFate,
  KeptFile,
  OpenReview,
  PlanProgress,
  PullRequest,
  Replay,
  ReplayFault,
  RollbackPreview,
  TaskRecord,
} from './query-types.ts'

/** Bound to a caller: everything is done in their name, as far as they may. What has no place for a refusal throws NotAllowed. */
export interface Engine {
  /** `plan` is a UUID or a name; null for `create`. Resolves only when what happened is durable. */
  submit(plan: string | null, order: Order, options?: SubmitOptions): Promise<Submitted>
  ask<T extends QueryType>(query: QueryOf<T>): Promise<AnswerOf<T>>
  readonly killSwitch: KillSwitch
  watch(options: {
    readonly plan?: PlanId
    readonly after: Position
    readonly signal: AbortSignal
  }): AsyncIterable<Entry>
  readonly sessions: OwnStreams<Store['sessions']>
  readonly goals: OwnStreams<Store['goals']>
  close(): Promise<void>
}

/** Streams of the store, appended to in the caller's name. */
export type OwnStreams<S> =
  S extends Streams<infer E, infer R, infer F>
    ? Omit<Streams<E, R, F>, 'append'> & {
        append(id: string, events: readonly E[], options?: AppendOptions): Promise<StreamUpdated>
      }
    : never

export interface AppendOptions {
  /** Refused with code `conflict` when the stream has moved on. */
  readonly expectedVersion?: number
  readonly once?: Once
}

export interface SubmitOptions {
  /** Refused with code `conflict` when the plan has moved on. */
  readonly expectedVersion?: number
  /** A key of the actor's own: the same order under the same key is carried out once, and answered as it was. */
  readonly once?: string
}

/** The door as whoever lives in the same process sees it. */
export interface EngineInProcess extends Engine {
  readonly caller: Caller
  /**
   * The same engine for somebody else; a bare name keeps rights and scope. Another name or more rights are only for callers who
   * administer, and nobody gets out of their scope: throws NotAllowed.
   */
  as(caller: Caller | Actor): EngineInProcess
}

/** Stops everything in this store, and lets nothing begin until it is lifted. */
export interface KillSwitch {
  halt(reason: string): Promise<Halted>
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
      /** What its session holds of it: written in the same transaction as the plan. */
      readonly conversation?: Conversation
      readonly goal?: string
      /** Who is to carry it out. */
      readonly agent?: string
      /** `number` makes `name-2`, `name-3` … when the name is taken. */
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
      /** A plan that failed goes on by it, also when the definition is the same. */
      readonly goOn?: UnsafeWork
    }
  | CommandOf<'start'>
  | CommandOf<'pause'>
  | CommandOf<'resume'>
  | CommandOf<'cancel'>
  | CommandOf<'archive'>
  /** `alone`: only while no other task of the plan is running. */
  | { readonly type: 'claim'; readonly task?: TaskName; readonly leaseMs?: number; readonly alone?: true }
  | { readonly type: 'heartbeat'; readonly task: TaskName; readonly token: string; readonly leaseMs?: number }
  | { readonly type: 'report'; readonly task: TaskName; readonly token?: string; readonly result: Result }
  /** `edits` is a whole revised document: approved as it stands there. */
  | (Omit<Decide, 'by' | 'edits'> & { readonly edits?: GateEdits })
  /** Several gates in one review: all of them are decided, or none. Each with the hash of what was seen. */
  | { readonly type: 'review'; readonly decisions: readonly Omit<Decide, 'type' | 'by' | 'edits'>[] }
  /** A question in the middle of somebody's work; its id is in the event. */
  | { readonly type: 'ask'; readonly text: string; readonly form: readonly Field[]; readonly task?: TaskName }
  | { readonly type: 'answer'; readonly id: string; readonly answers: JsonObject }
  | ReplanningOrder
  | EditingOrder
  | CommandOf<'retry'>
  | CommandOf<'skip'>
  | CommandOf<'note'>
  /** All files are stored first; without a name it is called after the time. */
  | { readonly type: 'checkpoint'; readonly name?: string }
  /** Refused where somebody has worked since and nobody chose. Whoever drives the plan carries it out. */
  | ({ readonly type: 'rollback' } & RollbackAsk)
  /** A new plan that goes on from where this one stood; this one and its files stay as they are. */
  | ({ readonly type: 'fork' } & ForkAsk)
  /** Brings back versions of files that had been set back. Refused where something else stands and nobody chose. */
  | ({ readonly type: 'restore' } & RestoreAsk)
  /** Of a fork: its work is brought into the plan it was made from, whose journal `undo` takes it back with. */
  | ({ readonly type: 'adopt' } & AdoptAsk)
  /** Takes back the last rollback; twice is a redo. */
  | ({ readonly type: 'undo' } & Pick<RollbackAsk, 'choices' | 'every' | 'force' | 'keepGit'>)

/** What somebody makes of the plan while they approve it. */
export interface GateEdits {
  readonly definition: PlanDefinition
  readonly source?: PlanSource
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
      /** For `adopt`; the plan told of is the one it is recorded in while it is ordered, then the fork. */
      readonly adopted?: Adopted
      /** It was ordered before under the same key: version and events are those of then. */
      readonly replayed?: true
    }
  | { readonly ok: false; readonly refusal: Refusal }

/** Every query with its answer. `plan` is a UUID or a name; an unknown one answers null. */
export interface Queries extends ReplanningQueries, EditingQueries, RecordQueries {
  find: { ask: { reference: string }; answer: Found | null }
  summary: { ask: { plan: string }; answer: (Summary & { readonly holder: Holder | null }) | null }
  board: { ask: { plan: string }; answer: readonly Card[] | null }
  task: { ask: { plan: string; task: string }; answer: Card | null }
  /** What whoever takes the task in hand must know, with its inputs resolved. */
  briefing: { ask: { plan: string; task: string }; answer: Briefing | null }
  /** A task that a revision took away, as it stood last; null for one that is there or never was. */
  removed: { ask: { plan: string; task: string }; answer: Removed | null }
  /** `hash` is '' while tasks were added to a draft that nobody has sealed. */
  definition: {
    ask: { plan: string; revision?: number }
    answer: { readonly definition: PlanDefinition; readonly revision: number; readonly hash: string } | null
  }
  /** What can be worked on now, best first; with the reason for every task that cannot when `explain` is set. */
  next: {
    ask: { plan: string; explain?: boolean }
    answer: {
      readonly ready: readonly Card[]
      readonly explained: readonly { readonly task: TaskName; readonly why: Hint }[]
      /** Those that could begin if other plans did not hold their files. */
      readonly held: readonly ScopeWait[]
    } | null
  }
  plans: { ask: PlanQuery; answer: Page<PlanRow> }
  tasks: { ask: TaskQuery; answer: Page<TaskRow> }
  attempts: { ask: AttemptQuery; answer: Page<AttemptRow> }
  metrics: { ask: { plan: string }; answer: readonly MetricRow[] | null }
  entries: { ask: { plan: string; after?: number; limit?: number }; answer: readonly Entry[] | null }
  logs: { ask: { plan: string; task?: string; after?: number; limit?: number }; answer: readonly StoredLog[] | null }
  /** The diff or command a task would carry out, without doing it. */
  preview: {
    ask: {
      plan: string
      task: string
      /** Tasks whose edits come before it, and are looked at as if they had been made. */
      earlier?: readonly string[]
    }
    answer: { readonly text: string } | null
  }
  /** Every entry proven, decided again, and where a loop wrote it re-enacted. Nothing is written, run or reached. */
  replay: { ask: { plan: string }; answer: Replay | null }
  checkpoints: { ask: { plan: string }; answer: readonly Checkpoint[] | null }
  /** One of them, with what the plan knew there. */
  checkpoint: { ask: { plan: string; checkpoint: string }; answer: CheckpointCard | null }
  /** Paths that differ between two checkpoints, or one and now. */
  checkpointDiff: { ask: { plan: string; from: string; to?: string }; answer: CheckpointDiff | null }
  /** Files that the plan left different, by path. */
  changedFiles: { ask: { plan: string }; answer: readonly ChangedFile[] | null }
  /** The bytes of an artifact that a task of the plan left; null when none did. */
  artifact: { ask: { plan: string; sha256: Sha256 }; answer: Uint8Array | null }
  /** Stored bytes by their hash; null where there are none. */
  blob: { ask: { sha256: Sha256 }; answer: Uint8Array | null }
  rollbackPreview: { ask: { plan: string; undo?: true } & RollbackAsk; answer: RollbackPreview | null }
  /** Versions of files that were set back and can be restored, oldest first. */
  keptFiles: { ask: { plan: string }; answer: readonly KeptFile[] | null }
  /** What `adopt` would do with the work of a fork. */
  adoption: { ask: { plan: string; into?: string }; answer: AdoptionPreview | null }
  compare: { ask: { plan: string; with: string }; answer: Comparison | null }
  /** Title and body for what the plan did, from its journal and its branch. */
  pullRequest: { ask: { plan: string }; answer: PullRequest | null }
  /** Who asked, decided, ran and wrote what, as far as the chain proves it. */
  audit: { ask: { plan: string; since?: Millis }; answer: AuditTrail | null }
  /** The chain of a journal, proven to its end; with the hashes of single entries. */
  chain: { ask: { plan: string; at?: readonly number[] }; answer: Chain | null }
  /** What whoever comes next must know, as facts and as Markdown. The same journal gives the same. */
  handoff: { ask: { plan: string; links?: boolean }; answer: HandedOn | null }
  /** Progress and blockers since a time. */
  digest: { ask: { plan: string; since: Millis }; answer: Digest | null }
  /** Every criterion, and how it was judged last. */
  contract: { ask: { plan: string }; answer: Contract | null }
  /** Everything that waits for a person, in all plans, oldest first. */
  inbox: { ask: object; answer: Inbox }
  /** Questions asked in the middle of work: those that wait, or the one of this id, with its answer. */
  questions: { ask: { plan: string; id?: string }; answer: readonly AskedQuestion[] | null }
  /** Approvals that are looked at together, oldest first. */
  reviews: { ask: { plan: string }; answer: readonly OpenReview[] | null }
  /** What became of something that waited; null for an id that never did. */
  inboxFate: { ask: { id: string }; answer: InboxFate | null }
  /** Where the journal of the whole store ends now: to watch from here is to see what happens next. */
  position: { ask: object; answer: Position }
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
/** Told apart by its type. */
export type AnyQuery = { [T in QueryType]: QueryOf<T> }[QueryType]

/** Drives plans: claims the lease, runs the loop until the plan rests. */
export interface Worker {
  drive(plan: PlanId, options: DriveOptions): Promise<Driven>
  /** Tells whom the plan says what is left to tell, when nobody drives it. */
  tell(plan: PlanId, options?: { readonly stop?: AbortSignal }): Promise<void>
  /** Active plans whose owner is gone: what a rescuer would take over. */
  orphans(): Promise<readonly PlanId[]>
  /** Takes over orphans and gives back lapsed claims, now and every `everyMs`, until `stop` fires. */
  rescue(options: RescueOptions): Promise<void>
  /** Drives every plan that has something to do and that nobody holds, now and as the journal goes on, until `stop` fires. */
  attend(options: AttendOptions): Promise<void>
}

export interface AttendOptions {
  /** Graceful: nothing new begins, and what runs comes to rest. */
  readonly stop: AbortSignal
  /** At once: also what may not be run again is ended; it is parked. */
  readonly force?: AbortSignal
  /** How many plans are driven at once; the others wait for their turn. */
  readonly max?: number
  /** How long a plan that another process set going is left to that process; a second when not said. */
  readonly graceMs?: number
  /** How often claims and owners that died are looked after. */
  readonly everyMs?: number
  /** Every entry from now on, by whomever it was written. */
  readonly onEntry?: (entry: Entry) => void
  /** One more plan is driven, or one less. */
  readonly onDriving?: (change: 1 | -1) => void
  readonly onDriven?: (plan: PlanId, driven: Driven) => void
  /** Something went wrong that is no part of a plan; it is tried again later. */
  readonly onTrouble?: (trouble: unknown, plan: PlanId | null) => void
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
  /** Rest as `waiting` when nothing will happen for longer than this, though a retry is to come. */
  readonly patienceMs?: number
  /** How long a known result is held that cannot be stored for want of space; five seconds when not said. */
  readonly holdMs?: number
  /** Live output, in order, already durable or about to be; text is raw: escape before printing. */
  readonly onOutput?: (task: TaskName, text: string) => void
  /** Called when tasks begin or cease to wait for files that other plans hold; with all that wait now. */
  readonly onWaiting?: (waits: readonly ScopeWait[]) => void
}

export type Driven =
  | {
      readonly status: 'rested'
      readonly rest: 'ended' | 'paused' | 'draft' | 'waiting'
      /** Tasks that wait because other plans hold their files. */
      readonly held?: readonly ScopeWait[]
    }
  /** Another process drives it. */
  | { readonly status: 'held'; readonly holder: Holder }
  /** Our lease is gone; whoever has it now drives on. */
  | { readonly status: 'lost' }
  | { readonly status: 'stopped' }
  /** Our side lacks something, and a pause could not be written, or the plan is being undone: `resume` goes on. */
  | { readonly status: 'short'; readonly shortage: Shortage }

/** A task that could begin if other plans did not hold its files. */
export interface ScopeWait {
  readonly task: TaskName
  readonly visit: number
  /** Where it works, relative to the state folder, and what it would write there. */
  readonly root: string
  readonly paths: readonly string[]
  readonly by: readonly ScopeBlocker[]
}

/** Who holds them. */
export interface ScopeBlocker extends ScopeHolder {
  /** A living process drives that plan. */
  readonly driven: boolean
  /** The orders that end the wait where nobody drives it. */
  readonly orders: readonly ('resume' | 'cancel')[]
}
