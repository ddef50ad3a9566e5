// Door of `stores/`. One write path for all callers: `update` catches up with the journal, decides, appends the entry and writes the query
// tables in one locked transaction. Requests of the same turn of the event loop share a commit. A promise settles only when its commit is
// durable (law L6).

import type { Command, CommandOf } from '../domain/command.ts'
import type { Event } from '../domain/event.ts'
import type { Hint } from '../domain/hint.ts'
import type { Actor, Millis, PlanId, PlanName, Sha256, TaskName } from '../domain/id.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Reserves } from '../domain/result.ts'
import type { PlanState } from '../domain/state/state.ts'
import type { Queue, QueueStanding } from '../queues/queue.ts'
import type { SnapshotBlobs } from '../workspace/workspace.ts'
import type { Memories } from './memories.ts'
import type {
  AttemptQuery,
  AttemptRow,
  CaughtUp,
  CheckReport,
  MetricRow,
  OverviewPage,
  OverviewQuery,
  Page,
  PlanQuery,
  PlanRow,
  Pruned,
  SearchHit,
  SearchQuery,
  StepsQuery,
  StepsRow,
  TaskQuery,
  TaskRow,
} from './rows.ts'

export { firstAfter } from './first-after.ts'
export type * from './memories.ts'
export type * from './rows.ts'

export interface Store {
  /**
   * Creates a plan; a taken name is refused with code `exists`. With a `conversation`, the session of the plan is created if necessary and
   * the message is added to it, in the same transaction. A closed session is refused.
   */
  create(
    command: CommandOf<'create'>,
    actor: Actor,
    options?: { readonly once?: Once; readonly conversation?: Conversation },
  ): Promise<Updated>
  /** Any process may write decisions; only the holder of `lease` may write results. */
  update(plan: PlanId, command: Asked, options: UpdateOptions): Promise<Updated>
  /**
   * The same with a command computed from the state inside the transaction, so that no other writer can come between. A refusal is returned,
   * and nothing is written.
   */
  updateFrom(plan: PlanId, workOut: WorkOut, options: UpdateOptions): Promise<Updated>
  /** The earlier answer for an idempotency key; null when the key is new. */
  answered(actor: Actor, once: Once): Promise<Updated | null>
  /** The current fold. Live and read-only: later updates in this process change the same object. Null when unknown. */
  state(plan: PlanId): Promise<PlanState | null>
  /** Finds a plan by UUID or name, or a task by its UUID. */
  find(reference: string): Promise<Found | null>

  /**
   * Verifies that every entry continues the chain and that the journal does not end too early: throws `ChainBroken` at the first fault.
   * `previous` is the hash of entry `after`; default: the stored one.
   */
  read(
    plan: PlanId,
    options?: { readonly after?: number; readonly limit?: number; readonly previous?: string },
  ): Promise<readonly Entry[]>
  /** A page of entries of all plans after `after`, in commit order. Positions only grow; some are left out. */
  since(after: Position, limit: number): Promise<readonly Entry[]>
  /**
   * Entries of all plans (or one) after `after`, in commit order, then live until `signal` fires. Verified: throws `ChainBroken` at the
   * first fault.
   */
  watch(options: {
    readonly after: Position
    readonly plan?: PlanId
    readonly signal: AbortSignal
    /** For readers that only need to know which plans changed: one damaged plan must not stop them. */
    readonly verify?: false
  }): AsyncIterable<Entry>
  /** Calls back soon after any commit, by any process; returns how to unsubscribe. Never called inside a commit. */
  onChange(listener: (origin: 'here' | 'elsewhere') => void): () => void
  position(): Promise<Position>
  /**
   * How many plans were pruned: changes whenever any process prunes, so that cached reads may be of pruned ones. With `after`, only those
   * that had entries behind that position.
   */
  pruned(after?: Position): Promise<number>

  plans(query: PlanQuery): Promise<Page<PlanRow>>
  /** The same with more columns, more orders and counts: visits every matching plan. */
  overview(query: OverviewQuery): Promise<OverviewPage>
  tasks(query: TaskQuery): Promise<Page<TaskRow>>
  attempts(query: AttemptQuery): Promise<Page<AttemptRow>>
  metrics(plan: PlanId): Promise<readonly MetricRow[]>
  search(query: SearchQuery): Promise<CaughtUp<SearchHit>>
  steps(query: StepsQuery): Promise<CaughtUp<StepsRow>>

  readonly leases: Leases
  readonly claims: Claims
  readonly reservations: Reservations
  /** How plans are shared among workers; absent where the store is in the folder of one machine. */
  readonly shared?: Shared
  readonly halts: Halts
  readonly logs: Logs
  readonly blobs: SnapshotBlobs
  readonly memories: Memories
  readonly sessions: Streams<SessionEvent, SessionRow, Pick<Partial<SessionRow>, 'status'>>
  readonly goals: Streams<GoalEvent, GoalRow, Pick<Partial<GoalRow>, 'status' | 'parent'>>

  check(options?: { readonly readData?: boolean }): Promise<CheckReport>
  /**
   * Removes the journals and logs of archived plans, and all unreachable blobs; returns what it removed. A blob stored or used after
   * `blobsBefore` stays, because a process may be about to refer to it.
   */
  prune(options: { readonly before: Millis; readonly blobsBefore?: Millis; readonly dryRun: boolean }): Promise<Pruned>
  /**
   * Background upkeep: catches up search and steps (with `rebuild` from the beginning, also rewriting reservations) and deletes old
   * idempotency keys.
   */
  tidy(options?: { readonly rebuild?: true }): Promise<void>
  close(): Promise<void>
}

/**
 * An idempotency key. For the same actor, key and hash, returns the first answer with the current state. Another hash is refused with code
 * `conflict`. Refusals are not stored. Deleted after 48 hours.
 */
export interface Once {
  readonly key: string
  readonly hash: Sha256
}

export type Position = number

/** A command, or a function that makes it at the time of writing, called once. */
export type Asked = Command | (() => Command)

/** The state is live: copy what must outlive the call. */
export type WorkOut = (state: PlanState) => Command | Refusal

export interface UpdateOptions {
  readonly actor: Actor
  /** Refused with code `conflict` for another version. */
  readonly expectedVersion?: number
  readonly once?: Once
  readonly lease?: Lease
  /** Given when the command starts work: refused with this while everything is halted. */
  readonly whenHalted?: (halt: Halt) => Refusal
  /** The entry has at least this time, whatever the wall clock says. */
  readonly notBefore?: Millis
}

export type Updated =
  | {
      readonly ok: true
      readonly version: number
      readonly position: Position
      readonly events: readonly Event[]
      /** For a repeated `create`, of the plan that was created the first time. */
      readonly state: PlanState
      /** A repeated request: version, position and events are the first ones, and nothing was written. */
      readonly replayed?: true
      /** With a lease: until this monotonic time no other process can have taken the plan. */
      readonly heldUntil?: number | undefined
    }
  | { readonly ok: false; readonly refusal: Refusal }

/** One append: the command, its actor and time, and the resulting events. */
export interface Entry {
  readonly position: Position
  readonly plan: PlanId
  /** 1, 2, 3 … within the plan, without gaps. */
  readonly version: number
  readonly actor: Actor
  readonly now: Millis
  /** The fence of the lease, if the owner wrote it. */
  readonly fence: number | null
  readonly command: Command
  readonly events: readonly Event[]
  /** SHA-256 over the previous hash and the stored bytes of this entry. */
  readonly hash: Sha256
}

/** Thrown by `update` when the lease is lost; the loop ends at once (law L5). */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}
/** Thrown when it is unknown whether the commit happened; read the state again before doing anything. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown'
}
/** Thrown for inconsistent data: a broken hash chain, a damaged blob. Never repaired silently. */
export class StoreDamaged extends Error {
  override readonly name = 'StoreDamaged'
  readonly hint?: string
  constructor(message: string, options: { readonly cause?: unknown; readonly hint?: string } = {}) {
    super(message, options)
    if (options.hint !== undefined) this.hint = options.hint
  }
}
/** The faulty entry, if known, and the fault. */
export class ChainBroken extends StoreDamaged {
  readonly fault: 'tampered' | 'missing' | 'unreadable' | 'unknown-format'
  readonly version: number
  /** Null when there is no such entry. */
  readonly position: Position | null
  constructor(fault: ChainBroken['fault'], version: number, position: Position | null, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), {
      cause,
      ...(cause instanceof StoreDamaged && cause.hint !== undefined ? { hint: cause.hint } : {}),
    })
    this.fault = fault
    this.version = version
    this.position = position
  }
}
/** Thrown when there is no space left. Nothing of the commit was written: free some space and try again. */
export class StoreFull extends Error {
  override readonly name = 'StoreFull'
}
/** Thrown when a file could not be synced: its data may be lost, and a later sync would not report that. */
export class SyncFailed extends Error {
  override readonly name = 'SyncFailed'
}
/** Thrown when another process kept the write lock for too long. Nothing was written: try again. */
export class StoreBusy extends Error {
  override readonly name = 'StoreBusy'
}
/** Thrown, for ever, when the open file is no longer at its path, so that writes would be lost. */
export class StoreGone extends Error {
  override readonly name = 'StoreGone'
}
/** Thrown for a cursor of another list, filter or release. */
export class BadCursor extends RangeError {
  override readonly name = 'BadCursor'
}
/** Thrown when the store cannot be opened safely: newer schema, old SQLite, wrong settings, network filesystem. */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused'
  readonly hint: Hint
  constructor(message: string, hint: Hint) {
    super(message)
    this.hint = hint
  }
}

export interface Found {
  readonly plan: PlanId
  readonly name: PlanName
  readonly task: TaskName | null
}

// Leases: one per process, covering the plans it drives

export interface Leases {
  /** Registers this process; renewed outside the event loop until `stop`. */
  open(options: { readonly leaseMs: number; readonly about?: string }): Promise<Owner>
  /** Every process that has a lease, or had one and was not missed yet. */
  owners(): Promise<readonly OwnerRow[]>
  /**
   * Takes the plan, or returns its owner. A dead owner on this host is taken over at once, any other after its lease. With `over`, only that
   * dead owner is taken over: the one whose processes the caller has already ended.
   */
  claim(plan: PlanId, owner: Owner, options?: { readonly over: string | null }): Promise<Claimed>
  release(plan: PlanId, owner: Owner): Promise<void>
  holder(plan: PlanId): Promise<Holder | null>
  /** Active plans whose driver is gone. */
  orphans(): Promise<readonly PlanId[]>
}

export interface Owner {
  readonly id: string
  /** Aborted when the lease could not be renewed in time. */
  readonly lost: AbortSignal
  /** Changes its description in the list of workers. */
  describe(about: string): Promise<void>
  stop(): Promise<void>
}

export interface OwnerRow {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly alive: boolean
  readonly about: string
  /** Open plans that it drives. */
  readonly plans: readonly PlanId[]
}

export interface Lease {
  readonly owner: string
  readonly fence: number
}

export type Claimed =
  | { readonly ok: true; readonly lease: Lease; readonly tookOver: Holder | null }
  | { readonly ok: false; readonly holder: Holder }

export interface Holder {
  readonly owner: string
  readonly host: string
  readonly pid: number
  /** False when the process is dead or its lease expired. */
  readonly alive: boolean
  readonly since: Millis
  /** Not driven, but only this host may: the plan has confidential tasks, whose contents are there. */
  readonly isHome?: true
}

// Claims of agents on external tasks; heartbeats touch only this row

export interface Claims {
  /**
   * Called after `attempt.started` with a claim is durable, and by heartbeats; without a lease duration, the last one applies. Returns how
   * long the claim is valid now, in milliseconds; null when the token is unknown.
   */
  touch(plan: PlanId, task: TaskName, token: string, leaseMs?: number): Promise<number | null>
  /** To be ended by a `lapse`, which is refused after a late heartbeat. */
  lapsed(plan?: PlanId): Promise<readonly { readonly plan: PlanId; readonly task: TaskName; readonly token: string }[]>
}

// Reservations of files, across all plans

/** Reserved by `attempt.started` and released by the entry that ends the visit; read-only here. */
export interface Reservations {
  /** The other plans with overlapping reservations, and the position of the journal at that moment. */
  holders(
    plan: PlanId,
    wanted: Omit<Reserves, 'seen'>,
  ): Promise<{ readonly holders: readonly ScopeHolder[]; readonly seen: Position }>
  held(plan: PlanId): Promise<readonly ScopeHolder[]>
}

export interface ScopeHolder {
  readonly plan: PlanId
  readonly name: PlanName
  readonly task: TaskName
  readonly visit: number
  /** From `holders`, only its patterns that overlap. */
  readonly paths: readonly string[]
  readonly since: Millis
}

// Workers of several machines on one store

export interface Shared {
  /** The workspace of this process. */
  readonly here: { readonly workspace: string; readonly root: string }
  /** For a worker with these labels, in the workspace that the store was opened for. */
  queue(labels: ReadonlySet<string>): Queue
  /** Null for a plan that is not there. */
  workspaceOf(plan: PlanId): Promise<PlanWorkspace | null>
  standing(): Promise<QueueStanding>
}

/** The folder that the plans of a process work in, the same on every machine that has it. */
export interface PlansWorkspace {
  readonly id: string
  readonly root: string
}

export interface PlanWorkspace {
  /** Is it the one that the store was opened for? */
  readonly here: boolean
  /** Where it was seen last. */
  readonly host: string
  readonly root: string
}

// The kill switch: one note for all processes of this store

export interface Halts {
  get(): Promise<Halt | null>
  /** A halt that is in force stays as it is. Returns the one in force. */
  put(halt: Halt): Promise<Halt>
  /** Returns what it lifted. */
  lift(): Promise<Halt | null>
}

export interface Halt {
  readonly by: string
  readonly at: Millis
  readonly reason: string | null
}

// Task output: durable chunks beside the journal, never state

export interface Logs {
  append(chunks: readonly LogChunk[]): Promise<void>
  read(query: {
    readonly plan: PlanId
    readonly task?: TaskName
    readonly after?: number
    /** The last of those before this number, in ascending order. Infinity: the very last. */
    readonly before?: number
    readonly limit?: number
  }): Promise<readonly StoredLog[]>
  /** A page of all plans' output after a number, in order of writing. */
  since(after: number, limit: number): Promise<readonly StoredLog[]>
  last(): Promise<number>
}

export interface LogChunk {
  readonly plan: PlanId
  readonly task: TaskName
  readonly visit: number
  readonly attempt: number
  readonly stream: 'stdout' | 'stderr' | 'engine'
  readonly at: Millis
  readonly text: string
}
export interface StoredLog extends LogChunk {
  readonly seq: number
}

// Sessions and goals: small streams of their own

export interface Streams<E, R, F = unknown> {
  /** Creates the stream if it is new. A stale `expectedVersion` is refused with code `conflict`. */
  append(
    id: string,
    events: readonly E[],
    options: { readonly actor: Actor; readonly expectedVersion?: number; readonly once?: Once },
  ): Promise<StreamUpdated>
  read(
    id: string,
    options?: { readonly after?: number; readonly limit?: number },
  ): Promise<readonly { readonly version: number; readonly at: Millis; readonly actor: Actor; readonly event: E }[]>
  get(id: string): Promise<R | null>
  /** Newest first, filtered by `where`. */
  list(query: { readonly where?: F; readonly limit?: number; readonly cursor?: string }): Promise<Page<R>>
}
export type StreamUpdated =
  /** `id`: of the stream; for a repeated request, of the first one. */
  | { readonly ok: true; readonly id: string; readonly version: number; readonly replayed?: true }
  | { readonly ok: false; readonly refusal: Refusal }

export interface Message {
  readonly role: 'user' | 'agent' | 'system'
  readonly text: string
  readonly data?: Json
}
export interface Conversation {
  /** For a session that it creates. */
  readonly title: string
  readonly message?: Message
}

export type SessionEvent =
  | { readonly type: 'session.opened'; readonly title: string }
  /** `plan`: the plan that was created with it. */
  | ({ readonly type: 'message.added'; readonly plan?: PlanId } & Message)
  | { readonly type: 'session.closed' }
export interface SessionRow {
  readonly id: string
  readonly title: string
  readonly status: 'open' | 'closed'
  readonly messages: number
  readonly version: number
  readonly createdAt: Millis
  readonly updatedAt: Millis
}
export type GoalEvent =
  | {
      readonly type: 'goal.set'
      readonly title: string
      readonly parent: string | null
      readonly priority: number
      readonly criteria: readonly string[]
    }
  | { readonly type: 'goal.changed'; readonly changes: JsonObject }
  | { readonly type: 'goal.closed'; readonly status: 'achieved' | 'dropped'; readonly reason: string }
export interface GoalRow {
  readonly id: string
  readonly title: string
  readonly parent: string | null
  readonly priority: number
  readonly status: 'open' | 'achieved' | 'dropped'
  readonly criteria: readonly string[]
  readonly version: number
  readonly createdAt: Millis
  readonly updatedAt: Millis
}
