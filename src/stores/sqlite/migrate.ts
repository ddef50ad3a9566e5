// Migrates a file to the schema of this release, step by step. Each step is one transaction: after a crash the file has the old schema or
// the new one. A file of a newer release, of another program, or from before the first release is not touched.

import type { Millis } from '../../domain/id.ts'
import { unfinished } from '../copy/copied-tables.ts'
import { type Here, isAlive } from '../leases/liveness.ts'
import { ownerOf } from '../sql/rows.ts'
import { StoreRefused } from '../store.ts'
import type { Connection } from './driver.ts'
import { MIGRATIONS, type Migration, SCHEMA_FIRST, SCHEMA_VERSION, UNFINISHED } from './schema.ts'
import { APPLICATION_ID } from './settings.ts'

export interface Migrating {
  readonly now: () => Millis
  readonly failpoint?: ((name: string) => void) | undefined
  readonly migrations?: readonly Migration[]
}

export function refuseForeignFile(connection: Connection, known = SCHEMA_VERSION): void {
  const { application, empty, version } = signsOf(connection)
  if (application !== APPLICATION_ID && !(application === 0 && empty)) {
    throw new StoreRefused('this file is not a store of planfold', 'choose another folder with --dir')
  }
  if (version > UNFINISHED) throw unfinishedCopy(connection)
  if (version > known) {
    throw new StoreRefused(
      `the store has schema ${version}, this program knows ${known}`,
      'use the newer planfold that wrote it',
    )
  }
  if (version > 0 && version < SCHEMA_FIRST) {
    throw new StoreRefused(
      `the store has schema ${version}, from before the first release, and this program reads ${SCHEMA_FIRST} and later; nothing was changed`,
      'export its plans with the planfold that wrote it, or start with a new folder: --dir',
    )
  }
}

export const unfinishedCopy = (connection: Connection): StoreRefused =>
  unfinished(String(connection.prepare('SELECT source FROM copied').get()?.source))

/** From one snapshot, because another process may be creating the store. */
function signsOf(connection: Connection): { application: unknown; empty: boolean; version: number } {
  connection.exec('BEGIN')
  try {
    const empty = connection.prepare('SELECT count(*) AS count FROM sqlite_schema').get()?.count === 0
    const version = connection.pragma('user_version') as number
    return { application: connection.pragma('application_id'), empty, version }
  } finally {
    if (connection.inTransaction) connection.exec('COMMIT')
  }
}

/** The tables of a running program must not change. */
export function refuseWhileDriven(connection: Connection, here: Here, known = SCHEMA_VERSION): void {
  const version = connection.pragma('user_version') as number
  if (version === 0 || version >= known) return
  for (const row of connection.prepare('SELECT *, start_time AS "startTime" FROM owners').all()) {
    // Schema 7 has no time by the wall clock.
    const owner = ownerOf({ until: 0, about: '', ...row })
    if (!isAlive(here, owner)) continue
    const { pid } = owner
    throw new StoreRefused(
      `the store has schema ${version} and is in use by an older planfold (pid ${pid}); this one would change its tables`,
      'wait until it has ended, or stop it, and try again',
    )
  }
}

/** Throws BUSY when another process is migrating; the caller retries. */
export function migrate(connection: Connection, options: Migrating): void {
  const migrations = options.migrations ?? MIGRATIONS
  const known = migrations.at(-1)!.number
  refuseForeignFile(connection, known)
  for (const migration of migrations) {
    if ((connection.pragma('user_version') as number) >= migration.number) continue
    connection.exec('BEGIN IMMEDIATE')
    try {
      // Checked again under the lock: another process may have been faster.
      if ((connection.pragma('user_version') as number) < migration.number) step(connection, migration, options)
      options.failpoint?.('migration:commit')
      connection.exec('COMMIT')
    } catch (error) {
      if (connection.inTransaction) connection.exec('ROLLBACK')
      throw error
    }
  }
  refuseForeignFile(connection, known)
}

function step(connection: Connection, { number, name, statements }: Migration, { now, failpoint }: Migrating): void {
  for (const statement of statements) {
    failpoint?.('migration:statement')
    connection.exec(statement)
  }
  connection.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
  connection.prepare('INSERT INTO migrations (number, name, at) VALUES (?, ?, ?)').run(number, name, now())
  connection.exec(`PRAGMA user_version = ${number}`)
}
