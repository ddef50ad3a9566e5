// Notes beside the blobs about files that were saved before a task's files were set back: written before the first file changes, so
// that what was saved is known even when the process dies before the journal tells of it.

import type { PlanId, Sha256 } from './id.ts'

export interface RestoreNote {
  readonly saved: Sha256
  /** The pre-image it began from, and that with what was kept: as the files stand when it is done. */
  readonly to: Sha256
  readonly made: Sha256
  readonly visit: number
  readonly attempt: number
}

/** The beginning of the names of all notes of a plan. */
export const restoreNotesOf = (plan: PlanId): string => `restore-${plan}-`

export const restoreNoteName = (plan: PlanId, ordinal: number): string => `${restoreNotesOf(plan)}${ordinal}`
