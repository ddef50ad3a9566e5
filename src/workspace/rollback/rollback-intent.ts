// What a rollback is about to do, written down durably before its first change, and how it ended, until somebody has recorded
// that. Whoever finds an unfinished one finishes it: every step says what was seen and stored, and what shall stand there.

import type { Sha256 } from '../../domain/id.ts'
import { refuse } from '../../safety/safety-refusal.ts'
import type { LeftOut, RolledBack, SnapshotBlobs, TreeEntry } from '../workspace.ts'

const PIN = 'rollback'

export interface Step {
  readonly path: string
  readonly have: TreeEntry | null
  readonly want: TreeEntry | null
  /** The file has other names, which keep their mode: it is replaced even where only the mode is different. */
  readonly apart?: true
}

export interface Intent {
  readonly rollback: 1
  /** The folder in the workspace where what it replaces is kept meanwhile, no other rollback's. */
  readonly aside: string
  readonly about: string | null
  readonly target: Sha256
  readonly saved: Sha256
  readonly steps: readonly Step[]
  /** Folders that had to be opened for writing, and the mode they shall have again. */
  readonly modes: readonly (readonly [path: string, mode: number])[]
  readonly left: readonly LeftOut[]
  readonly merged: readonly string[]
}

export interface Ended {
  readonly rollback: 1
  readonly ended: Extract<RolledBack, { ok: true }>
}

export function writeIntent(blobs: SnapshotBlobs, note: Intent | Ended): void {
  // How it ended may be lost in a power cut: then it is found to be done once more.
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
