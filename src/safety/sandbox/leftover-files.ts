// Files that a command left in temporary folders of its sandbox: /tmp, and a home in memory. Read from outside after the command and before
// the sandbox ends. Its processes may still run, so links are not followed.

import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { orElse } from '../../domain/json.ts'

export interface Leftover {
  readonly names: readonly string[]
  readonly count: number
}

const NAMES_MAX = 5
const LOOKED_AT_MAX = 2_000
const DEPTH_MAX = 6
/** What common tools leave in temporary folders, and no user misses. */
const DROPPINGS =
  /^(\.|node-compile-cache|v8-compile-cache|npm-|yarn--|pnpm-|bunx-|tsx-|jiti|vitest|vite-|pytest-of-|pip-|uv-|go-build|cargo-|rustc|hsperfdata_|core-js|esbuild-|xfs-|ansible|phantomjs|puppeteer|playwright)/

/** `first`: process 1 of the sandbox. Null when nothing of interest is left. */
export function leftoverFiles(first: number, folders: readonly string[]): Leftover | null {
  const names: string[] = []
  let count = 0
  let seen = 0
  // Mounts from outside are on another device.
  const look = (at: string, folder: string, depth: number, device: number | null): void => {
    const held = orElse(() => openSync(at, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW), null)
    if (held === null) return
    try {
      const here = `/proc/self/fd/${held}`
      const { dev } = fstatSync(held)
      if (device !== null && dev !== device) return
      for (const entry of readdirSync(here, { withFileTypes: true })) {
        if (++seen > LOOKED_AT_MAX) return
        const path = join(folder, entry.name)
        if (depth === 0 && DROPPINGS.test(entry.name)) continue
        if (entry.isDirectory() && depth < DEPTH_MAX) look(join(here, entry.name), path, depth + 1, dev)
        if (!entry.isFile() || lstatSync(join(here, entry.name)).dev !== dev) continue
        if (++count <= NAMES_MAX) names.push(path)
      }
    } catch {
      // It was removed meanwhile.
    } finally {
      closeSync(held)
    }
  }
  for (const folder of folders) look(`/proc/${first}/root${folder}`, folder, 0, null)
  return count === 0 ? null : { names, count }
}
