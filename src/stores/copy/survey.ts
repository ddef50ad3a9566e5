// What is in a store or in a backup, row by row: counts, a hash for each table, and whether the chains of plans, sessions and goals hold.
// Two stores with the same survey hold the same.

import { createHash, type Hash } from 'node:crypto'
import type { PlanId, Sha256 } from '../../domain/id.ts'
import { chainFault, GENESIS, type Link, type StoredEntry } from '../journal/entry.ts'
import { streamHash } from '../journal/streams.ts'
import { type Position, StoreDamaged } from '../store.ts'
import type { StreamEntry, StreamKind } from '../tables.ts'
import { COPIED_TABLES, type CopiedRow, type CopiedTable } from './copied-tables.ts'

export interface Surveyed {
  readonly position: Position
  readonly tables: Readonly<Record<string, { readonly rows: number; readonly sha256: string }>>
}

interface Chain {
  readonly id: string
  /** Where its row says that it ends. */
  readonly end: { readonly version: number; readonly hash?: string }
  version: number
  link: Link
}

export class Survey {
  /** The contents without which entries cannot be read. */
  readonly named = new Map<Sha256, string>()
  #position: Position = 0
  readonly #tables = new Map<string, { rows: number; readonly hash: Hash }>(
    COPIED_TABLES.map(({ name }) => [name, { rows: 0, hash: createHash('sha256') }]),
  )
  readonly #names = new Map<number, PlanId>()
  readonly #plans = new Map<number, Chain>()
  readonly #streams = new Map<number, Chain & { readonly kind: StreamKind }>()

  /** Tables must come in the order of `COPIED_TABLES`, rows in that of their key. Throws at the first fault of a chain. */
  take(table: CopiedTable, rows: readonly CopiedRow[]): void {
    const seen = this.#tables.get(table.name)!
    const columns = Object.keys(table.columns)
    for (const row of rows) {
      seen.rows++
      seen.hash.update(`${JSON.stringify(columns.map(column => row[column]))}\n`)
      this.#follow(table.name, row)
    }
  }

  /** Throws when a chain ends too early. */
  close(): Surveyed {
    for (const { id, end, version, link } of [...this.#plans.values(), ...this.#streams.values()])
      if (version !== end.version || (end.hash !== undefined && end.hash !== link.hash))
        throw new StoreDamaged(`the journal of ${id} ends at entry ${version}, and had reached ${end.version}`)
    if (this.#plans.size !== this.#names.size) throw new StoreDamaged('a plan has no head')
    const tables = [...this.#tables].map(([name, { rows, hash }]) => [name, { rows, sha256: hash.digest('hex') }])
    return { position: this.#position, tables: Object.fromEntries(tables) }
  }

  #follow(table: string, row: CopiedRow): void {
    switch (table) {
      case 'plans':
        this.#names.set(row.plan_no as number, row.id as PlanId)
        break
      case 'heads': {
        const id = this.#names.get(row.plan_no as number)
        if (id === undefined) throw new StoreDamaged(`there is a head of plan number ${row.plan_no}, which is missing`)
        this.#plans.set(row.plan_no as number, {
          id: `plan ${id}`,
          end: { version: row.version as number },
          version: 0,
          link: GENESIS,
        })
        break
      }
      case 'entries':
        this.#entry(row)
        break
      case 'streams': {
        const { kind, id, version, hash } = row as { kind: StreamKind; id: string; version: number; hash: string }
        const end = { version, hash }
        this.#streams.set(row.stream_no as number, { kind, id: `${kind} ${id}`, end, version: 0, link: GENESIS })
        break
      }
      case 'stream_entries': {
        const stream = this.#streams.get(row.stream_no as number)
        if (stream === undefined)
          throw new StoreDamaged(`there is an entry of stream ${row.stream_no}, which is missing`)
        const entry = row as unknown as StreamEntry
        const id = stream.id.slice(stream.kind.length + 1)
        demandNext(stream, entry.version)
        if (streamHash(stream.link.hash, stream.kind, id, entry) !== entry.hash)
          throw new StoreDamaged(`entry ${entry.version} of ${stream.id} does not match its hash`)
        stream.link = { hash: entry.hash, format: 1 }
        break
      }
      case 'pruned':
        this.#position = Math.max(this.#position, row.position as number)
    }
  }

  #entry(row: CopiedRow): void {
    const chain = this.#plans.get(row.plan_no as number)
    if (chain === undefined) throw new StoreDamaged(`there is an entry of plan number ${row.plan_no}, which is missing`)
    const entry = { ...row, oldPosition: row.old_position } as unknown as StoredEntry
    demandNext(chain, entry.version)
    if (entry.blob !== null) this.named.set(entry.blob, `entry ${entry.version} of ${chain.id}`)
    const fault = chainFault(chain.link, this.#names.get(row.plan_no as number)!, entry)
    if (fault !== null) throw new StoreDamaged(fault)
    chain.link = { hash: entry.hash as Sha256, format: entry.format }
    this.#position = Math.max(this.#position, entry.position)
  }
}

function demandNext(chain: Chain, version: number): void {
  if (version !== chain.version + 1) throw new StoreDamaged(`entry ${chain.version + 1} of ${chain.id} is missing`)
  chain.version = version
}
