// The durable store: one file, one connection that writes, and one that reads while the other waits. Opening it verifies that the file is
// ours, that its schema is known, and that SQLite has the required settings.

import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Millis } from '../../domain/id.ts'
import { makeFolder } from '../../safety/files/directory.ts'
import { BlobsFiles, syncFolderNow } from '../blobs/blobs.ts'
import { Changes, Recent } from '../journal/changes.ts'

import { States } from '../journal/plan-states.ts'
import type { Clock, Host } from '../leases/host.ts'
import { sqlLists } from '../sql/lists.ts'
import { type Halt, StoreDamaged, StoreRefused } from '../store.ts'
import { StoreOnTables } from '../store-on-tables.ts'
import type { Tables } from '../tables.ts'
import { Commits } from './commits.ts'
import {
  Connection,
  SQLITE_BUSY,
  SQLITE_CORRUPT,
  SQLITE_FULL,
  SQLITE_NOTADB,
  SQLITE_READONLY,
  sqliteCode,
} from './driver.ts'
import { sqliteIndex } from './index-tables.ts'
import { NotingJournal, SqliteJournal } from './journal-table.ts'
import { threadHeartbeat } from './lease-worker.ts'
import { migrate, refuseForeignFile, refuseWhileDriven } from './migrate.ts'
import { SqliteProjections } from './projection-tables.ts'
import { applySettings, refuseNetworkFilesystem } from './settings.ts'
import {
  sqliteClaims,
  sqliteHalts,
  sqliteLogs,
  sqliteMemories,
  sqliteOnce,
  sqliteOwners,
  sqliteReservations,
  sqliteStreams,
} from './side-tables.ts'

import { sqliteUpkeep } from './upkeep-tables.ts'

export interface StoreSqliteOptions {
  readonly folder: string
  readonly clock: Clock
  readonly host: Host
  readonly newId: () => string
  /** Called at named points, where crash tests end the process. */
  readonly failpoint?: ((name: string) => void) | undefined
  /** How long to wait for the write lock of another process. */
  readonly busyMs?: number
  /** `manual`: leases are renewed by `leases.renew()` only, for tests with a fake clock. */
  readonly heartbeat?: 'thread' | 'manual'
  /** After how many events a fold is stored; for tests. */
  readonly foldEvery?: number
  /** The size limit of the content store for snapshots; absent: unlimited. */
  readonly quotaBytes?: number | undefined
  /** The filesystem type of a folder, from statfs(2). */
  readonly filesystemType?: (folder: string) => number
}

const BUSY_MS = 30_000
const READER_BUSY_MS = 100

export class StoreSqlite extends StoreOnTables {
  private constructor(
    options: StoreSqliteOptions,
    path: string,
    blobs: BlobsFiles,
    writer: Connection,
    reader: Connection,
  ) {
    const { clock, failpoint } = options
    const states = new States(blobs)
    const changes = new Changes(pollOf(reader))
    const recent = new Recent()
    const commits = new Commits({
      writer: { connection: writer, tables: tablesOn(writer, recent) },
      reader: { connection: reader, tables: tablesOn(reader) },
      states,
      recent,
      changes,
      clock,
      failpoint,
      busyMs: options.busyMs ?? BUSY_MS,
      isThere: watched(path),
    })
    super({
      ...options,
      transactions: commits,
      states,
      recent,
      blobs,
      changes,
      heartbeat: options.heartbeat === 'manual' ? undefined : threadHeartbeat(path),
      snapshot: () => snapshotOf(path),
      close: async () => {
        await commits.close()
        reader.close()
        checkpoint(writer)
        writer.close()
      },
    })
  }

  static async open(options: StoreSqliteOptions): Promise<StoreSqlite> {
    const { folder, clock, failpoint, newId, quotaBytes } = options
    const path = join(folder, 'planfold.db')
    makeDurableFolder(folder)
    refuseNetworkFilesystem(folder, options.filesystemType)
    if (!existsSync(path)) {
      // Readable by its owner only; SQLite gives its companion files the same mode.
      closeSync(openSync(path, 'a', 0o600))
      syncFolderNow(folder)
    }
    const now = () => clock.now()
    const blobs = new BlobsFiles({ folder: join(folder, 'blobs'), now, newId, failpoint, quotaBytes })
    const until = clock.monotonic() + (options.busyMs ?? BUSY_MS)
    for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, 50)) {
      const writer = new Connection(path, { readOnly: false, busyMs: 0 })
      try {
        // First: a file that is not ours, or from before the first release, is not touched.
        refuseForeignFile(writer)
        applySettings(writer)
        refuseWhileDriven(writer, { host: options.host, clock })
        migrate(writer, { now, failpoint })
        moveHaltPin(writer, blobs, now())
        return new StoreSqlite(options, path, blobs, writer, openReader(path))
      } catch (error) {
        writer.close()
        if (sqliteCode(error) !== SQLITE_BUSY || clock.monotonic() >= until) throw explained(error, path)
        await new Promise(resolve => setTimeout(resolve, waitMs))
      }
    }
  }
}

/** Until schema 8 the kill switch was a pin. */
function moveHaltPin(writer: Connection, blobs: BlobsFiles, at: Millis): void {
  const note = blobs.pinned('halt')
  if (note === null) return
  const halts = sqliteHalts(writer, () => {})
  if (halts.get() === null)
    halts.put(haltIn(note) ?? { by: 'somebody', at, reason: 'the note that says why cannot be read' })
  blobs.unpin('halt')
}

function haltIn(note: string): Halt | null {
  try {
    return JSON.parse(note) as Halt
  } catch {
    return null
  }
}

export function tablesOn(connection: Connection, recent?: Recent): Tables & { readonly journal: SqliteJournal } {
  let writes = 0
  const wrote = () => {
    writes++
  }
  const journal =
    recent === undefined ? new SqliteJournal(connection, wrote) : new NotingJournal(connection, wrote, recent)
  const projections = new SqliteProjections(connection, wrote)
  return {
    get writes() {
      return writes
    },
    journal,
    projections: { ...sqlLists(connection), apply: (no, changes) => projections.apply(no, changes) },
    owners: sqliteOwners(connection, () => {
      wrote()
      journal.forget()
    }),
    claims: sqliteClaims(connection, wrote),
    reservations: sqliteReservations(connection, wrote),
    halts: sqliteHalts(connection, wrote),
    logs: sqliteLogs(connection, wrote),
    streams: sqliteStreams(connection, wrote),
    once: sqliteOnce(connection, wrote),
    index: sqliteIndex(connection, wrote),
    memories: sqliteMemories(connection, wrote),
    upkeep: sqliteUpkeep(connection, () => {
      wrote()
      journal.forget()
    }),
  }
}

/** Truncates the log when no other process uses it; otherwise the last one does. */
function checkpoint(writer: Connection): void {
  try {
    writer.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch (error) {
    // A read-only store has nothing to write; on a full disk the log keeps what is durable.
    if (![SQLITE_BUSY, SQLITE_READONLY, SQLITE_FULL].includes(sqliteCode(error) ?? 0)) throw error
  }
}

/** SQLite counts the commits of other connections. */
function pollOf(reader: Connection): () => boolean {
  let seen: unknown
  return () => {
    if (reader.inTransaction) return false
    const now = reader.prepare('PRAGMA data_version').get()?.data_version
    const moved = now !== seen
    seen = now
    return moved
  }
}

function openReader(path: string): Connection {
  const connection = new Connection(path, { readOnly: true, busyMs: READER_BUSY_MS })
  connection.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON')
  return connection
}

/** A separate connection with a snapshot until it is closed. */
function snapshotOf(path: string) {
  const connection = openReader(path)
  connection.exec('BEGIN')
  return { tables: tablesOn(connection), close: () => connection.close() }
}

/** Makes the folder and its new parents durable. */
function makeDurableFolder(folder: string): void {
  for (const made of makeFolder(folder, 0o700).toReversed()) syncFolderNow(dirname(made))
}

/** An open file can be written after its removal; the inode shows whether it is still the same. */
function watched(path: string): () => boolean {
  const opened = statSync(path)
  return () => {
    try {
      const { ino, dev } = statSync(path)
      return ino === opened.ino && dev === opened.dev
    } catch {
      return false
    }
  }
}

export function explained(error: unknown, path: string): unknown {
  const code = sqliteCode(error)
  if (code === SQLITE_NOTADB)
    return new StoreRefused(`${path} is not a store of planfold`, 'choose another folder with --dir')
  if (code === SQLITE_CORRUPT)
    return new StoreDamaged(`${path} is damaged; restore the state folder from a copy`, { cause: error })
  return error
}
