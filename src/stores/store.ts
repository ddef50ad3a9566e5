// The door of `stores/`: where it is kept. One write path for everybody: `update` catches up with the journal, asks the
// domain, appends the entry and writes the query tables in one locked transaction. Requests made in the same turn of the
// event loop share a commit. A promise settles only when its commit is durable (law L6).

import type { Command, CommandOf } from '../domain/command.ts'
import type { Event } from '../domain/event.ts'
import type { Hint } from '../domain/hint.ts'
import type { Actor, Millis, PlanId, PlanName, Sha256, TaskName } from '../domain/id.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Reserves } from '../domain/result.ts'
import type { PlanState } from '../domain/state/state.ts'
import type { SnapshotBlobs } from '../workspace/workspace.ts'
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

export type * from './rows.ts'

export interface Store {
  /**
   * Makes a plan; a name that is taken is refused with code `exists`. With a `conversation`, the session of the plan is opened when it
   * is new and the message is added to it, in the same transaction: both are there, or neither. A closed session is refused.
   */
  create(
    command: CommandOf<'create'>,
    actor: Actor,
    options?: { readonly once?: Once; readonly conversation?: Conversation },
  ): Promise<Updated>
  /** Anyone may write what was decided; only the holder of `lease` may write what the world did. */
  update(plan: PlanId, command: Asked, options: UpdateOptions): Promise<Updated>
  /**
   * The same, with a command worked out from the plan as it stands inside the transaction: nobody can come in between. A refusal is
   * answered, and nothing is written.
   */
  updateFrom(plan: PlanId, workOut: WorkOut, options: UpdateOptions): Promise<Updated>
  /** What was answered under the key, before anything is done for it again; null when it is new. */
  answered(actor: Actor, once: Once): Promise<Updated | null>
  /** The fold as of now. Live and read-only: later updates in this process change the same object. Null when unknown. */
  state(plan: PlanId): Promise<PlanState | null>
  /** Finds a plan by UUID or name, or a task by its UUID; the one look-up. */
  find(reference: string): Promise<Found | null>

  /**
   * Every entry read must go on with the chain, and the last must be where the journal must end: throws `ChainBroken` at the first
   * that is not. `previous` is the hash of entry `after`; without it, the one that is stored counts.
   */
  read(
    plan: PlanId,
    options?: { readonly after?: number; readonly limit?: number; readonly previous?: string },
  ): Promise<readonly Entry[]>
  /** Entries of all plans behind `after`, in commit order: one page. Where positions are missing, plans were pruned. */
  since(after: Position, limit: number): Promise<readonly Entry[]>
  /**
   * Entries of all plans (or one) behind `after`, in commit order, then live until `signal` fires. Each must go on with the chain of
   * its plan: throws `ChainBroken` at the first that does not.
   */
  watch(options: {
    readonly after: Position
    readonly plan?: PlanId
    readonly signal: AbortSignal
    /** For those who only want to know which plans moved: a damaged plan must not keep them from the others. */
    readonly verify?: false
  }): AsyncIterable<Entry>
  /** Calls back soon after any commit, by this process or another; returns how to stop. Never called inside a commit. */
  onChange(listener: (origin: 'here' | 'elsewhere') => void): () => void
  position(): Promise<Position>
  /** Grows whenever plans are taken out, by this process or another: what was read before may be of them. */
  pruned(): Promise<number>

  plans(query: PlanQuery): Promise<Page<PlanRow>>
  /** The same with more of each, in other orders, and counted: every plan that matches is looked at. */
  overview(query: OverviewQuery): Promise<OverviewPage>
  tasks(query: TaskQuery): Promise<Page<TaskRow>>
  attempts(query: AttemptQuery): Promise<Page<AttemptRow>>
  metrics(plan: PlanId): Promise<readonly MetricRow[]>
  search(query: SearchQuery): Promise<CaughtUp<SearchHit>>
  steps(query: StepsQuery): Promise<CaughtUp<StepsRow>>

  readonly leases: Leases
  readonly claims: Claims
  readonly reservations: Reservations
  readonly logs: Logs
  readonly blobs: SnapshotBlobs
  readonly sessions: Streams<SessionEvent, SessionRow, Pick<Partial<SessionRow>, 'status'>>
  readonly goals: Streams<GoalEvent, GoalRow, Pick<Partial<GoalRow>, 'status' | 'parent'>>

  check(options?: { readonly readData?: boolean }): Promise<CheckReport>
  /**
   * Removes archived plans' journals, logs and unreachable blobs; says what it removed. A blob that was stored or used after
   * `blobsBefore` stays: somebody may be about to name it.
   */
  prune(options: { readonly before: Millis; readonly blobsBefore?: Millis; readonly dryRun: boolean }): Promise<Pruned>
  /**
   * Duties nobody waits for: catches up search and steps, from the beginning with `rebuild`, which also writes the reservations
   * again; forgets keys of long ago.
   */
  tidy(options?: { readonly rebuild?: true }): Promise<void>
  close(): Promise<void>
}

/**
 * Makes asking twice the same as asking once. Same actor, key and hash: what was answered the first time, though the state is
 * that of now. Another hash is refused with code `conflict`. A refusal is not kept. Forgotten after 48 hours.
 */
export interface Once {
  readonly key: string
  readonly hash: Sha256
}

export type Position = number

/** A command, or how to make it at the moment of writing, so that everything true by then is in it. Called once. */
export type Asked = Command | (() => Command)

/** The state is live: copy what must outlive the call. */
export type WorkOut = (state: PlanState) => Command | Refusal

export interface UpdateOptions {
  readonly actor: Actor
  /** Refused with code `conflict` when the plan has moved on. */
  readonly expectedVersion?: number
  readonly once?: Once
  readonly lease?: Lease
  /** The entry is dated no earlier than this, whatever the wall clock says. */
  readonly notBefore?: Millis
}

export type Updated =
  | {
      readonly ok: true
      readonly version: number
      readonly position: Position
      readonly events: readonly Event[]
      /** Its id tells which plan was made, when it was made the first time. */
      readonly state: PlanState
      /** It was asked before: version, position and events are those of then, and nothing was written now. */
      readonly replayed?: true
      /** With a lease: until then, on the monotonic clock, nobody else can have taken the plan. */
      readonly heldUntil?: number | undefined
    }
  | { readonly ok: false; readonly refusal: Refusal }

/** One append: what was asked, by whom, when, and what then happened. */
export interface Entry {
  readonly position: Position
  readonly plan: PlanId
  /** 1, 2, 3 … within the plan, without gaps. */
  readonly version: number
  readonly actor: Actor
  readonly now: Millis
  /** The lease's fence, when the owner wrote it. */
  readonly fence: number | null
  readonly command: Command
  readonly events: readonly Event[]
  /** SHA-256 over the previous hash and the stored bytes of this entry. */
  readonly hash: Sha256
}

/** Thrown by `update` when the lease is no longer ours; the loop ends at once (law L5). */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}
/** Thrown when nobody can say whether the commit happened; read the state again before doing anything. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown'
}
/** Thrown when what is stored contradicts itself: a broken hash chain, a damaged blob. Never repaired silently. */
export class StoreDamaged extends Error {
  override readonly name = 'StoreDamaged'
  readonly hint?: string
  constructor(message: string, options: { readonly cause?: unknown; readonly hint?: string } = {}) {
    super(message, options)
    if (options.hint !== undefined) this.hint = options.hint
  }
}
/** Which entry it is, where one can be named, and what is wrong with it. */
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
/** Thrown when a file of ours could not be synced: what was written may be lost, and a later sync would not tell. */
export class SyncFailed extends Error {
  override readonly name = 'SyncFailed'
}
/** Thrown when another process kept the write lock for too long. Nothing was written: try again. */
export class StoreBusy extends Error {
  override readonly name = 'StoreBusy'
}
/** Thrown when the file that was opened is no longer where it was: what is written now, nobody would find. For ever. */
export class StoreGone extends Error {
  override readonly name = 'StoreGone'
}
/** Thrown when a page is asked for with a cursor that no list of this kind handed out. */
export class BadCursor extends RangeError {
  override readonly name = 'BadCursor'
}
/** Thrown when the store cannot be opened as promised: newer schema, old SQLite, wrong settings, network filesystem. */
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

// ── leases: one per process, covering the plans it drives ──────────────────────────────────────────────────────────

export interface Leases {
  /** Registers this process; renewed from outside the event loop until `stop`. */
  open(options: { readonly leaseMs: number }): Promise<Owner>
  /**
   * Takes the plan, or says who has it. A dead owner on this host is taken over at once, any other after its lease. With
   * `over`, a dead owner is taken over only when it is that one: the one whose processes the claimant has already ended.
   */
  claim(plan: PlanId, owner: Owner, options?: { readonly over: string | null }): Promise<Claimed>
  release(plan: PlanId, owner: Owner): Promise<void>
  holder(plan: PlanId): Promise<Holder | null>
  /** Active plans that somebody started to drive and whose owner is gone. */
  orphans(): Promise<readonly PlanId[]>
}

export interface Owner {
  readonly id: string
  /** Fires when the lease could not be renewed in time. */
  readonly lost: AbortSignal
  stop(): Promise<void>
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
  /** False when the process is gone or its lease ran out. */
  readonly alive: boolean
  readonly since: Millis
}

// ── claims: an agent's hold on an external task; heartbeats touch only this row ─────────────────────────────────────

export interface Claims {
  /**
   * Called after `attempt.started` with a claim is durable, and by heartbeats; without a lease, the one asked for last. Answers how
   * long it holds now, in milliseconds; null when the token is unknown.
   */
  touch(plan: PlanId, task: TaskName, token: string, leaseMs?: number): Promise<number | null>
  /** To be ended by a `lapse`, which is refused where a sign of life has come since. */
  lapsed(plan?: PlanId): Promise<readonly { readonly plan: PlanId; readonly task: TaskName; readonly token: string }[]>
}

// ── reservations: which files a visit of a task keeps to itself, across all plans ──────────────────────────────────

/** Reserved by `attempt.started` and let go by the entry that ends the visit; here they are only asked about. */
export interface Reservations {
  /** Who of other plans holds files that overlap these, and how far the journal went at that moment. */
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
  /** Those of its patterns that overlap. */
  readonly paths: readonly string[]
  readonly since: Millis
}

// ── task output: durable, in chunks, beside the journal, never state ───────────────────────────────────────────────

export interface Logs {
  append(chunks: readonly LogChunk[]): Promise<void>
  read(query: {
    readonly plan: PlanId
    readonly task?: TaskName
    readonly after?: number
    /** The last of those before this number; in order all the same. Infinity: the very last. */
    readonly before?: number
    readonly limit?: number
  }): Promise<readonly StoredLog[]>
  /** Of all plans, in the order it was written, behind a number: one page. */
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

// ── sessions and goals: small streams of their own, used by later faces ────────────────────────────────────────────

export interface Streams<E, R, F = unknown> {
  /** Appends to the stream, making it when new. A stale `expectedVersion` is refused with code `conflict`. */
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
  /** Newest first; those that are as `where` says. */
  list(query: { readonly where?: F; readonly limit?: number; readonly cursor?: string }): Promise<Page<R>>
}
export type StreamUpdated =
  /** `id`: of the stream, which is another one when it was asked before. */
  | { readonly ok: true; readonly id: string; readonly version: number; readonly replayed?: true }
  | { readonly ok: false; readonly refusal: Refusal }

export interface Message {
  readonly role: 'user' | 'agent' | 'system'
  readonly text: string
  readonly data?: Json
}
/** What a session holds of the making of a plan. */
export interface Conversation {
  /** Of a session that is opened by it. */
  readonly title: string
  readonly message?: Message
}

export type SessionEvent =
  | { readonly type: 'session.opened'; readonly title: string }
  /** `plan`: the plan that was made with it. */
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
