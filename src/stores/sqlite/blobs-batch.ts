// Stores many blobs at once: small ones travel in packs, written and synced in the background while the next ones are
// collected. Nothing counts as stored before `close` has answered; a crash before that leaves whole packs or temporaries.

import { hash } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Millis, Sha256 } from '../../domain/id.ts'
import type { Batch } from '../../workspace/workspace.ts'
import { PACK_BYTES, PACKED_MAX_BYTES, PackBytes } from './blobs-pack-file.ts'
import type { Packs } from './blobs-packs.ts'

export interface BatchRoom {
  readonly packs: Packs
  readonly now: () => Millis
  readonly newId: () => string
  readonly failpoint: (name: string) => void
  /** Is it stored by itself already? Then it counts as used from now on. */
  readonly touchLoose: (id: Sha256) => boolean
  readonly putLoose: (bytes: Uint8Array) => Promise<Sha256>
  readonly syncFolder: (folder: string) => Promise<void>
  /** Refuses when so many more bytes would be too many, besides those of this batch that are not on disk yet. */
  readonly demandRoom: (bytes: number, waiting: number) => void
  /** A full disk gets its own name. */
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
  /** Of those, the ones that are not on disk yet. */
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

  /** Waits until not too much is under way. */
  async room(): Promise<void> {
    while (this.#writing.size >= AT_ONCE) await Promise.race(this.#writing)
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

/** Writes one pack beside its place, syncs it and gives it its name; the folder is synced by the caller. */
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
