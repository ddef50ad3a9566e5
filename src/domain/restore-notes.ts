// Notes about files that were saved before a restore, stored beside the blobs. Written before the first file changes, so that the saved
// files are known even if the process dies before the journal records them.

import type { PlanId, Sha256 } from './id.ts'

export interface RestoreNote {
  readonly saved: Sha256
  /** The preimage that was restored, with the files that were kept: the state after the restore. */
  readonly to: Sha256
  readonly made: Sha256
  readonly visit: number
  readonly attempt: number
}

export const restoreNotesOf = (plan: PlanId): string => `restore-${plan}-`

export const restoreNoteName = (plan: PlanId, ordinal: number): string => `${restoreNotesOf(plan)}${ordinal}`
