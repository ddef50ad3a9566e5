// Reads a file at an untrusted path: opened without blocking and checked through its descriptor, so that a pipe or a device can neither
// block this process nor fill its memory.

import { accessSync, closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs'
import { orElse } from '../../domain/json.ts'

/** Follows links. Null for anything but a readable regular file of at most that size. */
export function readPlainFileNow(path: string, maxBytes: number): Buffer | null {
  const file = orElse(() => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY), null)
  if (file === null) return null
  try {
    const stat = fstatSync(file)
    return stat.isFile() && stat.size <= maxBytes ? readFileSync(file) : null
  } catch {
    return null
  } finally {
    closeSync(file)
  }
}

export const isProgram = (path: string): boolean =>
  orElse(() => {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  }, false)
