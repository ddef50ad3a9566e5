// The content store on disk: `blobs/ab/<rest of the hash>`. A blob is written beside its place, synced, renamed, and its
// folder synced, so it is there whole or not at all; what is read is verified against its name.

import { hash } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  futimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from 'node:fs'
import { mkdir, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isSha256, type Millis, type Sha256 } from '../../domain/id.ts'
import { StoreDamaged, StoreFull } from '../store.ts'
import type { ContentStore } from '../store-on-tables.ts'

export interface BlobsOptions {
  readonly folder: string
  readonly now: () => Millis
  readonly newId: () => string
  readonly failpoint?: ((name: string) => void) | undefined
}

export class BlobsFiles implements ContentStore {
  readonly #options: BlobsOptions
  /** Folders known to exist durably, so that their parents need no further sync. */
  readonly #folders = new Set<string>()

  constructor(options: BlobsOptions) {
    this.#options = options
  }

  async put(bytes: Uint8Array): Promise<Sha256> {
    const id = hash('sha256', bytes) as Sha256
    const path = this.#path(id)
    const there = await stat(path).catch(absent)
    if (there?.size === bytes.length) {
      // Somebody relies on it again from now on, so that it is not pruned before they have said so.
      await utimes(path, this.#seconds(), this.#seconds())
      return id
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
    return id
  }

  async get(id: Sha256): Promise<Uint8Array | null> {
    const bytes = await readFile(this.#path(id)).catch(absent)
    return bytes === null ? null : verified(id, bytes)
  }

  /** The same without waiting, for bodies that must be durable before the transaction they belong to. */
  putNow(bytes: Uint8Array): Sha256 {
    const id = hash('sha256', bytes) as Sha256
    const path = this.#path(id)
    if (sizeAt(path) === bytes.length) {
      utimesSync(path, this.#seconds(), this.#seconds())
      return id
    }
    const temporary = `${dirname(path)}.${this.#options.newId()}.tmp`
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      const file = openSync(temporary, 'wx', 0o600)
      try {
        for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
        futimesSync(file, this.#seconds(), this.#seconds())
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      this.#options.failpoint?.('blob.rename:before')
      renameSync(temporary, path)
      for (const folder of [dirname(path), this.#options.folder]) syncFolderNow(folder)
    } catch (error) {
      rmSync(temporary, { force: true })
      throw full(error)
    }
    return id
  }

  getNow(id: Sha256): Uint8Array | null {
    try {
      return verified(id, readFileSync(this.#path(id)))
    } catch (error) {
      return absent(error)
    }
  }

  has = (id: Sha256): boolean => isSha256(id) && sizeAt(this.#path(id)) !== null
  sizeOf = (id: Sha256): number => sizeAt(this.#path(id)) ?? 0
  remove = (id: Sha256): void => rmSync(this.#path(id), { force: true })

  storedAt(id: Sha256): Millis | null {
    return statSync(this.#path(id), { throwIfNoEntry: false })?.mtimeMs ?? null
  }

  *ids(): Generator<Sha256> {
    for (const first of list(this.#options.folder)) {
      for (const rest of list(join(this.#options.folder, first))) {
        const id = first + rest
        if (isSha256(id)) yield id
      }
    }
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
    await mkdir(folder, { recursive: true, mode: 0o700 })
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

export function syncFolderNow(folder: string): void {
  const file = openSync(folder, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

const sizeAt = (path: string): number | null => statSync(path, { throwIfNoEntry: false })?.size ?? null

function list(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    return absent(error) ?? []
  }
}

/** Not being there is an answer, anything else is an error. */
function absent(error: unknown): null {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR') return null
  throw error
}

function full(error: unknown): unknown {
  return (error as NodeJS.ErrnoException).code === 'ENOSPC'
    ? new StoreFull('the disk is full; nothing was written', { cause: error })
    : error
}
