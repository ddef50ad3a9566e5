// The door of `engine/`, used by every face: submit an order, ask a query, watch, always in the name of one caller. Queries are typed
// values, so the same door works over HTTP. Plans are driven by the Worker below, which a face that only asks never needs.

import type { Actor, PlanId, TaskName } from '../domain/id.ts'
import type { Json } from '../domain/json.ts'
import type { Shortage } from '../domain/shortage.ts'
import type { Entry, Holder, Once, Position, Store, Streams, StreamUpdated } from '../stores/store.ts'
import type { Memory } from './memory.ts'
import type { Order, OrderType, Submitted } from './orders.ts'
import type { AnswerOf, Halt, Halted, QueryOf, QueryType, ScopeWait } from './queries.ts'
import type { Caller, Right } from './roles.ts'

export type { TaskChanges } from '../domain/revisions/merge.ts'
export type { Feed, PlanProgress } from './feed.ts'
export type { FoundMemory, Memory } from './memory.ts'
/** Bound to a caller, with that caller's rights and scope. Methods whose answer has no place for a refusal throw NotAllowed. */
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
  ChangesShown,
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
  WorkerRow,
  WorkersView,
} from './queries.ts'
export type { Caller } from './roles.ts'

export interface Engine {
  /** `plan` is a UUID or a name; null for `create`. Resolves when the entry is durable. */
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

/** Streams of the store; appends are in the caller's name. */
export type OwnStreams<S> =
  S extends Streams<infer E, infer R, infer F>
    ? Omit<Streams<E, R, F>, 'append'> & {
        append(id: string, events: readonly E[], options?: AppendOptions): Promise<StreamUpdated>
      }
    : never

export interface AppendOptions {
  /** Refused with code `conflict` if the stream has changed. */
  readonly expectedVersion?: number
  readonly once?: Once
}

export interface SubmitOptions {
  /** Refused with code `conflict` if the plan has changed. */
  readonly expectedVersion?: number
  /** An idempotency key of the actor: the same order under the same key is carried out once, and gets the same answer. */
  readonly once?: string
  /** What the key identifies if the order is computed from the plan and may differ next time. In this process only. */
  readonly asked?: Json
}

export interface EngineInProcess extends Engine {
  /** The earlier answer under this key for the same `asked`; null if the key is new. Refused if it was used for something else. */
  answered(once: string, asked: Json): Promise<Submitted | null>
  readonly caller: Caller
  readonly memory: Memory
  /** The right that an order of this type needs. */
  rightFor(order: OrderType): Right
  /**
   * The same engine for another caller; a bare name keeps rights and scope. Another name or more rights need `administer`, and a scope can
   * only shrink: else throws NotAllowed.
   */
  as(caller: Caller | Actor): EngineInProcess
}

/** Stops everything in this store, and prevents new work until it is lifted. */
export interface KillSwitch {
  halt(reason: string | null): Promise<Halted>
  /** Returns who had halted it; null if nobody had. */
  lift(): Promise<Halt | null>
  halted(): Promise<Halt | null>
}
export type AnyQuery = { [T in QueryType]: QueryOf<T> }[QueryType]

export interface Worker {
  drive(plan: PlanId, options: DriveOptions): Promise<Driven>
  /** Sends pending notices of a plan that no process drives. */
  tell(plan: PlanId, options?: { readonly stop?: AbortSignal }): Promise<void>
  /** Active plans whose owner died: what a rescuer would take over. */
  orphans(): Promise<readonly PlanId[]>
  /** Takes over orphans and ends expired claims, now and every `everyMs`, until `stop` fires. */
  rescue(options: RescueOptions): Promise<void>
  /** Drives every unowned plan that has work, now and as the journal grows, until `stop` fires. */
  attend(options: AttendOptions): Promise<void>
}

export interface AttendOptions {
  /** Graceful: starts nothing new, stops what is safe to repeat, waits for the rest. */
  readonly stop: AbortSignal
  /** At once: also kills attempts that are unsafe to repeat, and parks their tasks. */
  readonly force?: AbortSignal
  /** How many plans are driven at once; others wait. 16 by default. */
  readonly max?: number
  /** How long a plan is left to another process that gave it an order; one second by default. */
  readonly graceMs?: number
  /** How often to look for expired claims and dead owners. */
  readonly everyMs?: number
  /** Called for every new entry, also those of other processes. */
  readonly onEntry?: (entry: Entry) => void
  readonly onDriving?: (change: 1 | -1) => void
  readonly onDriven?: (plan: PlanId, driven: Driven) => void
  /** Called for an error outside any plan; it is retried later. */
  readonly onTrouble?: (trouble: unknown, plan: PlanId | null) => void
}

export interface RescueOptions {
  readonly everyMs: number
  readonly stop: AbortSignal
  readonly onRescued?: (plan: PlanId) => void
  readonly onDriven?: (plan: PlanId, driven: Driven) => void
}

export interface DriveOptions {
  /** Graceful: starts nothing new, stops what is safe to repeat, waits for the rest. */
  readonly stop: AbortSignal
  /** At once: also kills attempts that are unsafe to repeat, and parks their tasks. */
  readonly force?: AbortSignal
  /** Keep driving while the plan waits for people or agents. */
  readonly stay?: boolean
  /** Rest as `waiting` if nothing will happen for longer than this, even if a retry is due later. */
  readonly patienceMs?: number
  /** How long a result is held that cannot be stored for lack of space; five seconds by default. */
  readonly holdMs?: number
  /** Live output, in order, already durable or about to be; raw text: escape before printing. */
  readonly onOutput?: (task: TaskName, text: string) => void
  /** Notes of the engine about a running attempt, which the log shows between its output. */
  readonly onNote?: (task: TaskName, text: string) => void
  /** Called when tasks start or stop waiting for files that other plans have reserved; gets all that wait now. */
  readonly onWaiting?: (waits: readonly ScopeWait[]) => void
}

export type Driven =
  | {
      readonly status: 'rested'
      readonly rest: 'ended' | 'paused' | 'draft' | 'waiting'
      /** Tasks that wait because other plans have reserved their files. */
      readonly held?: readonly ScopeWait[]
    }
  | { readonly status: 'held'; readonly holder: Holder }
  /** It cannot be driven by this worker: what it wants, and where that may be. */
  | {
      readonly status: 'elsewhere'
      readonly reason: string
      readonly labels: readonly string[]
      /** It wants a secret that is not configured here. */
      readonly secret?: string
    }
  /** Our lease is lost; its new owner continues. */
  | { readonly status: 'lost' }
  | { readonly status: 'stopped' }
  /** A shortage, and the plan could not be paused, or is being rolled back or compensated: `resume` continues. */
  | { readonly status: 'short'; readonly shortage: Shortage }
