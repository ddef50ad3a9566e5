// What would be on disk. Several StoreMemory may stand on one MemoryDisk, each with its own caches, like processes on one
// file. Every change says how to undo it, so that a commit can fail as a whole.

import type { Millis, PlanId, Sha256 } from '../../src/domain/id.ts'
import type { StoredEntry } from '../../src/stores/journal/entry.ts'
import type { AttemptRecord, PlanRecord, TaskRecord } from '../../src/stores/journal/projection.ts'
import type { NumberedVector, StoredMemory } from '../../src/stores/memories.ts'
import type { Halt, Position, StoredLog } from '../../src/stores/store.ts'
import type {
  ClaimRecord,
  OnceRecord,
  OwnerRecord,
  ReservationRecord,
  StoredFold,
  StreamEntry,
  StreamKind,
} from '../../src/stores/tables.ts'
import type { MemoryBlobs, MemoryPins } from './blobs-memory.ts'
import { MemoryIndex } from './memory-index.ts'

export interface MemoryPlan {
  readonly no: number
  readonly id: PlanId
  record: PlanRecord
  readonly entries: StoredEntry[]
  lastHash: Sha256 | null
  version: number
  at: Millis
  fence: number
  owner: string | null
  ownerSince: Millis
  fold: StoredFold | null
  readonly tasks: Map<number, TaskRecord>
  readonly attempts: Map<string, AttemptRecord>
  readonly claims: Map<number, ClaimRecord>
  readonly reservations: Map<number, ReservationRecord & { readonly ended: number | null }>
  readonly logs: (StoredLog & { readonly ordinal: number })[]
}

export interface MemoryStream {
  readonly no: number
  readonly kind: StreamKind
  readonly id: string
  row: string
  readonly entries: StreamEntry[]
}

export class MemoryDisk {
  readonly plans = new Map<number, MemoryPlan>()
  readonly numbers = new Map<PlanId, number>()
  readonly names = new Map<string, number>()
  /** In commit order. */
  readonly journal: { readonly no: number; readonly plan: PlanId; readonly entry: StoredEntry }[] = []
  readonly owners = new Map<string, OwnerRecord>()
  readonly streams = new Map<string, MemoryStream>()
  readonly blobs: MemoryBlobs = new Map()
  readonly pins: MemoryPins = new Map()
  readonly once = new Map<string, OnceRecord>()
  halt: Halt | null = null
  readonly memories = new Map<string, StoredMemory & { readonly text: string }>()
  readonly memoryVectors = new Map<string, NumberedVector & { readonly model: string }>()
  memoryNo = 0
  vectorNo = 0
  readonly index = new MemoryIndex()
  position = 0
  /** Entries. */
  written = 0
  planNo = 0
  logSeq = 0
  streamNo = 0
  /** Entries of pruned plans, and the last position of each such plan. */
  pruned = 0
  readonly prunedAt: Position[] = []
  /** Counts commits; another store on this disk sees by it that something changed. */
  commits = 0

  /** Counts single changes, committed or not. */
  changes = 0

  readonly #undo: (() => void)[] = []

  /** Runs a change now and remembers how to take it back. */
  change(redo: () => void, undo: () => void): void {
    this.changes++
    this.#undo.push(undo)
    redo()
  }

  put<K, V>(map: Map<K, V>, key: K, value: V): void {
    const before = map.get(key)
    const had = map.has(key)
    this.change(
      () => map.set(key, value),
      () => void (had ? map.set(key, before as V) : map.delete(key)),
    )
  }

  take<K, V>(map: Map<K, V>, key: K): void {
    const before = map.get(key)
    if (before === undefined) return
    this.change(
      () => map.delete(key),
      () => void map.set(key, before),
    )
  }

  add<T>(list: T[], item: T): void {
    this.change(
      () => list.push(item),
      () => void list.pop(),
    )
  }

  set<T extends object, K extends keyof T>(target: T, key: K, value: T[K]): void {
    const before = target[key]
    this.change(
      () => Object.assign(target, { [key]: value }),
      () => Object.assign(target, { [key]: before }),
    )
  }

  commit(): void {
    this.#undo.length = 0
    this.commits++
  }

  rollback(): void {
    while (this.#undo.length > 0) this.#undo.pop()!()
  }
}
