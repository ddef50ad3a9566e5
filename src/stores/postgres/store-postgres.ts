// The store on PostgreSQL, for several processes and machines.

import { join } from 'node:path'
import type { Millis, Sha256 } from '../../domain/id.ts'
import { Changes } from '../journal/changes.ts'
import { States } from '../journal/plan-states.ts'
import type { SharedStoreOptions } from '../shared-stores.ts'
import { StoreOnTables } from '../store-on-tables.ts'
import { BlobsPostgres, pruneBlobs } from './blobs-postgres.ts'
import { connect, Link, PREPARED, type Query, settingsFor } from './connection/connection.ts'
import { DatabaseClock } from './connection/database-clock.ts'
import { threadHeartbeat } from './connection/heartbeat.ts'
import { bell, listen } from './connection/notifications.ts'
import { refuseUnfinished } from './copy-postgres.ts'
import { migrate } from './migrate.ts'
import { sharedOn } from './queue-postgres.ts'
import { type PostgresRoom, PostgresTransactions } from './transactions.ts'
import { WorkingSet } from './working-set.ts'

export interface StorePostgresOptions extends SharedStoreOptions {
  readonly foldEvery?: number
  /** How long requests wait for a server that cannot be reached. */
  readonly patienceMs?: number
  /** `manual`: only by `leases.renew()`, in tests, whose `clock` is also the time of the database. */
  readonly heartbeat?: 'thread' | 'manual'
  readonly counted?: PostgresRoom['counted']
}

export class StorePostgres extends StoreOnTables {
  readonly transactions: PostgresTransactions
  readonly #url: string
  readonly #write: Query

  private constructor(
    parts: ConstructorParameters<typeof StoreOnTables>[0] & {
      transactions: PostgresTransactions
      url: string
      write: Query
    },
  ) {
    super(parts)
    this.transactions = parts.transactions
    this.#url = parts.url
    this.#write = parts.write
    const pruneHere = this.prune
    // Then what the database has. One that is gone there may still be in another folder, and is published again when it is named.
    this.prune = async options => {
      const pruned = await pruneHere(options)
      const { before, blobsBefore = before, dryRun } = options
      const read = (id: Sha256) => this.blobs.get(id)
      const shared = await pruneBlobs(this.#url, { write: this.#write, before: blobsBefore, dryRun, read })
      return { ...pruned, blobs: Math.max(pruned.blobs, shared.blobs), bytes: Math.max(pruned.bytes, shared.bytes) }
    }
  }

  static async open(options: StorePostgresOptions): Promise<StorePostgres> {
    const { url, folder, newId, patienceMs, heartbeat } = options
    const workspace = options.workspace ?? { id: folder, root: folder }
    const databaseClock = new DatabaseClock(options.clock)
    const clock = heartbeat === 'manual' ? options.clock : databaseClock
    const now = (): Millis => clock.now()
    const [reader, feed] = [await Link.open(url, patienceMs), await Link.open(url, patienceMs)]
    const fetching = linkWhenAsked(url)
    const [looking, queueing] = [linkWhenAsked(url), linkWhenAsked(options.appendUrl ?? url)]
    try {
      await migrate(await feed.client(), now())
      await refuseUnfinished(feed.query)
    } catch (error) {
      // Open connections would keep the process alive.
      await Promise.all([reader, feed].map(link => link.close()))
      throw error
    }
    const writer = await Link.open(options.appendUrl ?? url, patienceMs, PREPARED)
    const blobs = new BlobsPostgres({ folder: join(folder, 'blobs'), now, newId }, fetching)
    const states = new States(blobs)
    let hasMoved = false
    const changes = new Changes(() => {
      const moved = hasMoved
      hasMoved = false
      return moved
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
      blobs,
      now: () => (heartbeat === 'manual' ? 0 : null),
      newId,
      workspace: workspace.id,
      counted: options.counted,
      committed: bell(feed),
    })
    const stop = await listen(feed, databaseClock, {
      writer: () => transactions.writer,
      others: () => {
        hasMoved = true
      },
      more: () => changes.announce(),
    })
    return new StorePostgres({
      write: writer.query,
      ...options,
      clock,
      transactions,
      states,
      blobs,
      changes,
      shared: await sharedOn({
        // Of their own: the others are in the middle of a read or an append.
        read: looking.query,
        write: queueing.query,
        register: writer.query,
        clock,
        host: options.host,
        workspace,
      }),
      heartbeat: heartbeat === 'manual' ? undefined : threadHeartbeat(settingsFor(options.appendUrl ?? url), set),
      snapshot: async () => {
        const client = await connect(url)
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
        return { ...transactions.snapshotOn(client), close: () => client.end() }
      },
      close: async () => {
        await transactions.close()
        stop()
        await Promise.all([writer, reader, feed, fetching, looking, queueing].map(link => link.close()))
      },
    })
  }
}

/** Few processes need it: one question at a time, on a connection that is made for the first one. */
function linkWhenAsked(url: string): Pick<Link, 'query' | 'close'> {
  let link: Link | null = null
  let last: Promise<unknown> = Promise.resolve()
  return {
    query(text, values) {
      const asked = last.then(async () => {
        link ??= await Link.open(url)
        return await link.query(text, values)
      })
      last = asked.catch(() => {})
      return asked
    },
    close: async () => {
      await last
      await link?.close()
    },
  }
}
