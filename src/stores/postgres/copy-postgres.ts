// The store on PostgreSQL as source and as target of a copy. A source is read in one snapshot. A target has a row that says that it is
// unfinished, with which no store opens.

import type pg from 'pg'
import type { Sha256 } from '../../domain/id.ts'
import { withoutPassword } from '../../format/text/database-url.ts'
import type { Batch } from '../../workspace/workspace.ts'
import { COPIED_TABLES, type CopiedRow, type CopiedTable, type CopiedValue, unfinished } from '../copy/copied-tables.ts'
import type { CopyTarget } from '../copy/store-copy.ts'
import { StoreRefused } from '../store.ts'
import type { ContentStore } from '../store-on-tables.ts'
import { connect, type Query, queryOn } from './connection.ts'
import { migrate } from './migrate.ts'

const PAGE = 200
/** A store with rows in one of these is not empty. */
const FULL = ['plans', 'streams', 'once', 'pruned', 'halts']
/** Columns that are no part of the copy; they follow from the entries. */
const HEAD = ', at, done, hash'
/** One process fills a store at a time. */
const LOCK = 7_052_654

interface Options {
  readonly url: string
  readonly now: () => number
  readonly blobs: ContentStore
}

export async function openPostgresSource({ url, now, blobs }: Options): Promise<PostgresCopy> {
  const client = await connect(url)
  try {
    await migrate(client, now())
    const query = queryOn(client)
    await refuseUnfinished(query)
    await query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    await query('SELECT 1 FROM meta')
    return new PostgresCopy(url, client, blobs)
  } catch (error) {
    await client.end()
    throw error
  }
}

export async function openPostgresTarget({ url, now, blobs }: Options, source: string): Promise<CopyTarget> {
  const client = await connect(url)
  try {
    await migrate(client, now())
    await mark(queryOn(client), withoutPassword(url), source)
    return new PostgresCopy(url, client, blobs)
  } catch (error) {
    await client.end()
    throw error
  }
}

export async function refuseUnfinished(query: Query): Promise<void> {
  const [row] = await query('SELECT source FROM copying')
  if (row !== undefined) throw unfinished(String(row.source))
}

async function mark(query: Query, name: string, source: string): Promise<void> {
  const [lock] = await query('SELECT pg_try_advisory_lock($1) AS mine', [LOCK])
  if (lock!.mine !== true) throw new StoreRefused(`another process copies to ${name}`, 'wait until it has ended')
  const [before] = await query('SELECT source FROM copying')
  if (before !== undefined) {
    if (before.source !== source) throw unfinished(String(before.source))
    return
  }
  const full = await query(FULL.map(table => `(SELECT 1 FROM ${table} LIMIT 1)`).join(' UNION ALL '))
  if (full.length > 0)
    throw new StoreRefused(`the store in ${name} is not empty`, 'name an empty database; nothing was written')
  await query('INSERT INTO copying (source) VALUES ($1)', [source])
}

class PostgresCopy implements CopyTarget {
  readonly name: string
  readonly #client: pg.Client
  readonly #query: Query
  readonly #blobs: ContentStore
  #batch: Batch | null = null

  constructor(url: string, client: pg.Client, blobs: ContentStore) {
    this.name = withoutPassword(url)
    this.#client = client
    this.#query = queryOn(client)
    this.#blobs = blobs
  }

  async *rows(table: CopiedTable, after: readonly CopiedValue[] | null): AsyncGenerator<readonly CopiedRow[]> {
    const key = table.key.join(', ')
    const columns = Object.entries(table.columns).map(([name, type]) =>
      type === 'bytes' ? `encode(${name}, 'hex') AS ${name}` : name,
    )
    for (let from = after; ; ) {
      const where = from === null ? '' : `WHERE (${key}) > (${from.map((_, at) => `$${at + 1}`).join(', ')})`
      const read = `SELECT ${columns.join(', ')} FROM ${table.name} ${where} ORDER BY ${key} LIMIT ${PAGE}`
      const page = (await this.#query(read, from ?? [])) as readonly CopiedRow[]
      if (page.length > 0) yield page
      if (page.length < PAGE) return
      from = table.key.map(name => page.at(-1)![name]!)
    }
  }

  blobIds = async (): Promise<Iterable<Sha256>> => this.#blobs.ids()
  blob = (id: Sha256): Promise<Uint8Array | null> => this.#blobs.get(id)
  hasBlob = async (id: Sha256): Promise<boolean> => this.#blobs.has(id)

  async last({ name, key }: CopiedTable): Promise<readonly CopiedValue[] | null> {
    const down = key.map(column => `${column} DESC`).join(', ')
    const [row] = await this.#query(`SELECT ${key.join(', ')} FROM ${name} ORDER BY ${down} LIMIT 1`)
    return row === undefined ? null : key.map(column => row[column] as CopiedValue)
  }

  async clear({ name }: CopiedTable): Promise<void> {
    await this.#query(`DELETE FROM ${name}`)
  }

  async add({ name, columns }: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
    const names = Object.keys(columns).join(', ')
    const [more, values] = name === 'heads' ? [HEAD, ", 0, 0, ''"] : ['', '']
    const bytes = Object.entries(columns).flatMap(([column, type]) => (type === 'bytes' ? [column] : []))
    const sent = rows.map(row => ({
      ...row,
      ...Object.fromEntries(bytes.map(column => [column, asBytes(row[column])])),
    }))
    await this.#query(
      `INSERT INTO ${name} (${names}${more}) OVERRIDING SYSTEM VALUE
        SELECT ${names}${values} FROM jsonb_populate_recordset(NULL::${name}, $1::jsonb) ON CONFLICT DO NOTHING`,
      [JSON.stringify(sent)],
    )
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
      await this.#query(`DELETE FROM ${table} WHERE plan_no NOT IN (SELECT plan_no FROM plans)`)
    await this.#query(`UPDATE heads h SET at = e.at, done = e.done, hash = e.hash FROM entries e
      WHERE e.plan_no = h.plan_no AND e.version = h.version`)
    // Whoever looks at them finds out what is due.
    await this.#query(`UPDATE heads h SET wake_at = 0 FROM plans p
      WHERE p.plan_no = h.plan_no AND p.status NOT IN ('draft', 'completed', 'failed', 'cancelled')`)
    // What is written from now on comes behind what was copied.
    await this.#query(`UPDATE meta SET base = greatest(base,
      (SELECT coalesce(max(position), 0) FROM entries), (SELECT coalesce(max(position), 0) FROM pruned))`)
    for (const [table, column] of [
      ['task_logs', 'seq'],
      ['streams', 'stream_no'],
    ] as const)
      await this.#query(`SELECT setval('${table}_${column}_seq', max(${column})) FROM ${table} HAVING count(*) > 0`)
  }

  async unmark(): Promise<void> {
    await this.#query('DELETE FROM copying')
  }

  async abandon(): Promise<void> {
    for (const { name } of COPIED_TABLES) await this.#query(`DELETE FROM ${name}`)
    await this.unmark()
  }

  async close(): Promise<void> {
    await this.#client.end()
  }
}

const asBytes = (hex: CopiedValue | undefined): string | null => (typeof hex === 'string' ? `\\x${hex}` : null)
