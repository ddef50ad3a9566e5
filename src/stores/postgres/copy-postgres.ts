// The store on PostgreSQL as source and as target of a copy. A source is read in one snapshot. A target has a row that says that it is
// unfinished, with which no store opens.

import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import type pg from 'pg'
import type { Event } from '../../domain/event.ts'
import type { Sha256 } from '../../domain/id.ts'
import { isConfidential } from '../../domain/plan-rules/confidential.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import { withoutPassword } from '../../format/text/database-url.ts'
import { COPIED_TABLES, type CopiedRow, type CopiedTable, type CopiedValue, unfinished } from '../copy/copied-tables.ts'
import { type Ask, demandTarget, SqlCopy } from '../copy/sql-copy.ts'
import type { CopySource, CopyTarget } from '../copy/store-copy.ts'
import type { StoredEntry } from '../journal/entry.ts'
import type { SharedCopyOptions } from '../shared-stores.ts'
import { StoreRefused } from '../store.ts'
import { offCourse } from './append.ts'
import { BlobsPostgres } from './blobs-postgres.ts'
import { connect, type Query, queryOn } from './connection/connection.ts'
import { migrate } from './migrate.ts'
import { wordsIn } from './rows.ts'

/** Columns that are no part of the copy; they follow from the entries. */
const HEAD = ', at, done, hash'
const WORDS = ', memory_words'
/** One process fills a store at a time. */
const LOCK = 7_052_654

export async function openPostgresSource(options: SharedCopyOptions): Promise<CopySource> {
  const { url, now } = options
  const client = await connect(url)
  try {
    await migrate(client, now())
    const query = queryOn(client)
    await refuseUnfinished(query)
    await query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    await query('SELECT 1 FROM meta')
    return new PostgresCopy(options, client)
  } catch (error) {
    await client.end()
    throw error
  }
}

export async function openPostgresTarget(options: SharedCopyOptions, source: string): Promise<CopyTarget> {
  const { url, now } = options
  const client = await connect(url)
  try {
    await migrate(client, now())
    await mark(queryOn(client), withoutPassword(url), source)
    return new PostgresCopy(options, client)
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
  const before = (await query('SELECT source FROM copying'))[0]?.source as string | undefined
  if (!(await demandTarget(askOn(query), { name, source, before })))
    await query('INSERT INTO copying (source) VALUES ($1)', [source])
}

const askOn =
  (query: Query): Ask =>
  async (text, values) => {
    let at = 0
    return (await query(
      text.replaceAll('?', () => `$${++at}`),
      values,
    )) as readonly CopiedRow[]
  }

type Entry = StoredEntry & { readonly plan_no: number }

class PostgresCopy extends SqlCopy implements CopyTarget {
  readonly #client: pg.Client
  readonly #query: Query
  readonly #options: SharedCopyOptions
  readonly #blobs: BlobsPostgres
  readonly #confidential = new Set<number>()
  #kept: ReadonlySet<number> | null = null

  constructor(options: SharedCopyOptions, client: pg.Client) {
    const { url, folder, now, newId } = options
    const query = queryOn(client)
    const blobs = new BlobsPostgres({ folder: join(folder, 'blobs'), now, newId }, { query })
    super(withoutPassword(url), askOn(query), blobs)
    this.#options = options
    this.#client = client
    this.#query = query
    this.#blobs = blobs
  }

  protected hexOf = (column: string): string => `encode(${column}, 'hex')`
  override blobIds = (): Promise<Iterable<Sha256>> => this.#blobs.allIds()

  override async *rows(...of: Parameters<CopySource['rows']>): AsyncGenerator<readonly CopiedRow[]> {
    const isLog = of[0].name === 'task_logs'
    for await (const page of super.rows(...of))
      yield isLog ? page.map(row => ({ ...row, text: this.#blobs.openText(row.text as string) })) : page
  }

  async add({ name, columns }: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
    const names = Object.keys(columns).join(', ')
    const isMemory = name === 'memories'
    const [more, values] = name === 'heads' ? [HEAD, ", 0, 0, ''"] : isMemory ? [WORDS, WORDS] : ['', '']
    const bytes = Object.entries(columns).flatMap(([column, type]) => (type === 'bytes' ? [column] : []))
    if (name === 'entries') await this.#refuseConfidential(rows as unknown as readonly Entry[])
    const isKept = name === 'task_logs' ? await this.#keptPlans() : new Set<number>()
    const texts = rows.map(row =>
      isKept.has(row.plan_no as number) ? { ...row, text: this.#blobs.keepText(row.text as string) } : row,
    )
    const sent = texts.map(row => ({
      ...row,
      ...Object.fromEntries(bytes.map(column => [column, asBytes(row[column])])),
      ...(isMemory ? { memory_words: wordsIn(row.text as string, 'log') } : {}),
    }))
    await this.#query(
      `INSERT INTO ${name} (${names}${more}) OVERRIDING SYSTEM VALUE
        SELECT ${names}${values} FROM jsonb_populate_recordset(NULL::${name}, $1::jsonb) ON CONFLICT DO NOTHING`,
      [JSON.stringify(sent)],
    )
  }

  async settle(): Promise<void> {
    await this.dropPruned()
    await this.#query(`UPDATE tasks SET off_course = ${offCourse('status')}`)
    await this.#query(`UPDATE heads h SET at = e.at, done = e.done, hash = e.hash FROM entries e
      WHERE e.plan_no = h.plan_no AND e.version = h.version`)
    // Their workers find out what is due.
    await this.#query(`UPDATE heads h SET wake_at = 0 FROM plans p
      WHERE p.plan_no = h.plan_no AND p.status NOT IN ('draft', 'completed', 'failed', 'cancelled')`)
    // What is written from now on comes behind what was copied.
    await this.#query(`UPDATE meta SET base = greatest(base,
      (SELECT coalesce(max(position), 0) FROM entries), (SELECT coalesce(max(position), 0) FROM pruned))`)
    for (const [table, column] of [
      ['task_logs', 'seq'],
      ['streams', 'stream_no'],
      ['memories', 'memory_no'],
      ['memory_vectors', 'vector_no'],
    ] as const)
      await this.#query(`SELECT setval('${table}_${column}_seq', max(${column})) FROM ${table} HAVING count(*) > 0`)
  }

  /** Publishes what the entries name, except those of plans with confidential tasks. */
  async #share(): Promise<void> {
    const kept = await this.#keptPlans()
    for await (const entries of this.#entries())
      await this.#blobs.publish(
        entries.filter(({ plan_no: no }) => !kept.has(no)),
        this.#query,
      )
    await this.#query('UPDATE heads SET home = $2 WHERE plan_no = ANY($1::bigint[])', [[...kept], this.#options.host])
  }

  /** Those with confidential tasks whose bodies are only in the local folder. */
  async #keptPlans(): Promise<ReadonlySet<number>> {
    if (this.#kept !== null) return this.#kept
    const confidential = new Set<number>()
    const open = new Set<number>()
    for await (const entries of this.#entries()) await this.#sort(entries, confidential, open)
    this.#kept = new Set([...confidential].filter(no => !open.has(no)))
    return this.#kept
  }

  async #sort(entries: readonly Entry[], confidential: Set<number>, open: Set<number>): Promise<void> {
    for (const entry of entries) {
      if ((await this.#eventsOf(entry)).some(isConfidentialEvent)) confidential.add(entry.plan_no)
      if (entry.body !== null && confidential.has(entry.plan_no)) open.add(entry.plan_no)
    }
  }

  /** Before they are written: nothing of it may come into the database. */
  async #refuseConfidential(entries: readonly Entry[]): Promise<void> {
    const open = new Set<number>()
    await this.#sort(entries, this.#confidential, open)
    if (open.size > 0 && this.#options.withConfidential !== true)
      throw new StoreRefused(
        'a plan of the source has confidential tasks, whose inputs and outputs would stand in the database',
        'copy it all the same with --with-confidential, or archive and prune it first',
      )
  }

  async *#entries(): AsyncGenerator<readonly Entry[]> {
    const table = COPIED_TABLES.find(({ name }) => name === 'entries')!
    for await (const rows of this.rows(table, null)) yield rows as never
  }

  async #eventsOf({ body, blob }: Pick<StoredEntry, 'body' | 'blob'>): Promise<readonly Event[]> {
    const packed = blob === null ? null : await this.#blobs.get(blob)
    if (blob !== null && packed === null) throw new StoreRefused(`blob ${blob} is missing`, this.#blobs.elsewhere)
    const text = packed === null ? (body ?? '') : inflateSync(packed).toString()
    return text.includes('"labels"') ? (JSON.parse(text) as { readonly events: readonly Event[] }).events : []
  }

  async unmark(): Promise<void> {
    await this.#share()
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

function isConfidentialEvent(event: Event): boolean {
  if (event.type === 'plan.created' || event.type === 'plan.revised') {
    const { definition } = event
    return isConfidential(definition, {}) || allTasks(definition).some(task => isConfidential(definition, task))
  }
  return event.type === 'task.added' && event.tasks.some(task => isConfidential({}, task))
}
