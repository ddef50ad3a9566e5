// Clears the setuid and setgid bits of files that a sandboxed task created or changed: outside the sandbox such a file would run with its
// owner's permissions, who may be root.

import { chmodSync, closeSync, constants, fstatSync, openSync } from 'node:fs'
import { codeOf } from '../safety-refusal.ts'
import type { ScopeEntry } from './scope-entries.ts'

const O_PATH = 0o10000000
const SPECIAL = 0o6000

export async function clearSpecialModes(entries: AsyncIterable<ScopeEntry>, since: number): Promise<readonly string[]> {
  const cleared: string[] = []
  for await (const { path, absolute, stat } of entries)
    if (stat.isFile() && (stat.mode & SPECIAL) !== 0 && stat.ctimeMs >= since && clear(absolute)) cleared.push(path)
  return cleared.sort()
}

/** Through the open file, so that a replaced name affects nothing else. False when it may not be changed: another user's file. */
function clear(path: Buffer): boolean {
  try {
    const file = openSync(path, O_PATH | constants.O_NOFOLLOW)
    try {
      const stat = fstatSync(file)
      if (stat.isFile()) chmodSync(`/proc/self/fd/${file}`, stat.mode & ~SPECIAL & 0o7777)
      return stat.isFile()
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if (codeOf(error) === null) throw error
    return false
  }
}
