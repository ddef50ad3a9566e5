// Small durable notes beside the blobs, each under a name. What they name by hash is reachable until they are taken away.

import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Millis } from '../../domain/id.ts'
import { full, syncFolderNow, writeDurably } from './blobs-durably.ts'
import { absentAsNull, listed } from './blobs-packs.ts'

export class Pins {
  readonly #options: { readonly folder: string; readonly now: () => Millis; readonly newId: () => string }
  readonly #folder: string

  constructor(options: { readonly folder: string; readonly now: () => Millis; readonly newId: () => string }) {
    this.#options = options
    this.#folder = join(options.folder, 'pins')
  }

  /** Only 'written': after a power cut the note of this name may be the one before. */
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

  /** The notes by name, for whoever looks for what is reachable. */
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
