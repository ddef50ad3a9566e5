// The embedded store as source and as target of a copy. A source is read in one snapshot. A target has a schema number that every program
// refuses until it is whole.

import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Sha256 } from '../../domain/id.ts'
import type { Batch } from '../../workspace/workspace.ts'
import { BlobsFiles } from '../blobs/blobs.ts'
import { type CopiedRow, type CopiedTable, type CopiedValue, unfinished } from '../copy/copied-tables.ts'
import type { CopySource, CopyTarget } from '../copy/store-copy.ts'
import { StoreRefused } from '../store.ts'
import { Connection } from './driver.ts'
import { SCHEMA_VERSION, UNFINISHED } from './schema.ts'
import { applySettings } from './settings.ts'
import { StoreSqlite, type StoreSqliteOptions } from './store-sqlite.ts'

const PAGE = 200
const BUSY_MS = 30_000
/** Where the columns of the copy are not those of the table. */
const READ: Readonly<Record<string, string>> = {
  heads: `(SELECT h.plan_no, max(h.reached, coalesce(e.version, 0)) AS version, h.fence FROM heads h LEFT JOIN last_entries e USING (plan_no))`,
  pruned: '(SELECT plan_id, name, entries, last_hash, position, at, coalesce(last, position) AS last FROM pruned)',
}
/** A store with rows in one of these is not empty. */
const FULL = ['plans', 'streams', 'once', 'pruned', 'halts']

type Options = Pick<StoreSqliteOptions, 'folder' | 'clock' | 'host' | 'newId'>

export async function openSqliteSource(options: Options): Promise<CopySource> {
  const path = join(options.folder, 'planfold.db')
  if (!existsSync(path))
    throw new StoreRefused(`there is no store in ${options.folder}`, 'name the folder with planfold.db')
  // Brings an older store to this schema.
  await (await StoreSqlite.open({ ...options, heartbeat: 'manual' })).close()
  const connection = new Connection(path, { readOnly: true, busyMs: BUSY_MS })
  connection.exec('PRAGMA trusted_schema = OFF; BEGIN')
  // The snapshot begins with the first read.
  connection.prepare('SELECT count(*) FROM migrations').get()
  return new SqliteCopy(options, connection)
}

export async function openSqliteTarget(options: Options, source: string): Promise<CopyTarget> {
  const path = join(options.folder, 'planfold.db')
  if (!isUnfinished(path)) await (await StoreSqlite.open({ ...options, heartbeat: 'manual' })).close()
  const connection = new Connection(path, { readOnly: false, busyMs: BUSY_MS })
  try {
    applySettings(connection)
    // Rows come table by table; what belongs to nothing is looked for at the end.
    connection.exec('PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE')
    mark(connection, options.folder, source)
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
function mark(connection: Connection, folder: string, source: string): void {
  const version = connection.pragma('user_version') as number
  if (version > UNFINISHED) {
    const before = String(connection.prepare('SELECT source FROM copied').get()?.source)
    if (before !== source || version !== UNFINISHED + SCHEMA_VERSION) throw unfinished(before)
    return
  }
  const full = FULL.filter(table => connection.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined)
  if (full.length > 0)
    throw new StoreRefused(`the store in ${folder} is not empty`, 'name a folder without a store; nothing was written')
  connection.exec(`DELETE FROM copied; PRAGMA user_version = ${UNFINISHED + SCHEMA_VERSION}`)
  connection.prepare('INSERT INTO copied VALUES (1, ?, 0, 0, 0, 0)').run(source)
}

class SqliteCopy implements CopyTarget {
  readonly name: string
  readonly #folder: string
  readonly #connection: Connection
  readonly #blobs: BlobsFiles
  #batch: Batch | null = null

  constructor({ folder, clock, newId }: Options, connection: Connection) {
    this.name = folder
    this.#folder = folder
    this.#connection = connection
    this.#blobs = new BlobsFiles({ folder: join(folder, 'blobs'), now: () => clock.now(), newId })
  }

  async *rows(table: CopiedTable, after: readonly CopiedValue[] | null): AsyncGenerator<readonly CopiedRow[]> {
    const key = table.key.join(', ')
    const columns = Object.entries(table.columns).map(([name, type]) =>
      type === 'bytes' ? `CASE WHEN ${name} IS NOT NULL THEN lower(hex(${name})) END AS ${name}` : name,
    )
    const read = `SELECT ${columns.join(', ')} FROM ${READ[table.name] ?? table.name}`
    for (let from = after; ; ) {
      const where = from === null ? '' : `WHERE (${key}) > (${from.map(() => '?').join(', ')})`
      const page = this.#connection
        .prepare(`${read} ${where} ORDER BY ${key} LIMIT ${PAGE}`)
        .all(...(from ?? [])) as unknown as readonly CopiedRow[]
      if (page.length > 0) yield page
      if (page.length < PAGE) return
      from = table.key.map(name => page.at(-1)![name]!)
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  blobIds = async (): Promise<Iterable<Sha256>> => this.#blobs.ids()
  blob = (id: Sha256): Promise<Uint8Array | null> => this.#blobs.get(id)
  hasBlob = async (id: Sha256): Promise<boolean> => this.#blobs.has(id)

  async last({ name, key }: CopiedTable): Promise<readonly CopiedValue[] | null> {
    const down = key.map(column => `${column} DESC`).join(', ')
    const row = this.#connection.prepare(`SELECT ${key.join(', ')} FROM ${name} ORDER BY ${down} LIMIT 1`).get()
    return row === undefined ? null : key.map(column => row[column] as CopiedValue)
  }

  async clear({ name }: CopiedTable): Promise<void> {
    this.#connection.exec(`DELETE FROM ${name}`)
  }

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

  async addBlob(bytes: Uint8Array): Promise<void> {
    this.#batch ??= this.#blobs.batch()
    this.#batch.add(bytes)
    await this.#batch.room()
  }

  async flush(): Promise<void> {
    await this.#batch?.close()
    this.#batch = null
  }

  async settle(): Promise<void> {
    for (const table of ['entries', 'task_logs'])
      this.#connection.exec(`DELETE FROM ${table} WHERE plan_no NOT IN (SELECT plan_no FROM plans)`)
    this.#connection.exec(`UPDATE copied SET
      entries = (SELECT count(*) FROM entries) + (SELECT coalesce(sum(entries), 0) FROM pruned),
      position = max((SELECT coalesce(max(position), 0) FROM entries), (SELECT coalesce(max(position), 0) FROM pruned)),
      plans = (SELECT count(*) FROM plans) + (SELECT count(*) FROM pruned),
      number = (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'plans')`)
    const [orphan] = this.#connection.prepare('PRAGMA foreign_key_check').all()
    if (orphan !== undefined)
      throw new StoreRefused(`a row of ${orphan.table} belongs to nothing`, 'the source is damaged: look with `check`')
  }

  async unmark(): Promise<void> {
    this.#connection.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
    this.#connection.pragma('wal_checkpoint(TRUNCATE)')
  }

  /** Contents stay; the next `prune` removes them. */
  async abandon(): Promise<void> {
    this.#connection.close()
    for (const end of ['', '-wal', '-shm']) rmSync(join(this.#folder, `planfold.db${end}`), { force: true })
  }

  async close(): Promise<void> {
    this.#connection.close()
  }
}
