// The store that forgets: for tests, for trying out, and for the simulator, which makes its commits fail. Same rules, same
// entries and hashes as on disk.

import { Changes } from '../../src/stores/journal/changes.ts'
import { States } from '../../src/stores/journal/plan-states.ts'
import type { Clock, Host } from '../../src/stores/leases/host.ts'
import type { Heartbeat } from '../../src/stores/leases/leases.ts'
import { CommitUnknown } from '../../src/stores/store.ts'
import { type Request, rejectAll, runGroup, StoreOnTables } from '../../src/stores/store-on-tables.ts'
import type { Tables, Transactions } from '../../src/stores/tables.ts'

import { BlobsMemory } from './blobs-memory.ts'
import type { MemoryDisk } from './memory-disk.ts'
import { memoryIndex, memoryOnce } from './memory-index.ts'
import {
  memoryClaims,
  memoryLogs,
  memoryMemories,
  memoryOwners,
  memoryReservations,
  memoryStreams,
  memoryUpkeep,
} from './memory-side-tables.ts'

import { MemoryJournal, MemoryProjections } from './memory-tables.ts'

export interface StoreMemoryOptions {
  readonly clock: Clock
  readonly host: Host
  readonly newId: () => string
  readonly faults?: Faults
  /** How a turn is put off; `setImmediate` unless a simulation schedules by itself. */
  readonly later?: (turn: () => void) => void
  /** How another connection's commits are looked for; a timer unless a simulation brings its own. */
  readonly every?: (ms: number, look: () => void) => () => void
  /** Absent: leases are renewed by `leases.renew()` only. */
  readonly heartbeat?: Heartbeat
  readonly foldEvery?: number
}

export interface Faults {
  /** `fail`: nothing was written. `lose-reply`: it was written, and nobody is told so. */
  beforeCommit?(): 'ok' | 'fail' | 'lose-reply'
}

export class StoreMemory extends StoreOnTables {
  readonly disk: MemoryDisk

  constructor(disk: MemoryDisk, options: StoreMemoryOptions) {
    const { clock } = options
    const blobs = new BlobsMemory(disk.blobs, clock, disk.pins)
    const states = new States(blobs)
    const tables = tablesOf(disk)
    let seen = disk.commits
    const changes = new Changes(() => {
      const moved = disk.commits !== seen
      seen = disk.commits
      return moved
    }, options)
    const transactions = new MemoryTransactions(disk, tables, states, changes, options)
    super({
      ...options,
      transactions,
      states,
      blobs,
      changes,
      snapshot: () => ({ tables, close: () => {} }),
      close: () => transactions.close(),
    })
    this.disk = disk
  }
}

export function tablesOf(disk: MemoryDisk): Tables {
  return {
    get writes() {
      return disk.changes
    },
    journal: new MemoryJournal(disk),
    projections: new MemoryProjections(disk),
    owners: memoryOwners(disk),
    claims: memoryClaims(disk),
    reservations: memoryReservations(disk),
    halts: {
      get: () => disk.halt,
      put: halt => disk.set(disk, 'halt', halt),
      remove: () => disk.set(disk, 'halt', null),
    },
    logs: memoryLogs(disk),
    streams: memoryStreams(disk),
    once: memoryOnce(disk),
    index: memoryIndex(disk),
    memories: memoryMemories(disk),
    upkeep: memoryUpkeep(disk),
  }
}

class MemoryTransactions implements Transactions {
  readonly #disk: MemoryDisk
  readonly #tables: Tables
  readonly #states: States
  readonly #changes: Changes
  readonly #options: StoreMemoryOptions
  #queue: Request[] = []
  #closed = false

  constructor(disk: MemoryDisk, tables: Tables, states: States, changes: Changes, options: StoreMemoryOptions) {
    this.#disk = disk
    this.#tables = tables
    this.#states = states
    this.#changes = changes
    this.#options = options
  }

  read<T>(work: (tables: Tables) => T): T {
    return work(this.#tables)
  }

  write<T>(work: (tables: Tables) => T): Promise<T> {
    if (this.#closed) return Promise.reject(new Error('the store is closed'))
    return new Promise((resolve, reject) => {
      this.#queue.push({ work, resolve, reject })
      if (this.#queue.length === 1) (this.#options.later ?? setImmediate)(() => this.#flush())
    })
  }

  async close(): Promise<void> {
    if (this.#queue.length > 0) await this.write(() => {})
    this.#closed = true
  }

  #flush(): void {
    const requests = this.#queue
    this.#queue = []
    const before = this.#disk.changes
    try {
      const answers = runGroup(this.#tables, requests)
      const fate = this.#disk.changes === before ? 'ok' : (this.#options.faults?.beforeCommit?.() ?? 'ok')
      if (fate === 'fail') throw new Error('the commit failed, as the simulation asked')
      this.#disk.commit()
      if (fate === 'lose-reply') {
        rejectAll(requests, this.#states, new CommitUnknown('the reply was lost, as the simulation asked'))
        return
      }
      this.#states.committed()
      for (const answer of answers) answer()
      this.#changes.announce()
    } catch (error) {
      this.#disk.rollback()
      rejectAll(requests, this.#states, error)
    }
  }
}
