// Garbage collection of blobs, and the pins that keep blobs alive.

import { mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Millis, Sha256 } from '../../domain/id.ts'
import {
  absentAsNull,
  full,
  listed,
  PACK_BYTES,
  PackBytes,
  type Packs,
  syncFolderNow,
  writeDurably,
  writePack,
} from './pack-files.ts'

// Small durable named notes beside the blobs. Blobs that they name by hash are reachable until the note is removed.

export class Pins {
  readonly #options: { readonly folder: string; readonly now: () => Millis; readonly newId: () => string }
  readonly #folder: string

  constructor(options: { readonly folder: string; readonly now: () => Millis; readonly newId: () => string }) {
    this.#options = options
    this.#folder = join(options.folder, 'pins')
  }

  /** `written`: after a power failure there may be the previous note of this name, or none. */
  pin(name: string, note: string, until: 'durable' | 'written' = 'durable'): void {
    const path = this.#path(name)
    const temporary = `${path}.${this.#options.newId()}.tmp`
    try {
      const made = mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      writeDurably(temporary, Buffer.from(note), this.#options.now() / 1000)
      renameSync(temporary, path)
      if (until === 'durable') syncFolderNow(this.#folder)
      if (made !== undefined) syncFolderNow(this.#options.folder)
    } catch (error) {
      rmSync(temporary, { force: true })
      throw full(error)
    }
  }

  pinned(name: string): string | null {
    return absentAsNull(() => readFileSync(this.#path(name), 'utf8'))
  }

  unpin(name: string): void {
    rmSync(this.#path(name), { force: true })
    absentAsNull(() => syncFolderNow(this.#folder))
  }

  *all(): Generator<readonly [string, string]> {
    for (const name of listed(this.#folder)) {
      const note = name.endsWith('.tmp') ? null : this.pinned(name)
      if (note !== null) yield [name, note]
    }
  }

  #path(name: string): string {
    if (!/^[a-z][a-z0-9-]{0,60}$/.test(name)) throw new RangeError('this is no name for a pin')
    return join(this.#folder, name)
  }
}

// Collection in packs. A pack without live blobs is removed; one that is mostly dead, or one of many small ones, is rewritten. The new pack
// is durable before the old one is removed, so a crash leaves both, never neither. A pack that was used since `before` stays.

interface Collecting {
  readonly packs: Packs
  readonly now: () => Millis
  readonly newId: () => string
  readonly failpoint: (name: string) => void
  readonly read: (id: Sha256) => Uint8Array | null
  readonly syncFolder: (folder: string) => Promise<void>
  /** The folder to clean of abandoned temporary files, like those of packs and pins. */
  readonly sweep: string
}

const SMALL_BYTES = 1024 * 1024
const SMALL_MANY = 32

export async function collect(room: Collecting, before: Millis): Promise<{ blobs: number; bytes: number }> {
  const { packs } = room
  const freed = { blobs: 0, bytes: 0 }
  const survey = packs.survey()
  const sizeOf = (live: readonly { readonly length: number }[]) => live.reduce((sum, { length }) => sum + length, 0)
  const small = survey.filter(({ live, deadBytes }) => sizeOf(live) + deadBytes < SMALL_BYTES)
  const merged = new Set(small.length > SMALL_MANY ? small.map(({ name }) => name) : [])
  let next = new PackBytes()
  let olds: typeof survey = []
  const turn = async () => {
    const known = new Set(olds.map(({ name }) => name))
    if (next.members.length > 0) {
      const name = await writePack(room, next)
      await room.syncFolder(packs.folder)
      // The same members would yield the same pack.
      known.delete(name)
    }
    for (const { name, live, deadBytes } of olds) {
      if (!known.has(name) || !packs.remove(name, before, room.failpoint)) continue
      freed.bytes += deadBytes
      freed.blobs += countOf(name) - live.length
    }
    next = new PackBytes()
    olds = []
  }
  const counts = new Map(survey.map(({ name }) => [name, packs.count(name)]))
  const countOf = (name: Sha256) => counts.get(name) ?? 0
  for (const pack of survey) {
    const { name, live, deadBytes } = pack
    const worth = live.length === 0 || deadBytes >= sizeOf(live) || (merged.has(name) && small.length > 1)
    // A recent user may need the dead blobs too.
    if (!worth || (packs.timeOf(name) ?? before) >= before) continue
    const contents = readAll(room, live)
    if (contents === null) continue
    if (next.length > 0 && next.length + sizeOf(live) > PACK_BYTES) await turn()
    for (const [id, bytes] of contents) next.add(id, bytes)
    olds = [...olds, pack]
  }
  await turn()
  packs.forgetDead()
  sweepTemporaries(room, before)
  return freed
}

/** Null when a blob is damaged: then the pack stays for inspection. */
function readAll(room: Collecting, live: readonly { readonly id: Sha256 }[]): readonly [Sha256, Uint8Array][] | null {
  const found: [Sha256, Uint8Array][] = []
  for (const { id } of live) {
    try {
      const bytes = room.read(id)
      if (bytes === null) return null
      found.push([id, bytes])
    } catch {
      return null
    }
  }
  return found
}

function sweepTemporaries({ sweep, packs }: Collecting, before: Millis): void {
  for (const folder of [sweep, packs.folder, join(dirname(packs.folder), 'pins')]) {
    for (const name of listed(folder)) {
      if (!name.endsWith('.tmp')) continue
      const path = join(folder, name)
      const stat = statSync(path, { throwIfNoEntry: false })
      if (stat?.isFile() && stat.mtimeMs < before && stat.ctimeMs < before) rmSync(path, { force: true })
    }
  }
}
