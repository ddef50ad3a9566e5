// The question of nearly every file of nearly every walk: is it still what it was when it was last hashed? It is asked by
// the file's full path and in plain numbers, because that is half the work of asking through the held folder in big ones.
//
// That is safe because only a yes counts. A yes names the same inode with the same ctime, so it is the file we hashed,
// whatever links lead to it; anything else is looked at again through the held folder. Numbers round times to a quarter of
// a microsecond; a file that counts was a third of a second old when it was hashed, so every change since moved its ctime
// by more than that.

import type { Stats } from 'node:fs'
import type { BytePath } from './manifest.ts'
import type { CachedFile } from './stat-cache.ts'

export interface Glances {
  readonly known: ReadonlyMap<BytePath, CachedFile>
  /** In the order of the names; null where no settled file is known. */
  readonly files: readonly (CachedFile | null)[]
  /** Four numbers for each name: ctime, mtime, inode, size. */
  readonly stamps: Float64Array
}

/** `before` are those of the same names; what has not changed since is taken over. */
export function quickStatsOf(
  names: readonly BytePath[],
  known: ReadonlyMap<BytePath, CachedFile>,
  before?: Glances,
): Glances {
  const files: (CachedFile | null)[] = []
  const stamps = before === undefined ? new Float64Array(names.length * 4) : new Float64Array(before.stamps)
  for (let at = 0; at < names.length; at++) {
    const found = known.get(names[at]!)
    const file = found?.settled === true ? found : null
    files.push(file)
    if (file === null || file === before?.files[at]) continue
    stamps[at * 4] = inMilliseconds(file.ctimeNs)
    stamps[at * 4 + 1] = inMilliseconds(file.mtimeNs)
    stamps[at * 4 + 2] = Number(file.ino)
    stamps[at * 4 + 3] = file.size
  }
  return { known, files, stamps }
}

export const isSameStat = ({ stamps }: Glances, at: number, stat: Stats): boolean =>
  stamps[at * 4] === stat.ctimeMs &&
  stamps[at * 4 + 1] === stat.mtimeMs &&
  stamps[at * 4 + 2] === stat.ino &&
  stamps[at * 4 + 3] === stat.size

/** Rounded exactly as Node rounds them: whole seconds and the rest, each by itself. */
function inMilliseconds(ns: bigint): number {
  const rest = ((ns % SECOND) + SECOND) % SECOND
  return Number((ns - rest) / SECOND) * 1_000 + Number(rest) / 1_000_000
}

const SECOND = 1_000_000_000n
