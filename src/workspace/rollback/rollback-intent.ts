// The durable intent of a rollback, written before its first change, and its result until that is recorded. A later process finishes an
// unfinished one: every step has the expected current state and the target.

import type { Sha256 } from '../../domain/id.ts'
import { refuse } from '../../safety/safety-refusal.ts'
import type { LeftOut, RolledBack, SnapshotBlobs, TreeEntry } from '../workspace.ts'

const PIN = 'rollback'

export interface Step {
  readonly path: string
  readonly have: TreeEntry | null
  readonly want: TreeEntry | null
  /** The file has hard links, which keep their mode: it is replaced even when only the mode differs. */
  readonly apart?: true
}

export interface Intent {
  readonly rollback: 1
  /** The folder in the workspace for replaced files, unique to this rollback. */
  readonly aside: string
  readonly about: string | null
  readonly target: Sha256
  readonly saved: Sha256
  readonly steps: readonly Step[]
  /** Folders that were opened for writing, and the mode to restore. */
  readonly modes: readonly (readonly [path: string, mode: number])[]
  readonly left: readonly LeftOut[]
  readonly merged: readonly string[]
}

export interface Ended {
  readonly rollback: 1
  readonly ended: Extract<RolledBack, { ok: true }>
}

export function writeIntent(blobs: SnapshotBlobs, note: Intent | Ended): void {
  // A result lost in a power failure is found again, because every step is done already.
  blobs.pin(PIN, JSON.stringify(note), 'ended' in note ? 'written' : 'durable')
}

export function readIntent(blobs: SnapshotBlobs): Intent | Ended | null {
  const note = blobs.pinned(PIN)
  if (note === null) return null
  const stored = JSON.parse(note) as Intent | Ended
  if (stored.rollback !== 1)
    refuse('logic', 'a rollback of a version this program does not know was cut off', 'update planfold')
  return stored
}

export function forgetIntent(blobs: SnapshotBlobs): void {
  blobs.unpin(PIN)
}
