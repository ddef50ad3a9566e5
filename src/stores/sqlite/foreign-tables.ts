// Read-only access to tables of another program's SQLite file. A file with a write-ahead log would get files beside it even when opened
// read-only, so it is copied first.

import { closeSync, copyFileSync, existsSync, mkdtempSync, openSync, readSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Connection, sqliteCode } from './driver.ts'

export type ForeignValue = null | number | string
export type ForeignRow = { readonly [column: string]: ForeignValue }

export type ForeignTables =
  | { readonly ok: true; readonly tables: ReadonlyMap<string, readonly ForeignRow[]> }
  | { readonly ok: false; readonly message: string; readonly hint: string }

/** A larger table is refused, not truncated. */
const ROWS_MAX = 200_000
const COPY_MAX_BYTES = 2 * 1024 * 1024 * 1024
const BUSY_MS = 2_000

export function databaseKind(path: string): 'sqlite' | 'duckdb' | null {
  const head = headOf(path)
  if (head.toString('latin1', 0, 16) === 'SQLite format 3\0') return 'sqlite'
  return head.toString('latin1', 8, 12) === 'DUCK' ? 'duckdb' : null
}

export function readForeignTables(
  path: string,
  names: readonly string[],
  without: { readonly [table: string]: readonly string[] } = {},
): ForeignTables {
  const folder = hasWriteAheadLog(path) ? mkdtempSync(join(tmpdir(), 'planfold-import-')) : null
  try {
    if (folder === null) return read(path, names, without)
    if (statSync(path).size > COPY_MAX_BYTES)
      return refused('the database is too large to be copied', 'export its tables as JSON')
    const copy = join(folder, 'copy.db')
    copyFileSync(path, copy)
    if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${copy}-wal`)
    return read(copy, names, without, { readOnly: false })
  } finally {
    if (folder !== null) rmSync(folder, { recursive: true, force: true })
  }
}

function read(
  path: string,
  names: readonly string[],
  without: { readonly [table: string]: readonly string[] },
  { readOnly } = { readOnly: true },
): ForeignTables {
  let connection: Connection | null = null
  try {
    connection = new Connection(path, { readOnly, busyMs: BUSY_MS })
    const tables = new Map<string, readonly ForeignRow[]>()
    for (const name of names) {
      const there = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?").get(name)
      if (there === undefined) continue
      const all = connection
        .prepare('SELECT name FROM pragma_table_info(?)')
        .all(name)
        .map(row => String(row.name))
      const columns = all.filter(column => !(without[name] ?? []).includes(column)).map(quoted)
      if (columns.length === 0) continue
      const sql = `SELECT ${columns.join(', ')} FROM ${quoted(name)} ORDER BY rowid LIMIT ${ROWS_MAX + 1}`
      const rows = connection.prepare(sql).all()
      if (rows.length > ROWS_MAX)
        return refused(`the table ${name} has more than ${ROWS_MAX} rows`, 'import a part of it, as JSON')
      tables.set(name, rows.map(plain))
    }
    return { ok: true, tables }
  } catch (error) {
    if (sqliteCode(error) === null && !(error instanceof RangeError)) throw error
    return refused(
      `the database cannot be read: ${(error as Error).message}`,
      'is it whole, and does nobody write to it just now?',
    )
  } finally {
    connection?.close()
  }
}

const refused = (message: string, hint: string): ForeignTables => ({ ok: false, message, hint })

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

function plain(row: { readonly [column: string]: null | number | string | Uint8Array }): ForeignRow {
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [
      key,
      value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : value,
    ]),
  )
}

/** Does the header say that the file has a write-ahead log? */
function hasWriteAheadLog(path: string): boolean {
  const head = headOf(path)
  return head[18] === 2 || head[19] === 2 || existsSync(`${path}-wal`)
}

function headOf(path: string): Buffer {
  const head = Buffer.alloc(24)
  const file = openSync(path, 'r')
  try {
    readSync(file, head, 0, head.length, 0)
  } finally {
    closeSync(file)
  }
  return head
}
