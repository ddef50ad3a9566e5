// The content store on disk: `blobs/ab/<rest of the hash>`, or in a pack with others. A blob is written to a temporary file, synced,
// renamed, and its folder synced, so it exists complete or not at all; reads are verified against the hash. `blobs/pins/` holds small named
// notes; blobs they name are reachable.

import { hash } from 'node:crypto'
import { readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { open, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { advise, quoted } from '../../domain/hint.ts'
import { isSha256, type Millis, type Sha256 } from '../../domain/id.ts'
import { makeFolder } from '../../safety/files/directory.ts'
import { refuse } from '../../safety/safety-refusal.ts'
import type { Batch, SnapshotBlobs } from '../../workspace/workspace.ts'
import { StoreDamaged } from '../store.ts'
import type { ContentStore } from '../store-on-tables.ts'
import { collect, Pins } from './collect-blobs.ts'
import {
  absent,
  absentAsNull,
  BatchPacks,
  full,
  GONE,
  listed,
  Packs,
  sizeAt,
  syncFolderNow,
  writeDurably,
} from './pack-files.ts'

export { syncFolderNow } from './pack-files.ts'

export interface BlobsOptions {
  readonly folder: string
  readonly now: () => Millis
  readonly newId: () => string
  readonly failpoint?: ((name: string) => void) | undefined
  /** The size that snapshots may bring the whole store to; bodies of the journal and outputs are never refused. */
  readonly quotaBytes?: number | undefined
}

export class BlobsFiles implements ContentStore, SnapshotBlobs {
  readonly #options: BlobsOptions
  /** Folders that are durable, so that their parents need no further sync. */
  readonly #folders = new Set<string>()
  readonly #packs: Packs
  readonly #pins: Pins
  /** Bytes on disk at the last count, plus what was written since; null before the first count. */
  #used: number | null = null

  constructor(options: BlobsOptions) {
    this.#options = options
    this.#packs = new Packs(join(options.folder, 'packs'), options.now)
    this.#pins = new Pins(options)
  }

  async put(bytes: Uint8Array): Promise<Sha256> {
    const id = hash('sha256', bytes) as Sha256
    const path = this.#path(id)
    const there = await stat(path).catch(absent)
    if (there?.size === bytes.length) {
      // Marks it as used, so that it is not pruned before it is referenced.
      if ((await utimes(path, this.#seconds(), this.#seconds()).catch(absent)) !== null) return id
    }
    const temporary = `${dirname(path)}.${this.#options.newId()}.tmp`
    try {
      await this.#makeFolder(dirname(path))
      const file = await open(temporary, 'wx', 0o600)
      try {
        await file.writeFile(bytes)
        await file.utimes(this.#seconds(), this.#seconds())
        await file.sync()
      } finally {
        await file.close()
      }
      this.#options.failpoint?.('blob.rename:before')
      await rename(temporary, path)
      await syncFolder(dirname(path))
    } catch (error) {
      await rm(temporary, { force: true })
      throw full(error)
    }
    this.#wrote(bytes.length)
    return id
  }

  async get(id: Sha256): Promise<Uint8Array | null> {
    return this.getNow(id)
  }

  /** Batched; all are durable on return. */
  async putMany(contents: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<readonly Sha256[]> {
    const batch = this.batch()
    const ids: Sha256[] = []
    for await (const bytes of contents) {
      ids.push(batch.add(bytes))
      await batch.room()
    }
    await batch.close()
    return ids
  }

  batch(): Batch {
    const { now, newId } = this.#options
    const failpoint = (name: string) => this.#options.failpoint?.(name)
    return new BatchPacks({
      packs: this.#packs,
      now,
      newId,
      failpoint,
      touchLoose: id => this.#touchLoose(id),
      putLoose: bytes => this.put(bytes),
      syncFolder: async folder => {
        await syncFolder(folder)
        if (!this.#folders.has(folder)) await syncFolder(dirname(folder))
        this.#folders.add(folder)
      },
      demandRoom: (bytes, waiting) => this.#demandRoom(bytes, waiting),
      full,
    })
  }

  /** Marks blobs as used, so that they are not collected; returns the missing ones. */
  touch(ids: Iterable<Sha256>): readonly Sha256[] {
    const touched = new Set<Sha256>()
    const missing: Sha256[] = []
    for (const id of ids) if (!this.#packs.touch(id, touched) && !this.#touchLoose(id)) missing.push(id)
    return missing
  }

  pin: Pins['pin'] = (name, note, until) => this.#pins.pin(name, note, until)
  pinned: Pins['pinned'] = name => this.#pins.pinned(name)
  unpin: Pins['unpin'] = name => this.#pins.unpin(name)
  pins = (): Iterable<readonly [string, string]> => this.#pins.all()

  bytesUsed(): number {
    let bytes = this.#packs.bytes()
    for (const folder of listed(this.#options.folder)) {
      if (!/^[0-9a-f]{2}$/.test(folder)) continue
      for (const name of listed(join(this.#options.folder, folder))) {
        bytes += sizeAt(join(this.#options.folder, folder, name)) ?? 0
      }
    }
    this.#used = bytes
    return bytes
  }

  /** Synchronous, for bodies that must be durable before their transaction. */
  putNow(bytes: Uint8Array): Sha256 {
    const id = hash('sha256', bytes) as Sha256
    const path = this.#path(id)
    if (sizeAt(path) === bytes.length) {
      utimesSync(path, this.#seconds(), this.#seconds())
      return id
    }
    const temporary = `${dirname(path)}.${this.#options.newId()}.tmp`
    try {
      makeFolder(dirname(path), 0o700)
      writeDurably(temporary, bytes, this.#seconds())
      this.#options.failpoint?.('blob.rename:before')
      renameSync(temporary, path)
      for (const folder of [dirname(path), this.#options.folder]) syncFolderNow(folder)
    } catch (error) {
      rmSync(temporary, { force: true })
      throw full(error)
    }
    this.#wrote(bytes.length)
    return id
  }

  getNow(id: Sha256): Uint8Array | null {
    const path = this.#path(id)
    // The known place first: a failed open costs more than a read.
    const bytes =
      (this.#packs.knows(id) ? this.#packs.read(id) : null) ??
      absentAsNull(() => readFileSync(path)) ??
      this.#packs.read(id) ??
      absentAsNull(() => readFileSync(path + GONE))
    if (bytes === null && this.#packs.damaged.has(id)) throw this.#packs.damaged.get(id)
    return bytes === null ? null : verified(id, bytes)
  }

  has = (id: Sha256): boolean => isSha256(id) && (this.#looseSize(id) !== null || this.#packs.has(id))
  sizeOf = (id: Sha256): number => this.#looseSize(id) ?? this.#packs.sizeOf(id) ?? 0

  storedAt(id: Sha256): Millis | null {
    const path = this.#path(id)
    const loose = statSync(path, { throwIfNoEntry: false }) ?? statSync(path + GONE, { throwIfNoEntry: false })
    return loose?.mtimeMs ?? this.#packs.storedAt(id)
  }

  /** For the collector: renames, then deletes, or restores it if it was used since `before`. In a pack, marks it until `tidy`. */
  remove(id: Sha256, before: Millis = Number.POSITIVE_INFINITY): boolean {
    const path = this.#path(id)
    if (this.#packs.has(id)) this.#packs.markDead(id)
    this.#options.failpoint?.('blob.remove:before')
    if (absentAsNull(() => renameSync(path, path + GONE)) === null) return false
    this.#options.failpoint?.('blob.gone:after')
    const stored = statSync(path + GONE, { throwIfNoEntry: false })
    if (stored === undefined || stored.mtimeMs >= before) {
      absentAsNull(() => renameSync(path + GONE, path))
      return false
    }
    rmSync(path + GONE, { force: true })
    return true
  }

  /** Before a collection: restores what an interrupted one had renamed. */
  bringBack(): void {
    this.#packs.bringBack()
    this.#packs.reload()
    this.#packs.forgetDead()
    for (const [folder, name] of this.#looseNames()) {
      if (!name.endsWith(GONE)) continue
      const path = join(this.#options.folder, folder, name)
      absentAsNull(() => renameSync(path, path.slice(0, -GONE.length)))
    }
  }

  /** After a collection: removes or rewrites packs with enough marked blobs, and removes abandoned temporary files. */
  async tidy(before: Millis): Promise<{ readonly blobs: number; readonly bytes: number }> {
    const { folder, now, newId } = this.#options
    const failpoint = (name: string) => this.#options.failpoint?.(name)
    const freed = await collect(
      { packs: this.#packs, now, newId, failpoint, read: id => this.getNow(id), syncFolder, sweep: folder },
      before,
    )
    this.#used = null
    return freed
  }

  *ids(): Generator<Sha256> {
    const loose = new Set<Sha256>()
    for (const [folder, name] of this.#looseNames()) {
      const id = folder + (name.endsWith(GONE) ? name.slice(0, -GONE.length) : name)
      if (!isSha256(id) || loose.has(id)) continue
      loose.add(id)
      yield id
    }
    for (const id of [...this.#packs.ids()]) if (!loose.has(id)) yield id
    // A damaged pack stands for all blobs that can no longer be found in it.
    yield* this.#packs.damaged.keys()
  }

  *#looseNames(): Generator<readonly [string, string]> {
    for (const folder of listed(this.#options.folder)) {
      if (!/^[0-9a-f]{2}$/.test(folder)) continue
      for (const name of listed(join(this.#options.folder, folder))) yield [folder, name]
    }
  }

  #looseSize(id: Sha256): number | null {
    return sizeAt(this.#path(id)) ?? sizeAt(this.#path(id) + GONE)
  }

  #touchLoose(id: Sha256): boolean {
    const path = this.#path(id)
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return false
    return absentAsNull(() => utimesSync(path, this.#seconds(), this.#seconds())) !== null
  }

  #wrote(bytes: number): void {
    if (this.#used !== null) this.#used += bytes
  }

  /** Counts again before refusing, because another process may have freed space. */
  #demandRoom(bytes: number, waiting: number): void {
    const quota = this.#options.quotaBytes
    if (quota === undefined) return
    let used = this.#used ?? this.bytesUsed() + waiting
    if (used + bytes > quota) used = this.bytesUsed() + waiting
    if (used + bytes > quota) {
      refuse(
        'resource',
        `The content store has no room for this snapshot: ${used} of ${quota} bytes are used.`,
        advise`Run ${quoted('prune')}, or raise the quota.`,
      )
    }
    this.#used = used + bytes
  }

  #path(id: Sha256): string {
    if (!isSha256(id)) throw new RangeError('this is no blob id: it must be 64 hexadecimal digits')
    return join(this.#options.folder, id.slice(0, 2), id.slice(2))
  }

  #seconds(): number {
    return this.#options.now() / 1000
  }

  async #makeFolder(folder: string): Promise<void> {
    if (this.#folders.has(folder)) return
    // Without `recursive`, which makes Node report a missing folder when the disk is full.
    makeFolder(folder, 0o700)
    await syncFolder(dirname(folder))
    this.#folders.add(folder)
  }
}

function verified(id: Sha256, bytes: Uint8Array): Uint8Array {
  if (hash('sha256', bytes) !== id) throw new StoreDamaged(`blob ${id} does not match its hash`)
  return bytes
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
