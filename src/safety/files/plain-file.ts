// Reads a file whose path we did not choose, at once: opened without waiting and looked at through its descriptor, so that a pipe or a
// device put in its place can neither hold this process up nor fill its memory.

import { accessSync, closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs'

/** Links are followed. Null when it is no regular file, is larger than that, or cannot be read. */
export function readPlainFileNow(path: string, maxBytes: number): Buffer | null {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    return null
  }
  try {
    const stat = fstatSync(file)
    return stat.isFile() && stat.size <= maxBytes ? readFileSync(file) : null
  } catch {
    return null
  } finally {
    closeSync(file)
  }
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
