// Builds the manifest of one directory during a walk. While the rows equal the previous ones they are only counted, so an unchanged
// directory costs only its stats.

import type { BytePath } from './manifest.ts'
import type { CachedDirectory, CachedFile } from './stat-cache.ts'
import type { Totals, Tree, TreeRow } from './tree-object.ts'

export class Making {
  readonly #known: CachedDirectory | undefined
  readonly #before: readonly BytePath[]
  #same = 0
  #rows: Map<BytePath, TreeRow> | null = null
  readonly #learned: [BytePath, CachedFile][] = []

  constructor(known: CachedDirectory | undefined) {
    this.#known = known
    this.#before = known?.made?.names ?? []
  }

  add(name: BytePath, found: TreeRow | CachedFile): void {
    const row = 'row' in found ? found.row : found
    if ('row' in found && this.#known?.files.get(name) !== found) this.#learned.push([name, found])
    if (this.#rows === null) {
      const before = this.#before[this.#same] === name ? this.#known!.made!.rows.get(name) : undefined
      if (before !== undefined && (before === row || isSameRow(before, row))) {
        this.#same++
        return
      }
      this.#begin()
    }
    this.#rows!.set(name, row)
  }

  /** A file that equals its cache entry. */
  keep(name: BytePath, file: CachedFile): void {
    // Rows and files that are known together are equal.
    if (this.#rows === null && this.#before[this.#same] === name) this.#same++
    else {
      if (this.#rows === null) this.#begin()
      this.#rows!.set(name, file.row)
    }
  }

  unchanged(): NonNullable<CachedDirectory['made']> | null {
    return this.#rows === null && this.#same === this.#before.length ? (this.#known?.made ?? null) : null
  }

  rows(): Tree {
    if (this.#rows === null) this.#begin()
    return this.#rows!
  }

  /** The known files; removed ones are dropped. */
  files(): ReadonlyMap<BytePath, CachedFile> {
    const before = this.#known?.files
    if (before !== undefined && this.#learned.length === 0 && this.#rows === null) return before
    const files = new Map<BytePath, CachedFile>()
    for (const [name, file] of before ?? []) {
      if (this.#rows === null || this.#rows.get(name)?.type === 'file') files.set(name, file)
    }
    for (const [name, file] of this.#learned) files.set(name, file)
    return files
  }

  /** The first difference: copies the rows that were only counted. */
  #begin(): void {
    this.#rows = new Map()
    for (const name of this.#before.slice(0, this.#same)) this.#rows.set(name, this.#known!.made!.rows.get(name)!)
  }
}

export function isSameRow(a: TreeRow, b: TreeRow): boolean {
  if (a.type === 'file' && b.type === 'file') return a.sha256 === b.sha256 && a.mode === b.mode
  if (a.type === 'link' && b.type === 'link') return a.target === b.target
  if (a.type === 'directory' && b.type === 'directory') return a.tree === b.tree && a.mode === b.mode
  return a.type === 'left' && b.type === 'left' && a.reason === b.reason
}

export function totalsOf(rows: Tree): Totals {
  let [files, bytes, left] = [0, 0, 0]
  for (const row of rows.values()) {
    if (row.type === 'file') {
      files++
      bytes += row.size
    } else if (row.type === 'directory') {
      files += row.totals.files
      bytes += row.totals.bytes
      left += row.totals.left
    } else if (row.type === 'left') left++
  }
  return { files, bytes, left }
}
