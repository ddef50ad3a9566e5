// The durable store: one file, one connection that writes, one that reads while the other waits. Opening it proves that the
// file is ours, that its schema is known, and that SQLite runs with the settings we promise.

import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeFolder } from '../../safety/files/directory.ts'
import { BlobsFiles, syncFolderNow } from '../blobs/blobs.ts'
import { Changes, Recent } from '../journal/changes.ts'

import { States } from '../journal/plan-states.ts'
import type { Clock, Host } from '../leases/host.ts'
import { StoreDamaged, StoreRefused } from '../store.ts'
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
import { SqliteQueries } from './query-tables.ts'
import { applySettings, refuseNetworkFilesystem } from './settings.ts'
import { sqliteClaims, sqliteLogs, sqliteOnce, sqliteOwners, sqliteReservations, sqliteStreams } from './side-tables.ts'

import { sqliteUpkeep } from './upkeep-tables.ts'

export interface StoreSqliteOptions {
  readonly folder: string
  readonly clock: Clock
  readonly host: Host
  readonly newId: () => string
  /** Called at named points; crash tests end the process there. */
  readonly failpoint?: ((name: string) => void) | undefined
  /** How long another process may hold the write lock before a request is given up. */
  readonly busyMs?: number
  /** `manual`: leases are renewed by `leases.renew()` only, for tests with a clock of their own. */
  readonly heartbeat?: 'thread' | 'manual'
  /** After how many events a fold is stored again; the default suits everybody but tests. */
  readonly foldEvery?: number
  /** How many bytes snapshots may bring the content store to; absent: as many as the disk holds. */
  readonly quotaBytes?: number | undefined
  /** The type of the filesystem a folder is on, as statfs(2) tells it. */
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
      // Only its owner may read it; SQLite gives its companions the same rights.
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
        refuseWhileDriven(writer, options.host, clock.monotonic())
        migrate(writer, { now, failpoint })
        return new StoreSqlite(options, path, blobs, writer, openReader(path))
      } catch (error) {
        writer.close()
        if (sqliteCode(error) !== SQLITE_BUSY || clock.monotonic() >= until) throw explained(error, path)
        await new Promise(resolve => setTimeout(resolve, waitMs))
      }
    }
  }
}

export function tablesOn(connection: Connection, recent?: Recent): Tables & { readonly journal: SqliteJournal } {
  let writes = 0
  const wrote = () => {
    writes++
  }
  const journal =
    recent === undefined ? new SqliteJournal(connection, wrote) : new NotingJournal(connection, wrote, recent)
  return {
    get writes() {
      return writes
    },
    journal,
    projections: new SqliteQueries(connection, wrote),
    owners: sqliteOwners(connection, () => {
      wrote()
      journal.forget()
    }),
    claims: sqliteClaims(connection, wrote),
    reservations: sqliteReservations(connection, wrote),
    logs: sqliteLogs(connection, wrote),
    streams: sqliteStreams(connection, wrote),
    once: sqliteOnce(connection, wrote),
    index: sqliteIndex(connection, wrote),
    upkeep: sqliteUpkeep(connection, () => {
      wrote()
      journal.forget()
    }),
  }
}

/** Leaves an empty log behind when nobody else is using it; otherwise the last one out does. */
function checkpoint(writer: Connection): void {
  try {
    writer.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch (error) {
    // A store that may only be read has nothing to leave behind; on a full disk what is durable stays in the log.
    if (![SQLITE_BUSY, SQLITE_READONLY, SQLITE_FULL].includes(sqliteCode(error) ?? 0)) throw error
  }
}

/** SQLite counts the commits of other connections for us. */
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

/** A connection of its own, whose view stays at one moment until it is closed. */
function snapshotOf(path: string) {
  const connection = openReader(path)
  connection.exec('BEGIN')
  return { tables: tablesOn(connection), close: () => connection.close() }
}

/** Makes the folder durable together with those above it that had to be made. */
function makeDurableFolder(folder: string): void {
  for (const made of makeFolder(folder, 0o700).toReversed()) syncFolderNow(dirname(made))
}

/** A removed file can still be written to while it is open; the inode tells whether it is the same. */
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
