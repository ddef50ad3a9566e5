// The file of a backup: a line with its format, then frames. Each frame ends with a hash over everything before it, so a fault has a place,
// and a file that was cut has no last frame.
//
//   "planfold-backup 1\n" │ frame … │ frame
//   frame: length of the payload (u32) │ payload │ SHA-256 of the hash before, the length and the payload (32 bytes)
//   payload: 'r' and compressed JSON {table, rows}, or 'b', the id (32 bytes) and a compressed blob, or 'e' and compressed JSON {survey}

import { createHash, hash } from 'node:crypto'
import { type FileHandle, link, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { deflate, inflate } from 'node:zlib'
import type { Sha256 } from '../../domain/id.ts'
import { syncFolderNow } from '../blobs/blobs.ts'
import { StoreDamaged, StoreRefused } from '../store.ts'
import { COPIED_TABLES, type CopiedRow, type CopiedTable, demandRow } from './copied-tables.ts'
import type { Surveyed } from './survey.ts'

export type Frame =
  | { readonly kind: 'rows'; readonly table: CopiedTable; readonly rows: readonly CopiedRow[] }
  | { readonly kind: 'blob'; readonly id: Sha256; readonly bytes: Uint8Array }
  | { readonly kind: 'end'; readonly end: BackupEnd }

export interface BackupEnd {
  readonly at: number
  readonly survey: Surveyed
  readonly blobs: number
}

const FORMAT = 1
const MARK = 'planfold-backup '
const FIRST = `${MARK}${FORMAT}\n`
const HASH_BYTES = 32
/** About as much goes into one frame; a single row may be larger. */
const ROWS_BYTES = 4 * 1024 * 1024
/** What a frame may hold, uncompressed. */
const FRAME_MAX_BYTES = 1024 * 1024 * 1024

const pack = promisify<Uint8Array, object, Buffer>(deflate)
const unpack = promisify<Uint8Array, object, Buffer>(inflate)
const kindByte = { rows: 0x72, blob: 0x62, end: 0x65 } as const

/** Is complete under its name, or is not there. */
export class BackupWriter {
  readonly #path: string
  readonly #temporary: string
  readonly #file: FileHandle
  #hash: Buffer = hash('sha256', FIRST, 'buffer')

  private constructor(path: string, temporary: string, file: FileHandle) {
    this.#path = path
    this.#temporary = temporary
    this.#file = file
  }

  static async create(path: string, newId: () => string): Promise<BackupWriter> {
    const temporary = `${path}.${newId()}.tmp`
    const file = await open(temporary, 'wx', 0o600).catch(missing(dirname(path)))
    await file.writeFile(FIRST)
    return new BackupWriter(path, temporary, file)
  }

  async rows(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
    let bytes = 0
    let first = 0
    for (const [at, row] of rows.entries()) {
      bytes += JSON.stringify(row).length
      if (bytes < ROWS_BYTES && at < rows.length - 1) continue
      await this.#json('rows', { table: table.name, rows: rows.slice(first, at + 1) })
      first = at + 1
      bytes = 0
    }
  }

  async blob(id: Sha256, bytes: Uint8Array): Promise<void> {
    if (bytes.length > FRAME_MAX_BYTES)
      throw new StoreRefused(`blob ${id} has ${bytes.length} bytes, too many for a backup`, 'copy the folder itself')
    const start = Buffer.concat([Buffer.of(kindByte.blob), Buffer.from(id, 'hex')])
    await this.#frame(Buffer.concat([start, await pack(bytes, { level: 3 })]))
  }

  async end(end: BackupEnd): Promise<void> {
    await this.#json('end', end)
    await this.#file.sync()
    await this.#file.close()
    try {
      // Unlike a rename, this never replaces another file.
      await link(this.#temporary, this.#path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      throw new StoreRefused(`${this.#path} is there already`, 'name a new file for the backup')
    } finally {
      await rm(this.#temporary, { force: true })
    }
    syncFolderNow(dirname(this.#path))
  }

  async abandon(): Promise<void> {
    await this.#file.close().catch(() => {})
    await rm(this.#temporary, { force: true })
  }

  async #json(kind: 'rows' | 'end', value: unknown): Promise<void> {
    const packed = await pack(Buffer.from(JSON.stringify(value)), { level: 6 })
    await this.#frame(Buffer.concat([Buffer.of(kindByte[kind]), packed]))
  }

  async #frame(payload: Buffer): Promise<void> {
    const length = lengthOf(payload.length)
    this.#hash = frameHash(this.#hash, length, payload)
    await this.#file.writeFile(Buffer.concat([length, payload, this.#hash]))
  }
}

/** The frames of a file, each verified. Throws `StoreDamaged` with the place of the first fault. */
export async function* readBackup(path: string): AsyncGenerator<Frame & { readonly place: string }> {
  const file = await open(path, 'r').catch(missing(path))
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw new StoreRefused(`${path} is no file`, 'name a file that `backup create` wrote')
    await demandFormat(file, path)
    let hash: Buffer = createHash('sha256').update(FIRST).digest()
    let number = 0
    for (let at = FIRST.length; at < stat.size; ) {
      const place = `frame ${++number}, at byte ${at} of ${path}`
      const length = await readAt(file, at, 4)
      const bytes = length?.readUInt32BE() ?? 0
      const rest = stat.size - at - 4 - HASH_BYTES
      if (length === null || bytes === 0 || bytes > rest)
        throw damaged(
          place,
          `says that it has ${bytes} bytes, and the file has ${Math.max(0, rest)} more: it was cut or altered`,
        )
      const payload = await readAt(file, at + 4, bytes)
      const written = await readAt(file, at + 4 + bytes, HASH_BYTES)
      if (payload === null || written === null) throw damaged(place, 'ends in the middle: the file was cut')
      hash = frameHash(hash, length, payload)
      if (!hash.equals(written)) throw damaged(place, 'does not match its hash')
      const frame = await opened(payload, place)
      at += 4 + bytes + HASH_BYTES
      if (frame.kind === 'end' && at !== stat.size)
        throw damaged(place, `is the last one, and ${stat.size - at} bytes follow it`)
      yield { ...frame, place }
      if (frame.kind === 'end') return
    }
    throw new StoreDamaged(`${path} ends after frame ${number}, at byte ${stat.size}: it was cut`, CUT)
  } finally {
    await file.close()
  }
}

const missing =
  (path: string) =>
  (error: NodeJS.ErrnoException): never => {
    if (error.code !== 'ENOENT') throw error
    throw new StoreRefused(`there is no ${path}`, 'look at the name')
  }

const CUT = { hint: 'take another copy of this file, or another backup; nothing was restored' }

export const damaged = (place: string, what: string): StoreDamaged => new StoreDamaged(`${place}: ${what}`, CUT)

async function demandFormat(file: FileHandle, path: string): Promise<void> {
  const first = (await readAt(file, 0, FIRST.length))?.toString('latin1') ?? ''
  if (first === FIRST) return
  if (!first.startsWith(MARK)) throw new StoreRefused(`${path} is no backup`, 'name a file that `backup create` wrote')
  const format = first.slice(MARK.length).trim()
  throw new StoreRefused(
    `${path} is a backup of format ${JSON.stringify(format)}, and this program reads ${FORMAT}`,
    'use the planfold that wrote it',
  )
}

async function opened(payload: Buffer, place: string): Promise<Frame> {
  try {
    if (payload[0] === kindByte.blob) {
      const id = payload.toString('hex', 1, 1 + HASH_BYTES) as Sha256
      const bytes = await unpacked(payload.subarray(1 + HASH_BYTES))
      if (hash('sha256', bytes) !== id) throw new Error(`blob ${id} does not match its hash`)
      return { kind: 'blob', id, bytes }
    }
    const value = JSON.parse((await unpacked(payload.subarray(1))).toString())
    if (payload[0] === kindByte.end) return { kind: 'end', end: value as BackupEnd }
    const { table: name, rows } = value as { readonly table: string; readonly rows: readonly unknown[] }
    const table = COPIED_TABLES.find(one => one.name === name)
    if (payload[0] !== kindByte.rows || table === undefined) throw new Error(`it is of an unknown kind (${name})`)
    for (const row of rows) demandRow(table, row)
    return { kind: 'rows', table, rows: rows as readonly CopiedRow[] }
  } catch (error) {
    throw damaged(place, `cannot be read: ${(error as Error).message}`)
  }
}

const unpacked = (bytes: Uint8Array): Promise<Buffer> => unpack(bytes, { maxOutputLength: FRAME_MAX_BYTES })

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer | null> {
  const bytes = Buffer.allocUnsafe(length)
  for (let at = 0; at < length; ) {
    const { bytesRead } = await file.read(bytes, at, length - at, position + at)
    if (bytesRead === 0) return null
    at += bytesRead
  }
  return bytes
}

function lengthOf(bytes: number): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes)
  return length
}

const frameHash = (before: Buffer, length: Buffer, payload: Buffer): Buffer =>
  createHash('sha256').update(before).update(length).update(payload).digest()
