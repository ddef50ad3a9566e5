// Copies a store to another one, or to a file and back. All is read as of one moment. The target is marked until it is whole, so that
// half of a store is never opened; a copy that was interrupted goes on when it is started again. At the end both sides are read and compared.

import { isDeepStrictEqual } from 'node:util'
import type { Sha256 } from '../../domain/id.ts'
import { StoreDamaged, StoreRefused } from '../store.ts'
import { type BackupEnd, BackupWriter, damaged, readBackup } from './backup-file.ts'
import { COPIED_TABLES, type CopiedRow, type CopiedTable, type CopiedValue } from './copied-tables.ts'
import { Survey, type Surveyed } from './survey.ts'

/** A store as of one moment. */
export interface CopySource {
  /** For people, without a password. */
  readonly name: string
  /** Pages of rows in the order of the key. */
  rows(table: CopiedTable, after: readonly CopiedValue[] | null): AsyncIterable<readonly CopiedRow[]>
  /** Of all contents that were stored at that moment. */
  blobIds(): Promise<Iterable<Sha256>>
  blob(id: Sha256): Promise<Uint8Array | null>
  close(): Promise<void>
}

/** A store that is being filled. It must be empty, or hold an unfinished copy of the same source. */
export interface CopyTarget extends CopySource {
  /** The key of the last row. */
  last(table: CopiedTable): Promise<readonly CopiedValue[] | null>
  clear(table: CopiedTable): Promise<void>
  /** Rows that are there already stay. */
  add(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void>
  hasBlob(id: Sha256): Promise<boolean>
  /** Durable with `flush`. */
  addBlob(bytes: Uint8Array): Promise<void>
  flush(): Promise<void>
  /** Removes rows of plans that were pruned between two attempts, and sets what follows from the rows. */
  settle(): Promise<void>
  /** From now on it can be opened. */
  unmark(): Promise<void>
  /** Makes it as empty as it was. */
  abandon(): Promise<void>
}

export interface CopyOptions {
  readonly now: () => number
  readonly newId: () => string
  readonly failpoint?: ((name: string) => void) | undefined
}

export interface Copied extends Surveyed {
  readonly blobs: number
  /** Of the contents, those that had to be sent. */
  readonly sent: number
}

export async function copyStore(from: CopySource, to: CopyTarget, { failpoint }: CopyOptions): Promise<Copied> {
  // First, so that every body that an entry names is there when the entry comes.
  const blobs = await sendBlobs(from, to, failpoint)
  for (const table of COPIED_TABLES) await send(from, to, table, failpoint)
  await to.settle()
  const there = await surveyOf(from, id => to.hasBlob(id))
  let here = await surveyOf(to).catch(() => null)
  for (const table of COPIED_TABLES) {
    if (here !== null && isDeepStrictEqual(here.tables[table.name], there.tables[table.name])) continue
    // What an earlier attempt copied is not in the source any more.
    await to.clear(table)
    await send(from, to, table, failpoint)
  }
  await to.settle()
  here = await surveyOf(to)
  demandSame(here, there, `${to.name} is not the same as ${from.name}`)
  failpoint?.('copy.unmark:before')
  await to.unmark()
  return { ...here, ...blobs }
}

export async function createBackup(from: CopySource, path: string, options: CopyOptions): Promise<Copied> {
  const writer = await BackupWriter.create(path, options.newId)
  try {
    const ids = new Set(await from.blobIds())
    for (const id of ids) await writer.blob(id, await contentOf(from, id))
    const survey = new Survey()
    for (const table of COPIED_TABLES)
      for await (const rows of from.rows(table, null)) {
        survey.take(table, rows)
        await writer.rows(table, rows)
        options.failpoint?.('copy.rows:after')
      }
    await demandNamed(survey, async id => ids.has(id))
    const end = { at: options.now(), survey: survey.close(), blobs: ids.size }
    await writer.end(end)
    return { ...end.survey, blobs: ids.size, sent: ids.size }
  } catch (error) {
    await writer.abandon()
    throw error
  }
}

export async function verifyBackup(path: string): Promise<Copied & Pick<BackupEnd, 'at'>> {
  const survey = new Survey()
  const noRows = new Survey().close().tables
  const blobs = new Set<Sha256>()
  let at = 0
  for await (const frame of readBackup(path)) {
    if (frame.kind === 'blob') blobs.add(frame.id)
    else if (frame.kind === 'rows') {
      if (COPIED_TABLES.indexOf(frame.table) < at)
        throw damaged(frame.place, `rows of ${frame.table.name} are too late`)
      at = COPIED_TABLES.indexOf(frame.table)
      try {
        survey.take(frame.table, frame.rows)
      } catch (error) {
        throw damaged(frame.place, (error as Error).message)
      }
    } else {
      await demandNamed(survey, async id => blobs.has(id))
      const found = { survey: survey.close(), blobs: blobs.size }
      const { at: time, ...said } = frame.end
      // Older backups do not name tables that came later.
      const tables = { ...noRows, ...said.survey.tables }
      if (!isDeepStrictEqual({ ...said, survey: { ...said.survey, tables } }, found))
        throw damaged(frame.place, 'counts other rows than the file has')
      return { ...found.survey, blobs: blobs.size, sent: blobs.size, at: time }
    }
  }
  throw new Error('bug: a backup has a last frame')
}

/** The file is verified first, so that nothing is restored from a damaged one. */
export async function restoreBackup(path: string, open: () => Promise<CopyTarget>): Promise<Copied> {
  const { at: _, ...verified } = await verifyBackup(path)
  const to = await open()
  try {
    for (const table of COPIED_TABLES) await to.clear(table)
    for await (const frame of readBackup(path)) {
      if (frame.kind === 'blob') await to.addBlob(frame.bytes)
      else await to.flush()
      if (frame.kind === 'rows') await to.add(frame.table, frame.rows)
    }
    await to.settle()
    demandSame(await surveyOf(to), verified, `${to.name} is not the same as ${path}`)
    await to.unmark()
    return verified
  } catch (error) {
    await to.abandon()
    throw error
  } finally {
    await to.close()
  }
}

async function send(from: CopySource, to: CopyTarget, table: CopiedTable, failpoint: CopyOptions['failpoint']) {
  if (table.grows !== true) await to.clear(table)
  for await (const rows of from.rows(table, await to.last(table))) {
    await to.add(table, rows)
    failpoint?.('copy.rows:after')
  }
}

async function sendBlobs(from: CopySource, to: CopyTarget, failpoint: CopyOptions['failpoint']) {
  let blobs = 0
  let sent = 0
  for (const id of await from.blobIds()) {
    blobs++
    if (await to.hasBlob(id)) continue
    await to.addBlob(await contentOf(from, id))
    sent++
    failpoint?.('copy.blob:after')
  }
  await to.flush()
  return { blobs, sent }
}

async function contentOf(from: CopySource, id: Sha256): Promise<Uint8Array> {
  const bytes = await from.blob(id)
  if (bytes !== null) return bytes
  throw new StoreRefused(`blob ${id} of ${from.name} was pruned meanwhile`, 'start this again; it goes on where it was')
}

async function surveyOf(store: CopySource, has?: CopyTarget['hasBlob']): Promise<Surveyed> {
  const survey = new Survey()
  for (const table of COPIED_TABLES) for await (const rows of store.rows(table, null)) survey.take(table, rows)
  if (has !== undefined) await demandNamed(survey, has)
  return survey.close()
}

async function demandNamed(survey: Survey, has: CopyTarget['hasBlob']): Promise<void> {
  for (const [id, entry] of survey.named)
    if (!(await has(id)))
      throw new StoreDamaged(`blob ${id}, the body of ${entry}, is missing`, {
        hint: 'of a plan with confidential tasks on PostgreSQL it is only on the host that made it: copy there',
      })
}

function demandSame(found: Surveyed, wanted: Pick<Surveyed, 'tables'>, what: string): void {
  const other = COPIED_TABLES.filter(({ name }) => !isDeepStrictEqual(found.tables[name], wanted.tables[name]))
  if (other.length === 0) return
  throw new StoreDamaged(`${what}: the rows of ${other.map(({ name }) => name).join(', ')} differ`, {
    hint: 'another process may have written to it; start this again',
  })
}
