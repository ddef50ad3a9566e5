// Packs: many small blobs in one file with an index.

import { hash } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  fsyncSync,
  futimesSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isSha256, type Millis, type Sha256 } from '../../domain/id.ts'
import { makeFolder } from '../../safety/files/directory.ts'
import type { Batch } from '../../workspace/workspace.ts'
import { StoreDamaged, StoreFull, SyncFailed } from '../store.ts'

export function writeDurably(path: string, bytes: Uint8Array, seconds: number): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
    futimesSync(file, seconds, seconds)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

export function syncFolderNow(folder: string): void {
  const file = openSync(folder, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Turns a full disk or quota, and a failed sync, after which the process must stop, into errors of their own. */
export function full(error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (syscall === 'fsync' || syscall === 'fdatasync')
    return new SyncFailed(`the disk failed while a file was synced (${code}); what was written may be lost`, {
      cause: error,
    })
  return code === 'ENOSPC' || code === 'EDQUOT'
    ? new StoreFull('the disk is full; nothing was written', { cause: error })
    : error
}

// A pack: many small blobs in one file, so that a first capture need not sync each of them. The blobs are followed by an index and its
// position; the file is named by the hash of its index, so it verifies itself and needs no second file.
//
//   blob … blob │ id (32 bytes), length (u32) for each, in order │ count (u32), "PFPACK1\n"

export const PACK_BYTES = 4 * 1024 * 1024
/** Larger blobs get a file of their own. */
const PACKED_MAX_BYTES = 1024 * 1024
/** The memory limit, which a single large blob may exceed. */
const WAITING_MAX_BYTES = 64 * 1024 * 1024

const ROW_BYTES = 36
const MAGIC = Buffer.from('PFPACK1\n')
const TRAILER_BYTES = 4 + MAGIC.length

interface Member {
  readonly id: Sha256
  readonly offset: number
  readonly length: number
}

export class PackBytes {
  #bytes = Buffer.allocUnsafe(64 * 1024)
  #length = 0
  readonly members: Member[] = []

  get length(): number {
    return this.#length
  }

  add(id: Sha256, bytes: Uint8Array): void {
    this.#grow(this.#length + bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.members.push({ id, offset: this.#length, length: bytes.length })
    this.#length += bytes.length
  }

  read = ({ offset, length }: Member): Uint8Array => Buffer.from(this.#bytes.subarray(offset, offset + length))

  finish(): { readonly name: Sha256; readonly bytes: Buffer } {
    const index = Buffer.alloc(this.members.length * ROW_BYTES)
    for (const [at, { id, length }] of this.members.entries()) {
      index.write(id, at * ROW_BYTES, 'hex')
      index.writeUInt32LE(length, at * ROW_BYTES + 32)
    }
    const trailer = Buffer.alloc(TRAILER_BYTES)
    trailer.writeUInt32LE(this.members.length, 0)
    MAGIC.copy(trailer, 4)
    return {
      name: hash('sha256', index) as Sha256,
      bytes: Buffer.concat([this.#bytes.subarray(0, this.#length), index, trailer]),
    }
  }

  #grow(needed: number): void {
    if (needed <= this.#bytes.length) return
    const wider = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 4))
    this.#bytes.copy(wider, 0, 0, this.#length)
    this.#bytes = wider
  }
}

function readIndex(path: string, name: Sha256): readonly Member[] {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const trailer = readAt(file, size - TRAILER_BYTES, TRAILER_BYTES)
    const count = trailer?.readUInt32LE(0) ?? 0
    const index = readAt(file, size - TRAILER_BYTES - count * ROW_BYTES, count * ROW_BYTES)
    if (trailer === null || !trailer.subarray(4).equals(MAGIC) || index === null || hash('sha256', index) !== name) {
      throw new StoreDamaged(`the index of pack ${name} does not match its hash`)
    }
    let offset = 0
    return Array.from({ length: count }, (_, at) => {
      const length = index.readUInt32LE(at * ROW_BYTES + 32)
      const id = index.toString('hex', at * ROW_BYTES, at * ROW_BYTES + 32) as Sha256
      offset += length
      return { id, offset: offset - length, length }
    })
  } finally {
    closeSync(file)
  }
}

function readMember(path: string, { offset, length }: Member): Buffer {
  const file = openSync(path, 'r')
  try {
    return readAt(file, offset, length) ?? Buffer.alloc(0)
  } finally {
    closeSync(file)
  }
}

function readAt(file: number, position: number, length: number): Buffer | null {
  if (position < 0) return null
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < length; ) {
    const read = readSync(file, bytes, at, length - at, position + at)
    if (read === 0) return null
    at += read
  }
  return bytes
}

// The packs of a content store: an in-memory map from blob to pack, reloaded whenever the folder has changed. Other processes may add or
// rewrite packs at any moment; a missing pack causes a reload.
//
// A pack is not deleted directly. It is renamed to `<name>.gone`, its time is checked again, and it is restored if it was used meanwhile.
// Readers find it under either name, even after the collector died.

export const GONE = '.gone'

interface Pack {
  readonly name: Sha256
  readonly members: readonly Member[]
  readonly dead: Set<Sha256>
}

export class Packs {
  readonly folder: string
  readonly #now: () => Millis
  readonly #packs = new Map<Sha256, Pack>()
  readonly #places = new Map<Sha256, { readonly pack: Pack; readonly member: Member }>()
  #seen = ''
  readonly damaged = new Map<Sha256, Error>()

  constructor(folder: string, now: () => Millis) {
    this.folder = folder
    this.#now = now
  }

  has = (id: Sha256): boolean => this.#find(id) !== null
  /** Without checking the folder again. */
  knows = (id: Sha256): boolean => this.#places.has(id)
  sizeOf = (id: Sha256): number | null => this.#find(id)?.member.length ?? null

  storedAt(id: Sha256): Millis | null {
    const found = this.#find(id)
    return found === null ? null : this.timeOf(found.pack.name)
  }

  read(id: Sha256): Buffer | null {
    for (let tried = 0; tried < 3; tried++) {
      const found = this.#find(id)
      if (found === null) return null
      for (const path of this.#pathsOf(found.pack.name)) {
        const bytes = absentAsNull(() => readMember(path, found.member))
        if (bytes !== null) return bytes
      }
      this.reload()
    }
    return null
  }

  ids(): Iterable<Sha256> {
    this.#look()
    return this.#places.keys()
  }

  bytes(): number {
    return listed(this.folder).reduce((sum, name) => sum + (sizeAt(join(this.folder, name)) ?? 0), 0)
  }

  /** Marks the blob as used. False when it is missing. */
  touch(id: Sha256, touched: Set<Sha256>): boolean {
    for (let tried = 0; tried < 3; tried++) {
      const found = this.#find(id)
      if (found === null) return false
      if (touched.has(found.pack.name)) return true
      // By its own name only: under the other it may be deleted soon.
      const path = join(this.folder, `${found.pack.name}.pack`)
      if (absentAsNull(() => utimesSync(path, this.#now() / 1000, this.#now() / 1000)) !== null) {
        touched.add(found.pack.name)
        return true
      }
      this.reload()
      this.bringBack(found.pack.name)
    }
    return false
  }

  added(name: Sha256, members: readonly Member[]): void {
    this.#learn({ name, members, dead: new Set() })
  }

  markDead(id: Sha256): void {
    this.#find(id)?.pack.dead.add(id)
  }

  /** For the collector: the live members of every pack, and its dead bytes. */
  survey(): readonly { readonly name: Sha256; readonly live: readonly Member[]; readonly deadBytes: number }[] {
    return [...this.#packs.values()].map(({ name, members, dead }) => {
      const live = members.filter(({ id }) => !dead.has(id) && this.#places.get(id)?.pack.name === name)
      const bytes = (all: readonly Member[]) => all.reduce((sum, { length }) => sum + length, 0)
      return { name, live, deadBytes: bytes(members) - bytes(live) }
    })
  }

  count = (name: Sha256): number => this.#packs.get(name)?.members.length ?? 0

  forgetDead(): void {
    for (const { dead } of this.#packs.values()) dead.clear()
  }

  /** Removes a pack unless it was used since; true when it is gone. */
  remove(name: Sha256, before: Millis, failpoint: (name: string) => void): boolean {
    const [path, gone] = this.#pathsOf(name) as [string, string]
    failpoint('pack.remove:before')
    if (absentAsNull(() => renameSync(path, gone)) === null) return false
    failpoint('pack.gone:after')
    const touched = statSync(gone, { throwIfNoEntry: false })
    if (touched === undefined || touched.mtimeMs >= before) {
      absentAsNull(() => renameSync(gone, path))
      return false
    }
    rmSync(gone, { force: true })
    this.reload()
    return true
  }

  /** Restores packs that an interrupted collector had renamed. */
  bringBack(only?: Sha256): void {
    for (const entry of listed(this.folder)) {
      if (!entry.endsWith(`.pack${GONE}`) || (only !== undefined && !entry.startsWith(only))) continue
      const gone = join(this.folder, entry)
      absentAsNull(() => renameSync(gone, gone.slice(0, -GONE.length)))
    }
  }

  reload(): void {
    this.#seen = ''
    this.#look()
  }

  makeFolder(): void {
    makeFolder(this.folder, 0o700)
  }

  #find(id: Sha256) {
    const known = this.#places.get(id)
    if (known !== undefined) return known
    this.#look()
    return this.#places.get(id) ?? null
  }

  #look(): void {
    const stat = statSync(this.folder, { throwIfNoEntry: false, bigint: true })
    const seen = stat === undefined ? 'none' : `${stat.ino} ${stat.mtimeNs} ${stat.ctimeNs}`
    if (seen === this.#seen) return
    const there = new Set<Sha256>()
    for (const entry of listed(this.folder)) {
      const name = entry.split('.')[0] as Sha256
      if (!isSha256(name) || !/^[^.]*\.pack(\.gone)?$/.test(entry)) continue
      there.add(name)
      if (this.#packs.has(name) || this.damaged.has(name)) continue
      try {
        const members = absentAsNull(() => readIndex(join(this.folder, entry), name))
        if (members === null) there.delete(name)
        else this.#learn({ name, members, dead: new Set() })
      } catch (error) {
        this.damaged.set(name, error as Error)
      }
    }
    for (const pack of [...this.#packs.values()]) if (!there.has(pack.name)) this.#forget(pack)
    // A folder that changed within this tick may change again without a new mtime.
    this.#seen = stat !== undefined && Number(stat.mtimeNs / 1_000_000n) > this.#now() - 100 ? '' : seen
  }

  #learn(pack: Pack): void {
    this.#packs.set(pack.name, pack)
    for (const member of pack.members) this.#places.set(member.id, { pack, member })
  }

  #forget(pack: Pack): void {
    this.#packs.delete(pack.name)
    for (const { id } of pack.members) if (this.#places.get(id)?.pack === pack) this.#places.delete(id)
    // Another pack may have the same blob.
    for (const other of this.#packs.values()) {
      for (const member of other.members)
        if (!this.#places.has(member.id)) this.#places.set(member.id, { pack: other, member })
    }
  }

  /** When it was last used, which its mtime records. */
  timeOf(name: Sha256): Millis | null {
    for (const path of this.#pathsOf(name)) {
      const stat = statSync(path, { throwIfNoEntry: false })
      if (stat !== undefined) return stat.mtimeMs
    }
    return null
  }

  #pathsOf(name: Sha256): readonly [string, string] {
    const path = join(this.folder, `${name}.pack`)
    return [path, path + GONE]
  }
}

export function listed(folder: string): readonly string[] {
  return absentAsNull(() => readdirSync(folder)) ?? []
}

export const sizeAt = (path: string): number | null => statSync(path, { throwIfNoEntry: false })?.size ?? null

/** ENOENT and ENOTDIR become null, any other error is thrown. */
export function absentAsNull<T>(work: () => T): T | null {
  try {
    return work()
  } catch (error) {
    return absent(error)
  }
}

export function absent(error: unknown): null {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR') return null
  throw error
}

// Stores many blobs: small ones in packs, written and synced in the background while the next ones are collected. Nothing counts as stored
// before `close` returns; a crash leaves complete packs or temporary files.

interface BatchRoom {
  readonly packs: Packs
  readonly now: () => Millis
  readonly newId: () => string
  readonly failpoint: (name: string) => void
  /** Is it stored in a file of its own? Then marks it as used. */
  readonly touchLoose: (id: Sha256) => boolean
  readonly putLoose: (bytes: Uint8Array) => Promise<Sha256>
  readonly syncFolder: (folder: string) => Promise<void>
  /** Refuses when this many more bytes would exceed the limit, besides the pending ones of this batch. */
  readonly demandRoom: (bytes: number, waiting: number) => void
  readonly full: (error: unknown) => unknown
}

const AT_ONCE = 2

export class BatchPacks implements Batch {
  readonly #room: BatchRoom
  #pack = new PackBytes()
  readonly #own = new Set<Sha256>()
  readonly #touched = new Set<Sha256>()
  readonly #writing = new Set<Promise<void>>()
  #failed: { readonly error: unknown } | null = null
  #bytes = 0
  #waiting = 0

  constructor(room: BatchRoom) {
    this.#room = room
    room.packs.reload()
  }

  get bytes(): number {
    return this.#bytes
  }

  add(bytes: Uint8Array, known?: Sha256): Sha256 {
    const id = known ?? (hash('sha256', bytes) as Sha256)
    if (this.#own.has(id)) return id
    const { packs } = this.#room
    if ((packs.knows(id) && packs.touch(id, this.#touched)) || this.#room.touchLoose(id)) return id
    this.#room.demandRoom(bytes.length, this.#waiting)
    this.#own.add(id)
    this.#bytes += bytes.length
    this.#waiting += bytes.length
    if (bytes.length > PACKED_MAX_BYTES) {
      const copy = Buffer.from(bytes)
      this.#work(copy.length, async () => void (await this.#room.putLoose(copy)))
      return id
    }
    if (this.#pack.length + bytes.length > PACK_BYTES) this.#flush()
    this.#pack.add(id, bytes)
    return id
  }

  async room(): Promise<void> {
    while (this.#writing.size >= AT_ONCE || (this.#waiting > WAITING_MAX_BYTES && this.#writing.size > 0))
      await Promise.race(this.#writing)
    this.#demand()
  }

  async close(): Promise<void> {
    if (this.#pack.members.length > 0) this.#flush()
    while (this.#writing.size > 0) await Promise.all(this.#writing)
    this.#demand()
    if (this.#own.size > 0) await this.#room.syncFolder(this.#room.packs.folder).catch(this.#named)
    this.#demand()
  }

  #flush(): void {
    const pack = this.#pack
    this.#pack = new PackBytes()
    this.#work(pack.length, async () => void (await writePack(this.#room, pack)))
  }

  #work(bytes: number, doing: () => Promise<void>): void {
    const work: Promise<void> = doing()
      .catch(error => {
        this.#failed ??= { error: this.#room.full(error) }
      })
      .finally(() => {
        this.#waiting -= bytes
        this.#writing.delete(work)
      })
    this.#writing.add(work)
  }

  readonly #named = (error: unknown): never => {
    throw this.#room.full(error)
  }

  #demand(): void {
    if (this.#failed !== null) throw this.#failed.error
  }
}

/** Writes a pack to a temporary file, syncs and renames it; the caller syncs the folder. */
export async function writePack(
  room: Pick<BatchRoom, 'packs' | 'now' | 'newId' | 'failpoint'>,
  pack: PackBytes,
): Promise<Sha256> {
  const { packs } = room
  const { name, bytes } = pack.finish()
  packs.makeFolder()
  const temporary = join(packs.folder, `${room.newId()}.tmp`)
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(bytes)
      await file.utimes(room.now() / 1000, room.now() / 1000)
      await file.sync()
    } finally {
      await file.close()
    }
    room.failpoint('pack.rename:before')
    await rename(temporary, join(packs.folder, `${name}.pack`))
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  packs.added(name, pack.members)
  return name
}
