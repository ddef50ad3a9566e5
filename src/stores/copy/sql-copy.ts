// What the copies of all SQL stores have in common: their tables have the same names and columns.

import type { Sha256 } from '../../domain/id.ts'
import type { Batch } from '../../workspace/workspace.ts'
import type { BlobsFiles } from '../blobs/blobs.ts'
import { StoreRefused } from '../store.ts'
import { COPIED_TABLES, type CopiedRow, type CopiedTable, type CopiedValue, unfinished } from './copied-tables.ts'
import type { CopyTarget } from './store-copy.ts'

const PAGE = 200

/** With question marks for the values. */
export type Ask = (text: string, values?: readonly CopiedValue[]) => Promise<readonly CopiedRow[]>

export abstract class SqlCopy implements Omit<CopyTarget, 'add'> {
  readonly name: string
  protected readonly ask: Ask
  protected readonly blobs: BlobsFiles
  #batch: Batch | null = null

  constructor(name: string, ask: Ask, blobs: BlobsFiles) {
    this.name = name
    this.ask = ask
    this.blobs = blobs
  }

  abstract settle(): Promise<void>
  abstract unmark(): Promise<void>
  abstract abandon(): Promise<void>
  abstract close(): Promise<void>
  protected abstract hexOf(column: string): string
  /** Where the columns of the copy are not those of the table. */
  protected readFrom = ({ name }: CopiedTable): string => name

  async *rows(table: CopiedTable, after: readonly CopiedValue[] | null): AsyncGenerator<readonly CopiedRow[]> {
    const key = table.key.join(', ')
    const columns = Object.entries(table.columns).map(([name, type]) =>
      type === 'bytes' ? `${this.hexOf(name)} AS ${name}` : name,
    )
    for (let from = after; ; ) {
      const where = from === null ? '' : `WHERE (${key}) > (${from.map(() => '?').join(', ')})`
      const page = await this.ask(
        `SELECT ${columns.join(', ')} FROM ${this.readFrom(table)} ${where} ORDER BY ${key} LIMIT ${PAGE}`,
        from ?? [],
      )
      if (page.length > 0) yield page
      if (page.length < PAGE) return
      from = table.key.map(name => page.at(-1)![name]!)
    }
  }

  blobIds = async (): Promise<Iterable<Sha256>> => this.blobs.ids()
  blob = (id: Sha256): Promise<Uint8Array | null> => this.blobs.get(id)
  hasBlob = async (id: Sha256): Promise<boolean> => this.blobs.has(id)

  async last({ name, key }: CopiedTable): Promise<readonly CopiedValue[] | null> {
    const down = key.map(column => `${column} DESC`).join(', ')
    const [row] = await this.ask(`SELECT ${key.join(', ')} FROM ${name} ORDER BY ${down} LIMIT 1`)
    return row === undefined ? null : key.map(column => row[column]!)
  }

  async clear({ name }: CopiedTable): Promise<void> {
    await this.ask(`DELETE FROM ${name}`)
  }

  async addBlob(bytes: Uint8Array): Promise<void> {
    this.#batch ??= this.blobs.batch()
    this.#batch.add(bytes)
    await this.#batch.room()
  }

  async flush(): Promise<void> {
    await this.#batch?.close()
    this.#batch = null
  }

  /** Of plans that were pruned between two attempts. */
  protected async dropPruned(): Promise<void> {
    for (const { name } of COPIED_TABLES.filter(table => table.grows === true))
      await this.ask(`DELETE FROM ${name} WHERE plan_no NOT IN (SELECT plan_no FROM plans)`)
  }
}

/** True when it goes on with an unfinished copy, of which `before` is the source. */
export async function demandTarget(
  ask: Ask,
  {
    name,
    source,
    before,
  }: { readonly name: string; readonly source: string; readonly before: CopiedValue | undefined },
): Promise<boolean> {
  if (before !== undefined && before !== source) throw unfinished(String(before))
  if (before !== undefined) return true
  for (const table of COPIED_TABLES)
    if ((await ask(`SELECT 1 FROM ${table.name} LIMIT 1`)).length > 0)
      throw new StoreRefused(`the store in ${name} is not empty`, 'name one without plans; nothing was written')
  return false
}
