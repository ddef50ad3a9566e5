// A folder and those above it, made one by one. Node's own `recursive` never comes back where a folder says it is there and takes
// nothing in, as /proc does.

import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Says which had to be made, the outermost first. */
export function makeFolder(path: string, mode: number): readonly string[] {
  const missing: string[] = []
  for (let at = resolve(path); !existsSync(at); at = dirname(at)) missing.unshift(at)
  for (const folder of missing.length === 0 ? [path] : missing) {
    try {
      mkdirSync(folder, mode)
    } catch (error) {
      const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST'
      if (!isThere || statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
    }
  }
  return missing
}
