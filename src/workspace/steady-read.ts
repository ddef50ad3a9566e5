// Reads a file that others may be writing: what is returned stood there as a whole. Times of files are too coarse to trust
// for one that changed just now, so such a file is read twice.

import type { BigIntStats } from 'node:fs'
import type { Directory, Name } from '../safety/directory.ts'
import { codeOf, Refused } from '../safety/refused.ts'
import { FILE_MAX_BYTES, type FileContent, readFile } from '../safety/regular-file.ts'

const TRIES = 3
const SETTLED_MS = 2_000

/** The content, null when the file is gone, or the reason why it cannot be had. */
export async function readSteadily(
  directory: Directory,
  name: Name,
  now: (() => number) | undefined,
): Promise<FileContent | string | null> {
  try {
    for (let tried = 0; tried < TRIES; tried++) {
      const first = await readFile(directory, name, FILE_MAX_BYTES)
      if (first === null) return null
      const settled = now !== undefined && Number(first.stat.ctimeMs) < now() - SETTLED_MS
      const second = settled ? first : await readFile(directory, name, FILE_MAX_BYTES)
      const after = await directory.look(name)
      if (second?.sha256 === first.sha256 && after !== null && isSame(first.stat, after)) return first
    }
    return 'unstable: it changes while it is read'
  } catch (error) {
    if (error instanceof Refused) return error.message.includes('larger') ? 'too big' : 'special file'
    if (['EACCES', 'EPERM'].includes(codeOf(error) ?? '')) return 'unreadable'
    if (['ELOOP', 'EISDIR', 'ENXIO'].includes(codeOf(error) ?? '')) return 'unstable: it changes while it is read'
    throw error
  }
}

const isSame = (a: BigIntStats, b: BigIntStats): boolean =>
  a.ino === b.ino &&
  a.dev === b.dev &&
  a.size === b.size &&
  a.mtimeNs === b.mtimeNs &&
  a.ctimeNs === b.ctimeNs &&
  a.mode === b.mode
