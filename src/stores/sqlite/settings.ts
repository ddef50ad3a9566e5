// The settings of the file, applied and then verified at every open, because drivers have other defaults and a file does not store all
// settings. If one is unavailable, the store refuses with a hint.

import { statfsSync } from 'node:fs'
import { advise, quoted } from '../../domain/hint.ts'
import { StoreRefused } from '../store.ts'
import type { Connection, Value } from './driver.ts'

export const APPLICATION_ID = 0x504c464c // 'PLFL'
/** Older releases can lose a reset of the write-ahead log. */
const SQLITE_MIN = [3, 51, 3] as const
const CHECKPOINT_PAGES = 1_000

/** Filesystem types without reliable locks or shared memory. */
const NETWORK: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x01021997, '9p'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
])

export function refuseNetworkFilesystem(
  folder: string,
  typeOf: (folder: string) => number = path => statfsSync(path).type,
): void {
  const name = NETWORK.get(typeOf(folder) >>> 0)
  if (name === undefined) return
  throw new StoreRefused(`${folder} is on a network filesystem (${name})`, 'use --dir with a folder on a local disk')
}

/** For the connection that writes. Must run outside a transaction. */
export function applySettings(connection: Connection): void {
  // The page size can only be set while the file is empty.
  connection.exec('PRAGMA page_size = 4096')
  connection.pragma('journal_mode = WAL')
  connection.exec(`
    PRAGMA synchronous = FULL;
    PRAGMA foreign_keys = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
    PRAGMA mmap_size = 0;
    PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
    PRAGMA journal_size_limit = 16777216;
  `)
  assertSettings(connection)
}

export function assertSettings(connection: Connection): void {
  const version = String(connection.prepare('SELECT sqlite_version() AS version').get()?.version)
  if (!isAtLeast(version, SQLITE_MIN)) {
    throw new StoreRefused(
      `SQLite ${version} is older than ${SQLITE_MIN.join('.')}`,
      'install the version of planfold that brings its own',
    )
  }
  demand(connection, 'journal_mode', 'wal')
  demand(connection, 'synchronous', 2)
  demand(connection, 'foreign_keys', 1)
  demand(connection, 'trusted_schema', 0)
  demand(connection, 'page_size', 4096)
  const mapped = connection.pragma('mmap_size')
  if (mapped !== 0 && mapped !== undefined) refuseSetting('mmap_size', mapped, 0)
  const pages = connection.pragma('wal_autocheckpoint')
  if (typeof pages !== 'number' || pages < CHECKPOINT_PAGES)
    refuseSetting('wal_autocheckpoint', pages, CHECKPOINT_PAGES)
}

function demand(connection: Connection, name: string, value: Value): void {
  const found = connection.pragma(name)
  if (found !== value) refuseSetting(name, found, value)
}

function refuseSetting(name: string, found: Value | undefined, wanted: Value): never {
  throw new StoreRefused(
    `SQLite runs with ${name} = ${found} instead of ${wanted}`,
    advise`the store would not be durable; report this with the output of ${quoted('check')}`,
  )
}

function isAtLeast(version: string, least: readonly number[]): boolean {
  const parts = version.split('.').map(Number)
  for (const [at, wanted] of least.entries()) {
    const part = parts[at] ?? 0
    if (part !== wanted) return part > wanted
  }
  return true
}
