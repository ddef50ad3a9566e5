// Brings the schema to this release, one process at a time. A newer schema is refused.

import type pg from 'pg'
import type { Migrated } from '../shared-stores.ts'
import { StoreRefused } from '../store.ts'
import { connect, type Query, queryOn, SCHEMA } from './connection/connection.ts'
import { isWalled, makeRoles, OWNER_ROLE, type Role } from './roles.ts'
import { MIGRATIONS, SCHEMA_VERSION } from './schema.ts'

/** An arbitrary number: the lock is held by everything that migrates. */
const LOCK = 7_052_653

export async function migrate(client: pg.Client, now: number): Promise<void> {
  const query = queryOn(client)
  // A role that only reads may not even try the rest.
  if ((await schemaOf(query)) === SCHEMA_VERSION) return
  await query('BEGIN')
  try {
    await query('SELECT pg_advisory_xact_lock($1)', [LOCK])
    if ((await schemaOf(query)) === null) {
      await query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`)
      await query('CREATE TABLE migrations (number int PRIMARY KEY, name text NOT NULL, at bigint NOT NULL)')
    } else if (await isOwnedByRole(query)) await query(`SET LOCAL ROLE ${OWNER_ROLE}`)
    const found = (await schemaOf(query)) ?? 0
    for (const { number, name, sql } of MIGRATIONS) {
      if (number <= found) continue
      await query(sql)
      await query('INSERT INTO migrations VALUES ($1, $2, $3)', [number, name, now])
    }
    await query('COMMIT')
  } catch (error) {
    await query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Null: there is none. */
async function schemaOf(query: Query): Promise<number | null> {
  const [table] = await query(`SELECT to_regclass('${SCHEMA}.migrations') IS NOT NULL AS found`)
  if (table!.found !== true) return null
  const [row] = await query(`SELECT coalesce(max(number), 0) AS number FROM ${SCHEMA}.migrations`)
  const found = row!.number as number
  if (found <= SCHEMA_VERSION) return found
  throw new StoreRefused(
    `the database has schema ${found}, and this program knows ${SCHEMA_VERSION}`,
    'use the newer planfold',
  )
}

async function isOwnedByRole(query: Query): Promise<boolean> {
  const [row] = await query('SELECT pg_get_userbyid(nspowner) AS owner FROM pg_namespace WHERE nspname = $1', [SCHEMA])
  return row!.owner === OWNER_ROLE
}

/** As an administrator: the schema, and the roles for processes, whose passwords are shown only here. */
export async function migrateDatabase(
  url: string,
  { now, newPassword }: { readonly now: number; readonly newPassword: () => string },
): Promise<Migrated> {
  const client = await connect(url)
  try {
    await migrate(client, now)
    const query = queryOn(client)
    await query('BEGIN')
    await query('SELECT pg_advisory_xact_lock($1)', [LOCK])
    const roles = await makeRoles(query, newPassword)
    await query('COMMIT')
    if (roles.status === 'refused') return { schema: SCHEMA_VERSION, roles }
    const { faces, append } = roles
    const isNew = faces.password !== null || append.password !== null
    const urls = { faces: urlFor(url, faces), append: urlFor(url, append) }
    return { schema: SCHEMA_VERSION, roles: { status: 'made', ...urls, isNew } }
  } finally {
    await client.end()
  }
}

/** For `doctor`. */
export async function examineDatabase(url: string): Promise<{ readonly version: string; readonly isWalled: boolean }> {
  const client = await connect(url)
  try {
    const query = queryOn(client)
    const [row] = await query('SHOW server_version')
    const isMigrated = (await schemaOf(query)) !== null
    return { version: String(row!.server_version), isWalled: isMigrated && (await isWalled(query)) }
  } finally {
    await client.end()
  }
}

/** Written by hand, because an address without a host is none for `URL`. */
function urlFor(url: string, { name, password }: Role): string {
  const who = password === null ? name : `${name}:${password}`
  return url.replace(/^(postgres(?:ql)?:\/\/)(?:[^/?]*@)?/, `$1${who}@`)
}
