// The inner door: what a store keeps, table by table. The rules of stores/ (append, states, leases, streams, check) are written once
// against these; sqlite/, and the simulator's store in memory, only keep rows. Every method runs inside an open transaction or snapshot and
// does not wait.

import type { Actor, Millis, PlanId, PlanName, Sha256, TaskName } from '../domain/id.ts'
import type { Reservation } from '../domain/reservation.ts'
import type { PlanStatus } from '../domain/status.ts'
import type { StoredEntry } from './journal/entry.ts'
import type { AttemptRecord, Changes, PlanRecord, TaskRecord } from './journal/projection.ts'
import type { IndexTable } from './search/search-tables.ts'
import type {
  AttemptQuery,
  AttemptRow,
  LogChunk,
  MetricRow,
  OverviewPage,
  OverviewQuery,
  Page,
  PlanQuery,
  PlanRow,
  Position,
  StoredLog,
  TaskQuery,
  TaskRow,
} from './store.ts'

export interface Tables {
  /** Counts write calls, so that a request that failed before its first write can be told from one that did not. */
  readonly writes: number
  readonly journal: JournalTable
  readonly projections: ProjectionTables
  readonly owners: OwnerTable
  readonly claims: ClaimTable
  readonly reservations: ReservationTable
  readonly logs: LogTable
  readonly streams: StreamTable
  readonly once: OnceTable
  readonly index: IndexTable
  readonly upkeep: Upkeep
}

/** How work reaches the tables: writes share commits, reads see one consistent moment. */
export interface Transactions {
  /** Settles after the commit that holds `work` is durable. */
  write<T>(work: (tables: Tables) => T): Promise<T>
  read<T>(work: (tables: Tables) => T): T
  /** Another number after every commit of somebody else. Absent where that is not known. */
  moment?(): number
}

// ── the journal ────────────────────────────────────────────────────────────────────────────────────────────────────

/** What every append looks at: where the plan stands, which its last entry tells, and who may write. */
export interface Head {
  readonly no: number
  readonly version: number
  readonly at: Millis
  readonly hash: string
  /** A version the journal is known to have reached: one that ends before it was cut short. */
  readonly reached: number
  readonly fence: number
  readonly owner: string | null
  readonly ownerBoot: string | null
  readonly ownerExpires: number | null
}

export interface StoredFold {
  readonly version: number
  /** The version of the entry that holds the definition the fold belongs to. */
  readonly definitionVersion: number
  readonly body: Uint8Array
  /** Over the hash of the entry at `version` and the body, so a fold cannot be moved or altered. */
  readonly hash: Sha256
}

export interface JournalTable {
  planNo(plan: PlanId): number | null
  named(name: string): { readonly id: PlanId; readonly name: PlanName } | null
  planOf(no: number): { readonly id: PlanId; readonly name: PlanName } | null
  head(no: number): Head | null
  lastPosition(): Position
  entry(no: number, version: number): StoredEntry | null
  /** Entries with `after < version <= upTo`, oldest first. */
  entries(no: number, after: number, upTo: number, limit: number): readonly StoredEntry[]
  since(after: Position, limit: number, no: number | null): readonly (StoredEntry & { readonly plan: PlanId })[]
  fold(no: number): StoredFold | null
  addPlan(id: PlanId, record: PlanRecord): number
  /** `done` counts the tasks that have ended well. */
  addEntry(no: number, entry: StoredEntry, done: number): void
  saveFold(no: number, fold: StoredFold): void
}

// ── projections ────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ProjectionTables {
  apply(no: number, changes: Changes): void
  taskName(no: number, ordinal: number): TaskName | null
  ordinal(no: number, task: TaskName): number | null
  /** `words`: those of its text, when they can be found by the index; else the text is looked for row by row. */
  plans(query: PlanQuery, words: readonly string[] | null): Page<PlanRow>
  overview(query: OverviewQuery, words: readonly string[] | null): Omit<OverviewPage, 'complete'>
  tasks(query: TaskQuery, no: number | null): Page<TaskRow>
  attempts(query: AttemptQuery, no: number): Page<AttemptRow>
  metrics(no: number): readonly MetricRow[]
  records(no: number): {
    readonly plan: PlanRecord
    readonly tasks: readonly TaskRecord[]
    readonly attempts: readonly AttemptRecord[]
  }
}

// ── owners and claims ──────────────────────────────────────────────────────────────────────────────────────────────

export interface OwnerRecord {
  readonly id: string
  readonly host: string
  /** A boot of a machine; monotonic time means something only within one. */
  readonly boot: string
  /** The namespace in which `pid` means something. */
  readonly pids: string
  readonly pid: number
  /** When the process started, as its machine counts; tells a process from a later one with the same pid. */
  readonly startTime: string
  /** Monotonic milliseconds of the boot. */
  readonly expires: number
}

export interface OwnerTable {
  add(owner: OwnerRecord): void
  /** False when the lease is gone or has lapsed: a lapsed lease is never renewed. */
  renew(id: string, expires: number, now: number): boolean
  remove(id: string): void
  get(id: string): OwnerRecord | null
  holder(no: number): { readonly owner: OwnerRecord; readonly since: Millis } | null
  hold(no: number, owner: string, fence: number, since: Millis): void
  letGo(no: number, owner: string): void
  held(status: PlanStatus): readonly { readonly plan: PlanId; readonly owner: OwnerRecord }[]
  idle(): readonly OwnerRecord[]
}

export interface ClaimRecord {
  readonly ordinal: number
  readonly token: string
  readonly boot: string
  /** Monotonic milliseconds of the boot; after a restart of the machine `until` counts. */
  readonly expires: number
  readonly until: Millis
  readonly lease: number | null
}

export interface ClaimTable {
  put(no: number, claim: ClaimRecord): void
  get(no: number, ordinal: number): ClaimRecord | null
  all(no: number | null): readonly (ClaimRecord & { readonly plan: PlanId; readonly no: number })[]
  remove(no: number, ordinal: number): void
}

// ── files reserved across plans ────────────────────────────────────────────────────────────────────────────────────

export interface ReservationRecord extends Reservation {
  /** The position of the entry that reserved them, and when that was. */
  readonly since: Position
  readonly at: Millis
}

export interface ReservationRow extends ReservationRecord {
  readonly no: number
  readonly task: TaskName | null
}

export interface ReservationTable {
  /** One for each task: takes the place of what an earlier visit left. */
  put(no: number, record: ReservationRecord): void
  end(no: number, ordinal: number, position: Position): void
  of(no: number): readonly ReservationRow[]
  active(root: string): readonly ReservationRow[]
  endedSince(position: Position): readonly ReservationRow[]
  forget(before: Position): void
}

// ── task output ────────────────────────────────────────────────────────────────────────────────────────────────────

export interface LogTable {
  append(no: number, ordinal: number, chunk: LogChunk): void
  read(plan: PlanId, no: number, ordinal: number | null, after: number, limit: number): readonly StoredLog[]
  /** The last of those between the two numbers, in order. */
  readBack(
    plan: PlanId,
    no: number,
    ordinal: number | null,
    between: { readonly after: number; readonly before: number },
    limit: number,
  ): readonly StoredLog[]
  since(after: number, limit: number): readonly StoredLog[]
  last(): number
}

// ── sessions and goals ─────────────────────────────────────────────────────────────────────────────────────────────

export type StreamKind = 'session' | 'goal'

export interface StreamEntry {
  readonly version: number
  readonly at: Millis
  readonly actor: Actor
  readonly body: string
  readonly hash: Sha256
}

/** The projection of a stream: its current row as JSON text, and where its chain stands. */
export interface StreamHead {
  readonly no: number
  readonly id: string
  readonly version: number
  readonly hash: string
  readonly row: string
}

export interface StreamWhere {
  readonly status?: string
  readonly parent?: string | null
}

export interface StreamTable {
  head(kind: StreamKind, id: string): StreamHead | null
  /** Newest first, with a number below `before`; only those whose row holds exactly the values of `where`. */
  heads(kind: StreamKind, before: number, limit: number, where?: StreamWhere): readonly StreamHead[]
  entries(kind: StreamKind, id: string, after: number, limit: number): readonly StreamEntry[]
  append(kind: StreamKind, id: string, entries: readonly StreamEntry[], row: string): void
}

// ── keys that were used ────────────────────────────────────────────────────────────────────────────────────────────

export interface OnceRecord {
  readonly actor: Actor
  readonly key: string
  readonly hash: Sha256
  /** What it was used for: a plan, or a stream. */
  readonly kind: 'plan' | StreamKind
  readonly id: string
  readonly version: number
  readonly made: boolean
  readonly at: Millis
}

export interface OnceTable {
  get(actor: Actor, key: string): OnceRecord | null
  put(record: OnceRecord): void
  hasBefore(at: Millis): boolean
  forget(before: Millis): void
}

// ── upkeep ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Upkeep {
  plans(): readonly number[]
  prunable(before: Millis): readonly number[]
  /** Removes the plan and everything about it, leaving a line in the record of what was pruned. */
  prune(no: number, at: Millis): { readonly entries: number; readonly bytes: number }
  /** Grows with every plan that is removed. */
  pruned(): number
  /** What is wrong with the rows as such: damage the storage engine finds, plans or entries that are not there any more. */
  integrity(): readonly string[]
}
