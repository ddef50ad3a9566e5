// The read-only store: it creates no folder or file, takes no lease and runs no checkpoint, so it works without write permission. A
// database that is open nowhere is read directly. One with a write-ahead log is read with the log, without touching its shared index. What
// cannot be read in place, because its index is missing or its schema is older, is copied elsewhere first.

import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BlobsFiles } from '../blobs/blobs.ts'
import { Changes } from '../journal/changes.ts'
import { States } from '../journal/plan-states.ts'
import { StoreBusy, StoreRefused } from '../store.ts'
import { StoreOnTables } from '../store-on-tables.ts'
import { Connection, SQLITE_CANTOPEN, SQLITE_READONLY, sqliteCode } from './driver.ts'
import { migrate, refuseForeignFile } from './migrate.ts'
import { SCHEMA_VERSION } from './schema.ts'
import { applySettings, refuseNetworkFilesystem } from './settings.ts'
import { explained, type StoreSqliteOptions, tablesOn } from './store-sqlite.ts'

const BUSY_MS = 1_000

export class StoreReading extends StoreOnTables {
  private constructor(options: StoreSqliteOptions, opened: Opened) {
    const { clock, host, newId } = options
    const { connection, isStill, leave } = opened
    const blobs = blobsOf(options)
    const tables = tablesOn(connection)
    super({
      clock,
      host,
      newId,
      transactions: {
        read: work => {
          try {
            return inOneMoment(connection, () => work(tables))
          } finally {
            // A torn read would look like damage.
            if (!isStill()) busy()
          }
        },
        write: () =>
          Promise.reject(new StoreRefused('the store was opened only to be read', 'this is a bug: report it')),
      },
      states: new States(blobs),
      blobs,
      changes: new Changes(null),
      snapshot: () => {
        const own = opened.again()
        own.exec('BEGIN')
        return { tables: tablesOn(own), close: () => own.close() }
      },
      close: async () => leave(),
    })
  }

  static open(options: StoreSqliteOptions): StoreReading {
    const path = join(options.folder, 'planfold.db')
    refuseNetworkFilesystem(options.folder, options.filesystemType)
    try {
      return new StoreReading(options, opened(path, options))
    } catch (error) {
      throw explained(error, path)
    }
  }
}

interface Opened {
  readonly connection: Connection
  readonly again: () => Connection
  /** False when it was written during the read, where there is no lock. */
  readonly isStill: () => boolean
  readonly leave: () => void
}

function opened(path: string, options: StoreSqliteOptions): Opened {
  const place = inPlace(path)
  if (place !== null) {
    refuseForeignFile(place.connection)
    if (place.connection.pragma('user_version') === SCHEMA_VERSION) return place
    place.leave()
  }
  return asCopy(path, options)
}

function inPlace(path: string): Opened | null {
  // The log exists while a connection is open: without one nobody has the file open.
  const isAlone = !existsSync(`${path}-wal`)
  const uri = `${pathToFileURL(path).href}?${isAlone ? 'immutable=1' : 'readonly_shm=1'}`
  const before = stampOf(path)
  const isStill = () => !isAlone || stampOf(path) === before
  const again = () => reader(uri)
  try {
    const connection = again()
    return { connection, again, isStill, leave: () => connection.close() }
  } catch (error) {
    const code = sqliteCode(error)
    if (code === SQLITE_CANTOPEN || code === SQLITE_READONLY) return null
    throw error
  }
}

const blobsOf = ({ folder, clock, newId }: StoreSqliteOptions): BlobsFiles =>
  new BlobsFiles({ folder: join(folder, 'blobs'), now: () => clock.now(), newId })

function asCopy(path: string, options: StoreSqliteOptions): Opened {
  const folder = mkdtempSync(join(tmpdir(), 'planfold-reading-'))
  const leave = () => rmSync(folder, { recursive: true, force: true })
  try {
    const before = [stampOf(path), stampOf(`${path}-wal`)]
    for (const from of [path, `${path}-wal`]) if (existsSync(from)) copyFileSync(from, join(folder, basename(from)))
    if ([stampOf(path), stampOf(`${path}-wal`)].some((stamp, at) => stamp !== before[at])) busy()
    const copy = join(folder, basename(path))
    const writer = new Connection(copy, { readOnly: false, busyMs: BUSY_MS })
    try {
      applySettings(writer)
      migrate(writer, { now: () => options.clock.now() })
    } finally {
      writer.close()
    }
    const again = () => reader(pathToFileURL(copy).href)
    const connection = again()
    return {
      connection,
      again,
      isStill: () => true,
      leave: () => {
        connection.close()
        leave()
      },
    }
  } catch (error) {
    leave()
    throw error
  }
}

function reader(uri: string): Connection {
  const connection = new Connection(uri, { readOnly: true, busyMs: BUSY_MS })
  try {
    connection.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON')
    // SQLite opens a file only with the first statement.
    connection.pragma('user_version')
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

function inOneMoment<T>(connection: Connection, work: () => T): T {
  connection.exec('BEGIN')
  try {
    return work()
  } finally {
    if (connection.inTransaction) connection.exec('COMMIT')
  }
}

function busy(): never {
  throw new StoreBusy('another process wrote while this one was reading; nothing is wrong with what is there')
}

function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true })
  return stat === undefined ? '' : `${stat.ino} ${stat.size} ${stat.mtimeNs}`
}
