// Connections to PostgreSQL: numbers as numbers, the schema and the tenant set, passwords kept out of messages.

import pg from 'pg'
import { withoutPassword } from '../../format/text/database-url.ts'
import { StoreRefused } from '../store.ts'

export type Row = Readonly<Record<string, unknown>>
export type Query = (text: string, values?: readonly unknown[]) => Promise<readonly Row[]>

export const SCHEMA = 'planfold'
const VERSION_MIN = 140_000
/** One tenant for now. It is part of every key, so that more can be added without a new schema. */
const TENANT = 1
const CONNECT_MS = 10_000

/** 64-bit integers and sums fit into a number here: times, positions and counts. */
const NUMBERS = new Set<number>([pg.types.builtins.INT8, pg.types.builtins.NUMERIC])
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    NUMBERS.has(oid) ? Number : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
}

export const settingsFor = (url: string) => ({
  connectionString: url,
  connectionTimeoutMillis: CONNECT_MS,
  application_name: 'planfold',
  options: `-c search_path=${SCHEMA} -c planfold.tenant=${TENANT} -c client_min_messages=warning`,
})

export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ ...settingsFor(url), types })
  // Without a listener a lost connection would end the process; the next query reports it.
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (cause) {
    throw new StoreRefused(
      `the database ${withoutPassword(url)} cannot be reached: ${(cause as Error).message}`,
      'look at its address, name and password; PGPASSWORD and .pgpass are read too',
    )
  }
  const [found] = await queryOn(client)("SELECT current_setting('server_version_num')::int AS number")
  if ((found!.number as number) < VERSION_MIN) {
    await client.end()
    throw new StoreRefused(`the database is PostgreSQL ${found!.number}`, 'use PostgreSQL 14 or newer')
  }
  return client
}

export const queryOn =
  (client: pg.Client): Query =>
  async (text, values = []) =>
    (await client.query<Record<string, unknown>>(text, [...values])).rows

/** A connection that is made again after it broke. What was under way then fails. */
export class Link {
  readonly #url: string
  #client: pg.Client | null
  #connecting: Promise<pg.Client> | null = null

  private constructor(url: string, client: pg.Client) {
    this.#url = url
    this.#client = null
    this.#keep(client)
  }

  static async open(url: string): Promise<Link> {
    return new Link(url, await connect(url))
  }

  query: Query = async (text, values = []) => await queryOn(await this.client())(text, values)

  async client(): Promise<pg.Client> {
    if (this.#client !== null) return this.#client
    this.#connecting ??= connect(this.#url).finally(() => {
      this.#connecting = null
    })
    this.#keep(await this.#connecting)
    return this.#client!
  }

  async close(): Promise<void> {
    await this.#client?.end()
  }

  #keep(client: pg.Client): void {
    if (this.#client === client) return
    this.#client = client
    const forget = () => {
      if (this.#client === client) this.#client = null
    }
    client.on('error', forget)
    client.on('end', forget)
  }
}

/** SQLSTATE of an answer of the database; null when it gave none, or says that it is going down. */
export function answeredWith(error: unknown): string | null {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^(08|57)/.test(code) ? code : null
}
