// The embedded store as source and as target of a copy. A source is read in one snapshot. A target has a schema number that every program
// refuses until it is whole.

import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { BlobsFiles } from '../blobs/blobs.ts'
import { type CopiedRow, type CopiedTable, unfinished } from '../copy/copied-tables.ts'
import { type Ask, demandTarget, SqlCopy } from '../copy/sql-copy.ts'
import type { CopySource, CopyTarget } from '../copy/store-copy.ts'
import { StoreRefused } from '../store.ts'
import { Connection } from './driver.ts'
import { SCHEMA_VERSION, UNFINISHED } from './schema.ts'
import { applySettings } from './settings.ts'
import { StoreSqlite, type StoreSqliteOptions } from './store-sqlite.ts'

const BUSY_MS = 30_000
const READ: Readonly<Record<string, string>> = {
  heads: `(SELECT h.plan_no, max(h.reached, coalesce(e.version, 0)) AS version, h.fence FROM heads h LEFT JOIN last_entries e USING (plan_no))`,
  pruned: '(SELECT plan_id, name, entries, last_hash, position, at, coalesce(last, position) AS last FROM pruned)',
}

type Options = Pick<StoreSqliteOptions, 'folder' | 'clock' | 'host' | 'newId'>

const pathOf = ({ folder }: Options): string => join(folder, 'planfold.db')
/** Brings it to this schema, or makes it. */
const prepare = async (options: Options) => (await StoreSqlite.open({ ...options, heartbeat: 'manual' })).close()

export async function openSqliteSource(options: Options): Promise<CopySource> {
  if (!existsSync(pathOf(options)))
    throw new StoreRefused(`there is no store in ${options.folder}`, 'name the folder with planfold.db')
  await prepare(options)
  const connection = new Connection(pathOf(options), { readOnly: true, busyMs: BUSY_MS })
  connection.exec('PRAGMA trusted_schema = OFF; BEGIN')
  // The snapshot begins with the first read.
  connection.prepare('SELECT count(*) FROM migrations').get()
  return new SqliteCopy(options, connection)
}

export async function openSqliteTarget(options: Options, source: string): Promise<CopyTarget> {
  if (!isUnfinished(pathOf(options))) await prepare(options)
  const connection = new Connection(pathOf(options), { readOnly: false, busyMs: BUSY_MS })
  try {
    applySettings(connection)
    // Rows come table by table; what belongs to nothing is looked for at the end.
    connection.exec('PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE')
    await mark(connection, options.folder, source)
    connection.exec('COMMIT')
    return new SqliteCopy(options, connection)
  } catch (error) {
    if (connection.inTransaction) connection.exec('ROLLBACK')
    connection.close()
    throw error
  }
}

function isUnfinished(path: string): boolean {
  if (!existsSync(path)) return false
  const connection = new Connection(path, { readOnly: true, busyMs: BUSY_MS })
  try {
    return (connection.pragma('user_version') as number) > UNFINISHED
  } finally {
    connection.close()
  }
}

/** Of a store that was opened by another process meanwhile, the next commit is refused too. */
async function mark(connection: Connection, folder: string, source: string): Promise<void> {
  const version = connection.pragma('user_version') as number
  const before =
    version > UNFINISHED ? String(connection.prepare('SELECT source FROM copied').get()?.source) : undefined
  if (before !== undefined && version !== UNFINISHED + SCHEMA_VERSION) throw unfinished(before)
  if (await demandTarget(askOn(connection), { name: folder, source, before })) return
  connection.exec(`DELETE FROM copied; PRAGMA user_version = ${UNFINISHED + SCHEMA_VERSION}`)
  connection.prepare('INSERT INTO copied VALUES (1, ?, 0, 0, 0, 0)').run(source)
}

const askOn =
  (connection: Connection): Ask =>
  async (text, values = []) => {
    const rows = connection.prepare(text).all(...values) as unknown as readonly CopiedRow[]
    // The driver is synchronous; others get their turn.
    await new Promise(resolve => setImmediate(resolve))
    return rows
  }

class SqliteCopy extends SqlCopy implements CopyTarget {
  readonly #options: Options
  readonly #connection: Connection

  constructor(options: Options, connection: Connection) {
    const { folder, clock, newId } = options
    const blobs = new BlobsFiles({ folder: join(folder, 'blobs'), now: () => clock.now(), newId })
    super(folder, askOn(connection), blobs)
    this.#options = options
    this.#connection = connection
  }

  protected hexOf = (column: string): string => `CASE WHEN ${column} IS NOT NULL THEN lower(hex(${column})) END`
  protected override readFrom = ({ name }: CopiedTable): string => READ[name] ?? name

  async add({ name, columns }: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
    const names = Object.keys(columns)
    const values = names.map(column => (columns[column] === 'bytes' ? 'unhex(?)' : '?'))
    const written = name === 'heads' ? names.map(column => (column === 'version' ? 'reached' : column)) : names
    const insert = this.#connection.prepare(
      `INSERT OR IGNORE INTO ${name} (${written.join(', ')}) VALUES (${values.join(', ')})`,
    )
    this.#connection.begin()
    try {
      for (const row of rows) insert.run(...names.map(column => row[column]!))
      this.#connection.commit()
    } finally {
      if (this.#connection.inTransaction) this.#connection.exec('ROLLBACK')
    }
  }

  async settle(): Promise<void> {
    await this.dropPruned()
    this.#connection.exec(`UPDATE copied SET
      entries = (SELECT count(*) FROM entries) + (SELECT coalesce(sum(entries), 0) FROM pruned),
      position = max((SELECT coalesce(max(position), 0) FROM entries), (SELECT coalesce(max(position), 0) FROM pruned)),
      plans = (SELECT count(*) FROM plans) + (SELECT count(*) FROM pruned),
      number = (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'plans')`)
    const [orphan] = await this.ask('PRAGMA foreign_key_check')
    if (orphan !== undefined)
      throw new StoreRefused(`a row of ${orphan.table} belongs to nothing`, 'the source is damaged: check it')
  }

  async unmark(): Promise<void> {
    this.#connection.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
    this.#connection.pragma('wal_checkpoint(TRUNCATE)')
  }

  /** Contents stay, and are pruned some day. */
  async abandon(): Promise<void> {
    this.#connection.close()
    for (const end of ['', '-wal', '-shm']) rmSync(pathOf(this.#options) + end, { force: true })
  }

  async close(): Promise<void> {
    this.#connection.close()
  }
}
