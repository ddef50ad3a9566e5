// Names of what is kept for one folder in a state folder that may serve several: the workspace around it, and the places
// of plans inside it. Told apart by the way from one to the other, so that both may be moved together.

import { hash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { relative } from 'node:path'
import { codeOf } from '../safety/refused.ts'
import type { SnapshotBlobs } from './workspace.ts'

interface Folders {
  readonly root: string
  readonly stateDir: string
}

/** The plain name for the folder the state folder stands in, and one with a mark for any other. */
export function placeName(name: string, { root, stateDir }: Folders): string {
  const way = relative(real(stateDir), real(root))
  return way === '..' ? name : `${name}-${hash('sha256', way).slice(0, 16)}`
}

/** The content store with notes of this folder's own. */
export function notesOf(blobs: SnapshotBlobs, folders: Folders): SnapshotBlobs {
  const named = (name: string): string => placeName(name, folders)
  return {
    put: bytes => blobs.put(bytes),
    get: id => blobs.get(id),
    ...(blobs.putMany === undefined ? {} : { putMany: contents => blobs.putMany!(contents) }),
    batch: () => blobs.batch(),
    touch: ids => blobs.touch(ids),
    pin: (name, note, until) => blobs.pin(named(name), note, until),
    pinned: name => blobs.pinned(named(name)),
    unpin: name => blobs.unpin(named(name)),
  }
}

/** As far as it is there; a folder that is not is meant by its name. */
function real(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (codeOf(error) === null) throw error
    return path
  }
}
