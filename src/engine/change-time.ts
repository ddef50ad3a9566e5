// When a path was changed last, by the file system's own mark, and which paths were changed since an attempt ended: nobody of
// that attempt was alive then, so these are somebody else's work.

import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Millis } from '../domain/id.ts'
import type { TaskState } from '../domain/state.ts'
import type { Rooms } from './rooms.ts'

/** Of a path that is gone: when the nearest folder that is still there was changed. */
export function changeTime(root: string, path: string): Millis {
  for (let at = path; ; at = dirname(at)) {
    const stat = lstatSync(join(root, at), { throwIfNoEntry: false })
    if (stat !== undefined) return stat.ctimeMs
    if (at === '.' || at === '') return 0
  }
}

/** So many are named; where there are more, nobody can say which. */
const PATHS_MAX = 1_000

/**
 * Of a task around which all files are compared: the paths that changed after its last attempt had ended. Null when nobody knows
 * when that was.
 */
export async function editedSinceEnd(rooms: Rooms, { prepared }: TaskState): Promise<readonly string[] | null> {
  const { before, ended } = prepared ?? {}
  if (before === undefined || ended?.at === undefined) return null
  const found = await rooms.snapshots?.diff(before, 'now')
  if (found?.ok !== true) return null
  const { at } = ended
  const edited = found.changes.map(({ path }) => path).filter(path => changeTime(rooms.root, path) > at)
  return edited.length > PATHS_MAX ? null : edited
}
