// What stands now at the paths that a try changed, under any name, and what a write of some of them needs besides.

import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sha256 } from '../../domain/id.ts'
import type { Failure } from '../../domain/result.ts'
import { PATTERN_MAX } from '../../safety/scope.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import type { Rooms } from '../rooms.ts'

export type Entries = ReadonlyMap<string, TreeEntry | null>

/** `saved`: the same files, stored just before. A write compares with them once more. */
export async function entriesNow(
  { workspace, snapshots }: Rooms,
  start: Sha256,
  changes: readonly Change[],
): Promise<
  | { readonly ok: true; readonly saved: Sha256; readonly entries: Entries }
  | { readonly ok: false; readonly failure: Failure }
> {
  const patterns = [...new Set(changes.map(({ path }) => patternOf(path)))]
  const captured = await workspace.capture(patterns)
  if (!captured.ok) return captured
  const since = await snapshots!.diff(start, 'now', { paths: patterns })
  if (!since.ok) return since
  const changed = new Map(since.changes.map(({ path, after }) => [path, after]))
  const entries = changes.map(({ path, before }) => [path, changed.has(path) ? changed.get(path)! : before] as const)
  return { ok: true, saved: captured.manifest, entries: new Map(entries) }
}

/** A pattern that matches the path and what is below. A character that no pattern may contain, or that means more there, is any character. */
function patternOf(path: string): string {
  const plain = (/\p{Cs}/u.test(path) ? path.replace(/[^/]*[^/ -~][^/]*/gu, '*') : path).replace(
    /[\\{}?~!:\p{Cc}]|(?<=[^/])\*|\*(?=[^/])/gu,
    '?',
  )
  const fits = plain.length <= PATTERN_MAX - ALL.length ? plain : plain.slice(0, PATTERN_MAX - ALL.length)
  return `${fits.length === plain.length ? plain : fits.slice(0, fits.lastIndexOf('/'))}${ALL}`
}
const ALL = '/**'

/** New files need their folders. A folder goes only with all that is in it, but a file takes the place of a folder with what is in it. */
export async function writable(root: string, write: Entries, now: Entries): Promise<Entries> {
  const all = new Map(write)
  for (const [path, entry] of write) {
    for (let at = path.lastIndexOf('/'); entry !== null && at > 0; at = path.lastIndexOf('/', at - 1)) {
      const folder = path.slice(0, at)
      if (!all.has(folder) && !existsSync(join(root, folder))) all.set(folder, { type: 'directory', mode: 0o755 })
    }
    if (now.get(path)?.type !== 'directory' || entry?.type === 'directory') continue
    const inside = await readdir(join(root, path), { recursive: true }).catch(() => [])
    const others = inside.map(name => `${path}/${name}`).filter(one => write.get(one) !== null)
    if (entry !== null) for (const one of others) all.set(one, null)
    else if (others.length > 0) all.delete(path)
  }
  return all
}
