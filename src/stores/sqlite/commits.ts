// Group commit. Requests of one turn of the event loop share one IMMEDIATE transaction, started from `setImmediate` so that timers and
// sockets are served between commits. Another process's write lock is awaited without blocking.
//
//   idle ─write→ scheduled ─setImmediate→ flushing ─commit→ idle       flushing ─busy→ scheduled (after a while)
//   flushing ─error before COMMIT→ rolled back, all refused            COMMIT fails in the disk → broken, for ever
//   the file is no longer where it was opened → broken, for ever: SQLite would go on writing to a deleted or moved file

import type { Changes, Recent } from '../journal/changes.ts'
import type { States } from '../journal/plan-states.ts'
import type { Clock } from '../leases/host.ts'
import { CommitUnknown, StoreBusy, StoreFull, StoreGone, StoreRefused } from '../store.ts'
import { type Answers, type Request, rejectAll, runGroup } from '../store-on-tables.ts'
import type { Tables, Transactions } from '../tables.ts'
import {
  type Connection,
  type ListStatement,
  SQLITE_BUSY,
  SQLITE_CONSTRAINT,
  SQLITE_FULL,
  sqliteCode,
} from './driver.ts'
import type { SqliteJournal } from './journal-table.ts'
import { unfinishedCopy } from './migrate.ts'
import { SCHEMA_VERSION, UNFINISHED } from './schema.ts'

export interface CommitOptions {
  readonly writer: { readonly connection: Connection; readonly tables: Tables & { readonly journal: SqliteJournal } }
  readonly reader: { readonly connection: Connection; readonly tables: Tables }
  readonly states: States
  readonly recent: Recent
  readonly changes: Changes
  readonly clock: Clock
  readonly failpoint?: ((name: string) => void) | undefined
  /** How long to wait for the write lock of another process. */
  readonly busyMs: number
  readonly isThere: () => boolean
}

const GROUP_MAX = 256
const BACKOFF_MAX_MS = 4
/** The check costs about as much as a small read. */
const LOOK_EVERY_MS = 100

export class Commits implements Transactions {
  readonly #room: CommitOptions
  readonly #moment: ListStatement
  #known: number | null = null
  #queue: Request[] = []
  #scheduled = false
  #backoffMs = 0
  #waitingSince: number | null = null
  #broken: Error | null = null
  #closing: (() => void) | null = null
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(room: CommitOptions) {
    this.#room = room
    // Of the writing connection: it counts the commits of all others.
    this.#moment = room.writer.connection.prepareLists('PRAGMA data_version')
  }

  write<T>(work: (tables: Tables) => T): Promise<T> {
    if (this.#broken !== null) return Promise.reject(this.#broken)
    return new Promise((resolve, reject) => {
      this.#queue.push({ work, resolve, reject })
      this.#schedule()
    })
  }

  /** One consistent snapshot, on a connection that no writer can block. */
  read<T>(work: (tables: Tables) => T): T {
    const missing = this.#missingFile()
    if (missing !== null) throw missing
    const { connection, tables } = this.#room.reader
    connection.exec('BEGIN')
    try {
      return work(tables)
    } finally {
      if (connection.inTransaction) connection.exec('COMMIT')
    }
  }

  /** Asked once per turn of the event loop: later commits are seen later. */
  moment(): number {
    if (this.#known !== null) return this.#known
    setImmediate(() => {
      this.#known = null
    })
    this.#known = this.#moment.get()?.[0] as number
    return this.#known
  }

  async close(): Promise<void> {
    if (this.#queue.length > 0) {
      await new Promise<void>(resolve => {
        this.#closing = resolve
      })
    }
    this.#broken ??= new Error('the store is closed')
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    if (this.#backoffMs > 0) setTimeout(() => this.#flush(), this.#backoffMs)
    else setImmediate(() => this.#flush())
  }

  #flush(): void {
    this.#scheduled = false
    const begun = this.#begin()
    if (begun === 'wait') {
      this.#schedule()
      return
    }
    const requests = this.#queue.length <= GROUP_MAX ? this.#queue : this.#queue.slice(0, GROUP_MAX)
    this.#queue = this.#queue.length <= GROUP_MAX ? [] : this.#queue.slice(GROUP_MAX)
    if (begun === 'begun') this.#transact(requests)
    else rejectAll(requests, this.#room.states, begun)
    if (this.#queue.length > 0) this.#schedule()
    else this.#closing?.()
  }

  #begin(): 'begun' | 'wait' | Error {
    const { writer, clock, busyMs } = this.#room
    try {
      writer.connection.begin()
      if (writer.tables.journal.begun() === 'moved') this.#refuseNewer()
      this.#backoffMs = 0
      this.#waitingSince = null
      return 'begun'
    } catch (error) {
      if (sqliteCode(error) !== SQLITE_BUSY) return named(error)
      const now = clock.monotonic()
      this.#waitingSince ??= now
      if (now - this.#waitingSince < busyMs) {
        this.#backoffMs = Math.min(BACKOFF_MAX_MS, this.#backoffMs * 2 || 1)
        return 'wait'
      }
      this.#backoffMs = 0
      this.#waitingSince = null
      return new StoreBusy('another process kept the store locked; nothing was written', { cause: error })
    }
  }

  /** A newer release may have migrated the tables meanwhile. */
  #refuseNewer(): void {
    const found = this.#room.writer.connection.pragma('user_version') as number
    if (found <= SCHEMA_VERSION) return
    this.#rollback()
    if (found > UNFINISHED) throw this.#break(unfinishedCopy(this.#room.reader.connection))
    const what = `the store was brought to schema ${found} while it was in use, and this program knows ${SCHEMA_VERSION}`
    throw this.#break(new StoreRefused(what, 'start it again with the newer planfold'))
  }

  #transact(requests: readonly Request[]): void {
    const { writer, states, recent, changes } = this.#room
    const before = writer.tables.writes
    let answers: Answers
    try {
      answers = runGroup(writer.tables, requests)
    } catch (error) {
      this.#rollback()
      rejectAll(requests, states, named(error))
      return
    }
    if (writer.tables.writes === before) {
      // Only reads and refusals: nothing to make durable.
      this.#rollback()
      states.committed()
      for (const answer of answers) answer()
      return
    }
    const failed = this.#commit()
    if (failed !== null) {
      rejectAll(requests, states, failed)
      return
    }
    states.committed()
    recent.committed()
    for (const answer of answers) answer()
    changes.announce()
  }

  #commit(): Error | null {
    const { writer, failpoint } = this.#room
    failpoint?.('store.commit:before')
    const missing = this.#missingFile()
    if (missing !== null) {
      this.#rollback()
      return missing
    }
    try {
      writer.connection.commit()
    } catch (error) {
      const code = sqliteCode(error)
      this.#rollback()
      // In these cases no commit record can have reached the log.
      if (code === SQLITE_FULL || code === SQLITE_BUSY || code === SQLITE_CONSTRAINT) return named(error)
      // The record may be in the log although the sync failed, and a later sync would not report that: this process must not write again.
      // The next process to open the file sees the truth.
      const unknown = 'the disk failed during a commit; nobody can say whether it happened'
      return this.#break(new CommitUnknown(unknown, { cause: error }))
    }
    failpoint?.('store.commit:after')
    return null
  }

  #break(error: Error): Error {
    this.#broken = error
    for (const { reject } of this.#queue.splice(0)) reject(error)
    return error
  }

  #missingFile(): Error | null {
    if (this.#broken instanceof StoreGone) return this.#broken
    const now = this.#room.clock.monotonic()
    if (now - this.#lookedAt < LOOK_EVERY_MS) return null
    this.#lookedAt = now
    return this.#room.isThere()
      ? null
      : this.#break(new StoreGone('the state folder is gone; nothing is written any more'))
  }

  #rollback(): void {
    const { writer, recent } = this.#room
    const { connection, tables } = writer
    tables.journal.forget()
    recent.rolledBack()
    if (connection.inTransaction) connection.exec('ROLLBACK')
  }
}

/** A full disk gets its own error, from SQLite or the blobs. */
function named(error: unknown): Error {
  const { code } = error as NodeJS.ErrnoException
  const full = sqliteCode(error) === SQLITE_FULL || code === 'ENOSPC' || code === 'EDQUOT'
  return full ? new StoreFull('the disk is full; nothing was written', { cause: error }) : (error as Error)
}
