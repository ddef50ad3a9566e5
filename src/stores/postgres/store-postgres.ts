// The store on PostgreSQL, for several processes and machines.

import { join } from 'node:path'
import type { Millis } from '../../domain/id.ts'
import { BlobsFiles } from '../blobs/blobs.ts'
import { Changes } from '../journal/changes.ts'
import { States } from '../journal/plan-states.ts'
import type { Clock, Host } from '../leases/host.ts'
import { StoreOnTables } from '../store-on-tables.ts'
import { connect, Link, settingsFor } from './connection.ts'
import { DatabaseClock } from './database-clock.ts'
import { threadHeartbeat } from './heartbeat.ts'
import { migrate } from './migrate.ts'
import { bell, listen } from './notifications.ts'
import { type PostgresRoom, PostgresTransactions } from './transactions.ts'
import { WorkingSet } from './working-set.ts'

export interface StorePostgresOptions {
  readonly url: string
  /** For appends; a role that may do nothing else. Absent: `url`. */
  readonly appendUrl?: string | undefined
  /** For contents of files; the first copy is kept here. */
  readonly folder: string
  readonly clock: Clock
  readonly host: Host
  readonly newId: () => string
  readonly foldEvery?: number
  /** How long requests wait for a server that cannot be reached. */
  readonly patienceMs?: number
  /** `manual`: only by `leases.renew()`, in tests, whose `clock` is also the time of the database. */
  readonly heartbeat?: 'thread' | 'manual'
  readonly counted?: PostgresRoom['counted']
}

export class StorePostgres extends StoreOnTables {
  readonly transactions: PostgresTransactions

  private constructor(parts: ConstructorParameters<typeof StoreOnTables>[0] & { transactions: PostgresTransactions }) {
    super(parts)
    this.transactions = parts.transactions
  }

  static async open(options: StorePostgresOptions): Promise<StorePostgres> {
    const { url, folder, newId, patienceMs, heartbeat } = options
    const databaseClock = new DatabaseClock(options.clock)
    const clock = heartbeat === 'manual' ? options.clock : databaseClock
    const now = (): Millis => clock.now()
    const [reader, feed] = [await Link.open(url, patienceMs), await Link.open(url, patienceMs)]
    await migrate(await feed.client(), now())
    const writer = await Link.open(options.appendUrl ?? url, patienceMs)
    const blobs = new BlobsFiles({ folder: join(folder, 'blobs'), now, newId })
    const states = new States(blobs)
    let hasMoved = false
    const changes = new Changes(() => {
      const moved = hasMoved
      hasMoved = false
      return moved
    })
    const stop = await listen(feed, databaseClock, () => {
      hasMoved = true
    })
    const set = new WorkingSet()
    const transactions = new PostgresTransactions({
      writer,
      reader,
      loader: feed,
      states,
      changes,
      clock,
      set,
      now: () => (heartbeat === 'manual' ? 0 : null),
      newId,
      counted: options.counted,
      committed: bell(feed),
    })
    return new StorePostgres({
      ...options,
      clock,
      transactions,
      states,
      blobs,
      changes,
      heartbeat: heartbeat === 'manual' ? undefined : threadHeartbeat(settingsFor(options.appendUrl ?? url), set),
      snapshot: async () => {
        const client = await connect(url)
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
        return { ...transactions.snapshotOn(client), close: () => client.end() }
      },
      close: async () => {
        await transactions.close()
        stop()
        await Promise.all([writer, reader, feed].map(link => link.close()))
      },
    })
  }
}
