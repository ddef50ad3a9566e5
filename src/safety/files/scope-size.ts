// Looks ahead: does a write scope hold more now than can be captured? Asked before a plan runs; the task would fail when its turn comes.

import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  CAPTURED_ENTRIES_MAX as ENTRIES_MAX,
  CAPTURED_FILE_MAX_BYTES as FILE_MAX_BYTES,
  CAPTURED_TOTAL_MAX_BYTES as TOTAL_MAX_BYTES,
} from '../../domain/limits.ts'
import { inScope, mayHold } from '../scope.ts'
import { protectedBy } from './protected-path.ts'

export const TOO_MANY = `more than ${ENTRIES_MAX.toLocaleString('en')} files and folders`
export const TOO_LARGE = `more than ${TOTAL_MAX_BYTES / 1024 ** 3} GB`
const AT_ONCE = 2_000

/** What is too much in it, as the end of a sentence; null when it can be captured, as far as could be seen with so many looks. */
export async function scopeExcess(
  root: string,
  patterns: readonly string[],
  looks: { left: number },
): Promise<string | null> {
  let entries = 0
  let bytes = 0
  const folders = ['']
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of listed(join(root, folder))) {
      if (--looks.left < 0) return null
      if (looks.left % AT_ONCE === 0) await new Promise<void>(resolve => setImmediate(resolve))
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      const isAbove = entry.isDirectory() && mayHold(patterns, path)
      if ((!isAbove && !inScope(patterns, path)) || protectedBy(path.split('/'), null) !== null) continue
      if (isAbove) folders.push(path)
      if (++entries > ENTRIES_MAX) return TOO_MANY
      const size = entry.isFile() ? (lstatSync(join(root, path), { throwIfNoEntry: false })?.size ?? 0) : 0
      if (size > FILE_MAX_BYTES) return `'${path}', which is larger than ${FILE_MAX_BYTES / 1024 ** 2} MB`
      bytes += size
      if (bytes > TOTAL_MAX_BYTES) return TOO_LARGE
    }
  }
  return null
}

/** What cannot be read is told when the task begins. */
function listed(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
