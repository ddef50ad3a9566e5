// Connections to PostgreSQL: numbers as numbers, the schema and the tenant set, passwords kept out of messages.

import pg from 'pg'
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

export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    types,
    connectionTimeoutMillis: CONNECT_MS,
    application_name: 'planfold',
    options: `-c search_path=${SCHEMA} -c planfold.tenant=${TENANT} -c client_min_messages=warning`,
  })
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

export function withoutPassword(url: string): string {
  try {
    const parsed = new URL(url)
    parsed.password = ''
    parsed.search = ''
    return parsed.href
  } catch {
    return 'that was named'
  }
}
