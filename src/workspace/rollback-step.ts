// What one step of a rollback amounts to, and whether what is found is what it means.

import type { Sha256 } from '../domain/id.ts'
import type { Step } from './rollback-intent.ts'
import { isSameEntry } from './snapshot-reading.ts'
import type { Standing } from './standing.ts'
import type { Stamp } from './stat-cache.ts'
import type { SnapshotBlobs, TreeEntry } from './workspace.ts'

/** Must what stands there go, or only get another mode? */
export function isReplaced({ have, want, apart }: Step): boolean {
  if (have === null) return false
  if (have.type === 'file' && want?.type === 'file') return have.sha256 !== want.sha256 || apart === true
  return have.type !== 'directory' || want?.type !== 'directory'
}

/** Does something else take the place at once, in a folder that stays? */
export function isSwap(step: Step): boolean {
  const { have, want } = step
  return isReplaced(step) && have!.type !== 'directory' && want !== null && want.type !== 'directory'
}

/** Is a content to be written, and not only a mode set? */
export const needsFresh = (step: Step): boolean =>
  step.want?.type === 'file' && (step.have?.type !== 'file' || isReplaced(step))

export const isWanted = (standing: Standing, want: TreeEntry | null): boolean =>
  'entry' in standing && isSameEntry(standing.entry, want)

/** The same bytes or target; the mode may have changed, which loses nothing. */
export function isSameKind(a: TreeEntry | null, b: TreeEntry | null): boolean {
  if (a?.type === 'file' && b?.type === 'file') return a.sha256 === b.sha256
  if (a?.type === 'directory' && b?.type === 'directory') return true
  return isSameEntry(a, b)
}

/** The ctime is left out: taking its name has changed it. */
export const isSameFile = (a: Stamp, b: Stamp): boolean =>
  a.ino === b.ino && a.mtimeNs === b.mtimeNs && a.size === b.size && a.mode === b.mode

/** Null when it is not there, or not what it should be: one lost content must not keep all others from coming back. */
export const contentOf = (blobs: SnapshotBlobs, id: Sha256): Promise<Uint8Array | null> =>
  blobs.get(id).catch(error => ((error as Error).name === 'StoreDamaged' ? null : Promise.reject(error)))
