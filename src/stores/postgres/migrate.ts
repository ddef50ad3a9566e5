// Brings the schema to this release, one process at a time. A newer schema is refused.

import type pg from 'pg'
import { StoreRefused } from '../store.ts'
import { queryOn, SCHEMA } from './connection.ts'
import { MIGRATIONS, SCHEMA_VERSION } from './schema.ts'

/** An arbitrary number: the lock is held by everything that migrates. */
const LOCK = 7_052_653

export async function migrate(client: pg.Client, now: number): Promise<void> {
  const query = queryOn(client)
  await query('BEGIN')
  try {
    await query('SELECT pg_advisory_xact_lock($1)', [LOCK])
    await query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`)
    await query(
      'CREATE TABLE IF NOT EXISTS migrations (number int PRIMARY KEY, name text NOT NULL, at bigint NOT NULL)',
    )
    const [row] = await query('SELECT coalesce(max(number), 0) AS number FROM migrations')
    const found = row!.number as number
    if (found > SCHEMA_VERSION)
      throw new StoreRefused(
        `the database has schema ${found}, and this program knows ${SCHEMA_VERSION}`,
        'use the newer planfold',
      )
    for (const { number, name, sql } of MIGRATIONS) {
      if (number <= found) continue
      await client.query(sql)
      await query('INSERT INTO migrations VALUES ($1, $2, $3)', [number, name, now])
    }
    await query('COMMIT')
  } catch (error) {
    await query('ROLLBACK').catch(() => {})
    throw error
  }
}
