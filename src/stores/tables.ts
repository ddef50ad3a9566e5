// The inner door: what a store keeps, table by table. The rules of stores/ (append, states, leases, streams, check) are written once
// against these; SQLite and the simulator's store in memory only keep rows. Every method is synchronous and runs inside an open transaction
// or snapshot.

import type { Actor, Millis, PlanId, PlanName, Sha256, TaskName } from '../domain/id.ts'
import type { Reservation } from '../domain/reservation.ts'
import type { PlanStatus } from '../domain/status.ts'
import type { StoredEntry } from './journal/entry.ts'
import type { AttemptRecord, Changes, PlanRecord, TaskRecord } from './journal/projection.ts'
import type { MemoryTable } from './memories.ts'
import type { IndexTable } from './search/search-tables.ts'
import type {
  AttemptQuery,
  AttemptRow,
  Halt,
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
  /** Counts writes, so that a request that failed before its first write can be detected. */
  readonly writes: number
  readonly journal: JournalTable
  readonly projections: ProjectionTables
  readonly owners: OwnerTable
  /** Absent where processes find out themselves what is due. */
  readonly queue?: QueueTable
  readonly claims: ClaimTable
  readonly reservations: ReservationTable
  readonly halts: HaltTable
  readonly logs: LogTable
  readonly streams: StreamTable
  readonly once: OnceTable
  readonly index: IndexTable
  readonly memories: MemoryTable
  readonly upkeep: Upkeep
}

/**
 * Thrown by a table whose rows have to be loaded first; then the rule runs again from its start. Not an error: it says what to load.
 */
export class Missing {
  readonly key: string
  constructor(key: string) {
    this.key = key
  }
}

/** The rows that several parts of a rule miss, loaded together. */
export class MissingAll extends Missing {
  readonly all: readonly Missing[]
  constructor(all: readonly Missing[]) {
    super(all[0]!.key)
    this.all = all
  }
}

/** `map` for work that reads tables: what all items miss is loaded at once, so that a loop costs as many rounds as one item. */
export function eachLoaded<T, R>(items: readonly T[], work: (item: T, index: number) => R): R[] {
  const missing: Missing[] = []
  const done: R[] = []
  for (const [index, item] of items.entries()) {
    try {
      done.push(work(item, index))
    } catch (error) {
      if (!(error instanceof Missing)) throw error
      missing.push(error)
    }
  }
  if (missing.length > 0) throw new MissingAll(missing)
  return done
}

/** Two questions, neither of which needs the answer of the other. */
export function bothLoaded<A, B>(one: () => A, other: () => B): readonly [A, B] {
  return eachLoaded<() => A | B, A | B>([one, other], ask => ask()) as unknown as readonly [A, B]
}

/** Access to the tables: writes share commits, reads see one consistent snapshot. */
export interface Transactions {
  /** Settles when the commit that contains `work` is durable. */
  write<T>(work: (tables: Tables) => T): Promise<T>
  /** SQLite answers at once; PostgreSQL may run `work` again after it has loaded a missing row. */
  read<T>(work: (tables: Tables) => T): T | Promise<T>
  /** Changes with every commit of another process. Absent where that is unknown. */
  moment?(): number
}

// Journal

/** For every append: the last version, its hash, and who may write. */
export interface Head {
  readonly no: number
  readonly version: number
  readonly at: Millis
  readonly hash: string
  /** A version that the journal is known to have reached, to detect truncation. */
  readonly reached: number
  readonly fence: number
  readonly owner: string | null
  readonly ownerBoot: string | null
  readonly ownerExpires: number | null
  /** The only host that has the contents of the plan. */
  readonly home?: string | null
}

export interface StoredFold {
  readonly version: number
  /** The version of the entry with the definition of the fold. */
  readonly definitionVersion: number
  readonly body: Uint8Array
  /** Over the hash of the entry at `version` and the body, so that a fold cannot be moved or altered. */
  readonly hash: Sha256
}

export interface JournalTable {
  planNo(plan: PlanId): number | null
  named(name: string): { readonly id: PlanId; readonly name: PlanName } | null
  planOf(no: number): { readonly id: PlanId; readonly name: PlanName } | null
  head(no: number): Head | null
  lastPosition(): Position
  /** Of everything that is committed, also what feeds do not show yet, because an earlier entry may still come. */
  newestPosition(): Position
  /** A recent one that costs nothing to ask for. */
  knownPosition(): Position
  /** Of the next entry: larger than all before. */
  nextPosition(): Position
  entry(no: number, version: number): StoredEntry | null
  /** Entries with `after < version <= upTo`, oldest first. */
  entries(no: number, after: number, upTo: number, limit: number): readonly StoredEntry[]
  since(after: Position, limit: number, no: number | null): readonly (StoredEntry & { readonly plan: PlanId })[]
  fold(no: number): StoredFold | null
  addPlan(id: PlanId, record: PlanRecord): number
  /** `done` counts completed and skipped tasks. */
  addEntry(no: number, entry: StoredEntry, done: number): void
  saveFold(no: number, fold: StoredFold): void
  /** From now on only this host may drive the plan. Where all contents are shared. */
  keepOn?(no: number, host: string): void
}

// Projections

export interface ProjectionTables {
  apply(no: number, changes: Changes): void
  taskName(no: number, ordinal: number): TaskName | null
  ordinal(no: number, task: TaskName): number | null
  /** `words`: those of its text, if the index has them; else the text is matched row by row. */
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

// Owners and claims

export interface OwnerRecord {
  readonly id: string
  readonly host: string
  /** A boot of a machine; monotonic time is only comparable within one. */
  readonly boot: string
  /** The pid namespace of `pid`. */
  readonly pids: string
  readonly pid: number
  /** Distinguishes processes with a reused pid. */
  readonly startTime: string
  /** Monotonic milliseconds of the boot. */
  readonly expires: number
  /** The same by the wall clock, for other machines. */
  readonly until: Millis
  /** Its description in the list of workers, as JSON; empty for a process that only drives a named plan. */
  readonly about: string
}

export interface OwnerTable {
  add(owner: OwnerRecord): void
  /** False when the lease is gone or expired: an expired lease is never renewed. */
  renew(id: string, lease: Pick<OwnerRecord, 'expires' | 'until'>, now: number): boolean
  remove(id: string): void
  get(id: string): OwnerRecord | null
  holder(no: number): { readonly owner: OwnerRecord; readonly since: Millis } | null
  hold(no: number, owner: string, fence: number, since: Millis): void
  letGo(no: number, owner: string): void
  held(status: PlanStatus): readonly { readonly plan: PlanId; readonly owner: OwnerRecord }[]
  idle(): readonly OwnerRecord[]
  all(): readonly OwnerRecord[]
  describe(id: string, about: string): void
}

export interface QueueTable {
  /** Written with an entry: when a worker should look at the plan (0: at once), and, where they may have changed, the labels it wants. */
  put(no: number, due: () => { readonly at: Millis | null; readonly needs?: readonly string[] }): void
}

export interface ClaimRecord {
  readonly ordinal: number
  readonly token: string
  readonly boot: string
  /** Monotonic milliseconds of the boot; after a restart of the machine `until` applies. */
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

// Reservations

export interface ReservationRecord extends Reservation {
  /** The position and time of the entry that reserved them. */
  readonly since: Position
  readonly at: Millis
}

export interface ReservationRow extends ReservationRecord {
  readonly no: number
  readonly task: TaskName | null
}

export interface ReservationTable {
  /** One for each task: replaces that of an earlier visit. */
  put(no: number, record: ReservationRecord): void
  end(no: number, ordinal: number, position: Position): void
  of(no: number): readonly ReservationRow[]
  active(root: string): readonly ReservationRow[]
  endedSince(position: Position): readonly ReservationRow[]
  forget(before: Position): void
}

// The kill switch

export interface HaltTable {
  get(): Halt | null
  put(halt: Halt): void
  remove(): void
}

// Task output

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

// Sessions and goals

export type StreamKind = 'session' | 'goal'

export interface StreamEntry {
  readonly version: number
  readonly at: Millis
  readonly actor: Actor
  readonly body: string
  readonly hash: Sha256
}

/** The projection of a stream: its current row as JSON text, and the end of its chain. */
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
  /** Newest first, with a number below `before`; only rows with exactly the values of `where`. */
  heads(kind: StreamKind, before: number, limit: number, where?: StreamWhere): readonly StreamHead[]
  entries(kind: StreamKind, id: string, after: number, limit: number): readonly StreamEntry[]
  append(kind: StreamKind, id: string, entries: readonly StreamEntry[], row: string): void
}

// Idempotency keys

export interface OnceRecord {
  readonly actor: Actor
  readonly key: string
  readonly hash: Sha256
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

// Upkeep

export interface Upkeep {
  plans(): readonly number[]
  prunable(before: Millis): readonly number[]
  /** Removes the plan and everything about it, leaving a line in `pruned`. */
  prune(no: number, at: Millis): { readonly entries: number; readonly bytes: number }
  /** How many plans; with `after`, those that had entries behind that position. */
  pruned(after?: Position): number
  /** Faults of the rows: damage found by the storage engine, and missing plans or entries. */
  integrity(): readonly string[]
}
