// Blobs in memory, addressed and verified like those on disk.

import { hash } from 'node:crypto'
import type { Millis, Sha256 } from '../../src/domain/id.ts'
import type { Clock } from '../../src/stores/leases/host.ts'
import { StoreDamaged } from '../../src/stores/store.ts'
import type { ContentStore } from '../../src/stores/store-on-tables.ts'
import type { Batch, SnapshotBlobs } from '../../src/workspace/workspace.ts'

export type MemoryBlobs = Map<Sha256, { readonly bytes: Uint8Array; at: Millis }>

export type MemoryPins = Map<string, string>

export class BlobsMemory implements ContentStore, SnapshotBlobs {
  readonly #kept: MemoryBlobs
  readonly #clock: Clock
  readonly #pins: MemoryPins

  constructor(kept: MemoryBlobs, clock: Clock, pins: MemoryPins = new Map()) {
    this.#kept = kept
    this.#clock = clock
    this.#pins = pins
  }

  put = async (bytes: Uint8Array): Promise<Sha256> => this.putNow(bytes)
  get = async (id: Sha256): Promise<Uint8Array | null> => this.getNow(id)

  putNow(bytes: Uint8Array): Sha256 {
    const id = hash('sha256', bytes) as Sha256
    // A copy: the caller may go on writing into its buffer.
    this.#kept.set(id, { bytes: this.#kept.get(id)?.bytes ?? Uint8Array.from(bytes), at: this.#clock.now() })
    return id
  }

  getNow(id: Sha256): Uint8Array | null {
    const kept = this.#kept.get(id)
    if (kept === undefined) return null
    if (hash('sha256', kept.bytes) !== id) throw new StoreDamaged(`blob ${id} does not match its hash`)
    return Uint8Array.from(kept.bytes)
  }

  putMany = async (contents: Iterable<Uint8Array>): Promise<readonly Sha256[]> =>
    [...contents].map(bytes => this.putNow(bytes))

  /** Memory is never durable, so there is nothing to wait for. */
  batch(): Batch {
    let stored = 0
    return {
      add: bytes => {
        const before = this.#kept.size
        const id = this.putNow(bytes)
        if (this.#kept.size > before) stored += bytes.length
        return id
      },
      room: async () => {},
      close: async () => {},
      get bytes() {
        return stored
      },
    }
  }

  touch(ids: Iterable<Sha256>): readonly Sha256[] {
    return [...ids].filter(id => {
      const kept = this.#kept.get(id)
      if (kept !== undefined) kept.at = this.#clock.now()
      return kept === undefined
    })
  }

  pin = (name: string, note: string): void => void this.#pins.set(name, note)
  pinned = (name: string): string | null => this.#pins.get(name) ?? null
  unpin = (name: string): void => void this.#pins.delete(name)
  pins = (): Iterable<readonly [string, string]> => this.#pins.entries()

  bytesUsed = (): number => [...this.#kept.values()].reduce((sum, { bytes }) => sum + bytes.length, 0)
  has = (id: Sha256): boolean => this.#kept.has(id)
  ids = (): Iterable<Sha256> => this.#kept.keys()
  storedAt = (id: Sha256): Millis | null => this.#kept.get(id)?.at ?? null
  sizeOf = (id: Sha256): number => this.#kept.get(id)?.bytes.length ?? 0

  remove(id: Sha256, before: Millis): boolean {
    const at = this.storedAt(id)
    return at !== null && at < before && this.#kept.delete(id)
  }
}
