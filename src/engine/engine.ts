// The door of `engine/`, used by every face: submit a command, ask a query, watch what happens, always in the name of one caller.
// Queries are typed values, so the same door works over HTTP. Driving plans is the Worker's job, below; a face that only asks never
// needs one.

import type { Actor, PlanId, TaskName } from '../domain/id.ts'
import type { Json } from '../domain/json.ts'
import type { Shortage } from '../domain/shortage.ts'
import type { Entry, Holder, Once, Position, Store, Streams, StreamUpdated } from '../stores/store.ts'
import type { Order, OrderType, Submitted } from './orders.ts'
import type { AnswerOf, Halt, Halted, QueryOf, QueryType, ScopeWait } from './queries.ts'
import type { Caller, Right } from './roles.ts'

export type { TaskChanges } from '../domain/revisions/merge.ts'
export type { Feed, PlanProgress } from './feed.ts'
/** Bound to a caller: everything is done in their name, as far as they may. What has no place for a refusal throws NotAllowed. */
export type {
  AdoptAsk,
  Adopted,
  ForkAsk,
  Forked,
  Order,
  RestoreAsk,
  RollbackAsk,
  Submitted,
  WrittenBy,
} from './orders.ts'
export type {
  AdoptionPreview,
  AnswerOf,
  AskedQuestion,
  AuditTrail,
  Chain,
  CheckpointCard,
  CheckpointDiff,
  FilePreview,
  Halt,
  Halted,
  InboxEntry,
  InboxFate,
  KeptFile,
  OpenReview,
  PullRequest,
  Queries,
  QueryOf,
  QueryType,
  Replay,
  ReplayFault,
  RollbackPreview,
  ScopeWait,
  TaskPage,
  TaskRecord,
} from './queries.ts'
export type { Caller } from './roles.ts'

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
  /** What the key counts for where the order is made from the plan, and may differ next time. In this process only. */
  readonly asked?: Json
}

/** The door as whoever lives in the same process sees it. */
export interface EngineInProcess extends Engine {
  /** What was answered under a key that counts for what was `asked`; null when it is new. Refused when it was used for something else. */
  answered(once: string, asked: Json): Promise<Submitted | null>
  readonly caller: Caller
  /** What a caller needs to give orders of this type. */
  rightFor(order: OrderType): Right
  /**
   * The same engine for somebody else; a bare name keeps rights and scope. Another name or more rights are only for callers who
   * administer, and nobody gets out of their scope: throws NotAllowed.
   */
  as(caller: Caller | Actor): EngineInProcess
}

/** Stops everything in this store, and lets nothing begin until it is lifted. */
export interface KillSwitch {
  halt(reason: string | null): Promise<Halted>
  /** Who had halted it; null when nobody had. */
  lift(): Promise<Halt | null>
  halted(): Promise<Halt | null>
}
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
  /** What is said about an attempt while it runs, as it stands in the log between what the task prints. */
  readonly onNote?: (task: TaskName, text: string) => void
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
