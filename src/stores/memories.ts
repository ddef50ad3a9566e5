// What is remembered by key, beside the journals: by plans, by the project, by a person. Only the newest item of a key is kept, and a removed
// one is gone. Journals hold what plans read of it.

import type { Millis } from '../domain/id.ts'
import type { MemoryScope } from '../domain/memory/memory-items.ts'
import type { Refusal } from '../domain/refusal.ts'

/** Whose memory: the id of the plan, the workspace (empty where the store has only one), or the person. */
export interface MemoryPlace {
  readonly scope: MemoryScope
  readonly owner: string
}

export interface MemoryRecord extends MemoryPlace {
  readonly key: string
  readonly at: Millis
  /** From then on it is not there. */
  readonly expiresAt: Millis | null
  /** The item as JSON. */
  readonly body: string
}

/** Numbers only grow: an item that replaces another has a new one. */
export interface StoredMemory extends MemoryRecord {
  readonly no: number
}

export interface MemoryQuery {
  readonly places: readonly MemoryPlace[]
  /** All of these, each the beginning of a word; absent: all items. */
  readonly words?: readonly string[] | undefined
  /** Only items with these numbers. */
  readonly among?: readonly number[]
  /** Only items that have no vector of this model. */
  readonly lacks?: string
  readonly before?: number | undefined
  readonly after?: number
  readonly now: Millis
  readonly limit?: number
}

export interface MemoryVector {
  /** Of its item. */
  readonly no: number
  readonly vector: Float32Array
}

export interface VectorQuery {
  readonly place: MemoryPlace
  readonly model: string
  readonly dimension: number
  /** Vectors are numbered as they are stored. */
  readonly after: number
  readonly limit: number
}

export type NumberedVector = MemoryVector & { readonly vectorNo: number }

export interface MemoryTable {
  get(place: MemoryPlace, key: string): StoredMemory | null
  /** Replaces the item of its key. `text`: found by its words. */
  put(record: MemoryRecord, text: string): void
  remove(place: MemoryPlace, key: string): void
  expire(before: Millis): void
  /** Newest first. */
  find(query: MemoryQuery & { readonly limit: number }): readonly StoredMemory[]
  putVector(vector: MemoryVector, model: string): void
  vectors(query: VectorQuery): readonly NumberedVector[]
}

export interface Memories {
  /** `check` sees the item that would be replaced, in the same transaction. Returns why nothing was written. */
  put(
    record: MemoryRecord,
    text: string,
    check?: (before: StoredMemory | null) => Refusal | null,
  ): Promise<Refusal | null>
  get(places: readonly MemoryPlace[], keys: readonly string[]): Promise<readonly StoredMemory[]>
  find(query: MemoryQuery): Promise<readonly StoredMemory[]>
  /** False if there was none. `when`: only then. */
  remove(place: MemoryPlace, key: string, when?: (item: StoredMemory) => boolean): Promise<boolean>
  /** Those of items that are gone meanwhile are dropped. */
  putVectors(vectors: readonly MemoryVector[], model: string): Promise<void>
  vectors(query: VectorQuery): Promise<readonly NumberedVector[]>
}

export const vectorBytes = ({ vector }: MemoryVector): Uint8Array =>
  new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)

/** Copied, because bytes of a database need not begin where a number may. */
export const vectorOfBytes = (bytes: Uint8Array): Float32Array => new Float32Array(Uint8Array.from(bytes).buffer)
