// The packs of a content store: which blob lies in which, kept in memory and read again whenever the folder has changed.
// Other processes may add packs, or rewrite them, at any moment; a pack that is gone sends us back to the folder.
//
// A pack is never just deleted. It is moved to `<name>.gone`, its time is looked at once more, and it comes back when
// somebody has touched it meanwhile. A reader finds it under either name, also when the collector died in between.

import { mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { isSha256, type Millis, type Sha256 } from '../../domain/id.ts'
import { type Member, readIndex, readMember } from './blobs-pack-file.ts'

export const GONE = '.gone'

interface Pack {
  readonly name: Sha256
  readonly members: readonly Member[]
  /** Those of its members that the collector has found unreachable. */
  readonly dead: Set<Sha256>
}

export class Packs {
  readonly folder: string
  readonly #now: () => Millis
  readonly #packs = new Map<Sha256, Pack>()
  readonly #places = new Map<Sha256, { readonly pack: Pack; readonly member: Member }>()
  /** What the folder's times were when it was last read. */
  #seen = ''
  readonly damaged = new Map<Sha256, Error>()

  constructor(folder: string, now: () => Millis) {
    this.folder = folder
    this.#now = now
  }

  has = (id: Sha256): boolean => this.#find(id) !== null
  /** As far as is known without looking at the folder again. */
  knows = (id: Sha256): boolean => this.#places.has(id)
  sizeOf = (id: Sha256): number | null => this.#find(id)?.member.length ?? null

  storedAt(id: Sha256): Millis | null {
    const found = this.#find(id)
    return found === null ? null : this.timeOf(found.pack.name)
  }

  /** The bytes as they are stored, not verified. */
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

  /** Somebody relies on this blob from now on. False when it is not here after all. */
  touch(id: Sha256, touched: Set<Sha256>): boolean {
    for (let tried = 0; tried < 3; tried++) {
      const found = this.#find(id)
      if (found === null) return false
      if (touched.has(found.pack.name)) return true
      // By its own name only: under the other it may be on its way out.
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

  /** A pack that was just written whole and durably. */
  added(name: Sha256, members: readonly Member[]): void {
    this.#learn({ name, members, dead: new Set() })
  }

  markDead(id: Sha256): void {
    this.#find(id)?.pack.dead.add(id)
  }

  /** Every pack, for the collector: what lives in it and how many of its bytes do not. */
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

  /** Takes a pack out unless somebody has relied on it since; true when it is gone. */
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

  /** What a collector that died has left under its other name stands where it stood. */
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
    mkdirSync(this.folder, { recursive: true, mode: 0o700 })
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
    // A folder that changed within this tick may change again without its time showing it.
    this.#seen = stat !== undefined && Number(stat.mtimeNs / 1_000_000n) > this.#now() - 100 ? '' : seen
  }

  #learn(pack: Pack): void {
    this.#packs.set(pack.name, pack)
    for (const member of pack.members) this.#places.set(member.id, { pack, member })
  }

  #forget(pack: Pack): void {
    this.#packs.delete(pack.name)
    for (const { id } of pack.members) if (this.#places.get(id)?.pack === pack) this.#places.delete(id)
    // The same blob may lie in another pack too.
    for (const other of this.#packs.values()) {
      for (const member of other.members)
        if (!this.#places.has(member.id)) this.#places.set(member.id, { pack: other, member })
    }
  }

  /** When it was last relied upon. */
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

/** Not being there is an answer, anything else is an error. */
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
