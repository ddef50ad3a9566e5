// Connections to PostgreSQL: numbers as numbers, the schema and the tenant set, passwords kept out of messages.

import pg from 'pg'
import { withoutPassword } from '../../../format/text/database-url.ts'
import { StoreRefused } from '../../store.ts'
import { plainError, Unreachable } from './errors.ts'

export type Row = Readonly<Record<string, unknown>>
/** With a name, a statement is prepared once for each connection. */
type Statement = string | { readonly name: string; readonly text: string }
export type Query = (statement: Statement, values?: readonly unknown[]) => Promise<readonly Row[]>

export const SCHEMA = 'planfold'
const VERSION_MIN = 140_000
/** One tenant for now. It is part of every key, so that more can be added without a new schema. */
const TENANT = 1
const CONNECT_MS = 10_000
/** A connection whose other end is silent for so long counts as broken. */
const SILENT_MS = 60_000
/** How long requests wait for a server that cannot be reached. */
const PATIENCE_MS = 30_000
const PAUSE_MAX_MS = 500

/** 64-bit integers and sums fit into a number here: times, positions and counts. */
const NUMBERS = new Set<number>([pg.types.builtins.INT8, pg.types.builtins.NUMERIC])
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    NUMBERS.has(oid) ? Number : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
}

/**
 * Machine code is never worth its while for small statements, and a plan that the cost of a table scan makes look dear would ask for it each time.
 */
const OPTIONS = `-c search_path=${SCHEMA} -c planfold.tenant=${TENANT} -c client_min_messages=warning -c jit=off`
/**
 * For the functions that append, whose statements find rows by their keys: planned once, and never as a scan of a table that was small then.
 */
export const PREPARED = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off'

export const settingsFor = (url: string, more = '') => ({
  connectionString: url,
  connectionTimeoutMillis: CONNECT_MS,
  application_name: 'planfold',
  options: `${OPTIONS} ${more}`,
})

/** `silentMs`: only for statements that are short, or may be sent again. */
export async function connect(url: string, silentMs = 0, options = ''): Promise<pg.Client> {
  try {
    const client = new pg.Client({ ...settingsFor(url, options), types, keepAlive: true, query_timeout: silentMs })
    // Without a listener a lost connection would end the process; the next query reports it.
    client.on('error', () => {})
    await client.connect()
    const [found] = await queryOn(client)("SELECT current_setting('server_version_num')::int AS number")
    if ((found!.number as number) >= VERSION_MIN) return client
    await client.end()
    throw new StoreRefused(`${named(url)} is PostgreSQL ${found!.number}`, 'use PostgreSQL 14 or newer')
  } catch (error) {
    throw plainError(error, named(url))
  }
}

const named = (url: string): string => `the database ${withoutPassword(url)}`

const turns = new WeakMap<pg.Client, Promise<unknown>>()

export const queryOn =
  (client: pg.Client): Query =>
  async (statement, values = []) => {
    const asked = typeof statement === 'string' ? { text: statement } : statement
    // The driver wants one statement at a time.
    const turn = (turns.get(client) ?? Promise.resolve()).then(() =>
      client.query<Row & pg.QueryResultRow>({ ...asked, values: [...values] }),
    )
    turns.set(
      client,
      turn.catch(() => {}),
    )
    try {
      return (await turn).rows
    } catch (error) {
      throw plainError(error, `the database '${client.database}'`)
    }
  }

/** A connection that is made again after it broke. What was under way then fails with `Unreachable`. */
export class Link {
  readonly #url: string
  readonly #patienceMs: number
  readonly #options: string
  #client: pg.Client | null = null
  #connecting: Promise<pg.Client> | null = null
  #isClosed = false
  #away: Countdown | null = null

  private constructor(url: string, patienceMs: number, options: string) {
    this.#url = url
    this.#patienceMs = patienceMs
    this.#options = options
  }

  static async open(url: string, patienceMs = PATIENCE_MS, options = ''): Promise<Link> {
    const link = new Link(url, patienceMs, options)
    await link.client()
    return link
  }

  /** One statement that may be sent twice: it only reads. */
  query: Query = (statement, values) => this.patiently(async client => await queryOn(client)(statement, values))

  /** Does the work; when the connection breaks, all of it again on another, until the database was away for too long. */
  async patiently<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    for (let pause = 5; ; pause = Math.min(pause * 2, PAUSE_MAX_MS)) {
      let client: pg.Client | null = null
      try {
        client = await this.client()
        const done = await work(client)
        this.#away?.stop()
        this.#away = null
        return done
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error
        if (client !== null) this.#forget(client)
        this.#away ??= countdown(this.#patienceMs)
        if (this.#away.isOver) throw error
      }
      await new Promise(resolve => setTimeout(resolve, pause))
    }
  }

  async client(): Promise<pg.Client> {
    if (this.#isClosed) throw new Error('the store is closed')
    if (this.#client !== null) return this.#client
    this.#connecting ??= connect(this.#url, SILENT_MS, this.#options)
      .then(client => {
        this.#client = client
        client.on('error', () => this.#forget(client))
        client.on('end', () => this.#forget(client))
        return client
      })
      .finally(() => {
        this.#connecting = null
      })
    return await this.#connecting
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#away?.stop()
    await this.#connecting?.catch(() => {})
    await this.#client?.end().catch(() => {})
  }

  #forget(client: pg.Client): void {
    if (this.#client !== client) return
    this.#client = null
    client.end().catch(() => {})
  }
}

interface Countdown {
  isOver: boolean
  stop(): void
}

function countdown(ms: number): Countdown {
  const timer = setTimeout(() => {
    away.isOver = true
  }, ms)
  timer.unref()
  const away: Countdown = { isOver: false, stop: () => clearTimeout(timer) }
  return away
}
