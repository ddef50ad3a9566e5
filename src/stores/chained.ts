// A stretch of a journal, proven: every entry goes on with the hash before it, none is missing, and the journal ends no earlier
// than it is known to have reached. What is wrong is named with its entry.

import type { PlanId } from '../domain/id.ts'
import { type BodyBlobs, entryHash, type StoredEntry } from './entry.ts'
import { ChainBroken, type Entry } from './store.ts'
import type { Head } from './tables.ts'
import { entryOf } from './verified-entries.ts'

export function chained(
  plan: PlanId,
  page: readonly StoredEntry[],
  from: {
    readonly after: number
    readonly previous: string
    /** Given when the page is the last one. */
    readonly head: Head | null
  },
  blobs: BodyBlobs,
): readonly Entry[] {
  let { previous } = from
  let version = from.after
  const entries = page.map(stored => {
    version++
    if (stored.version !== version)
      throw new ChainBroken('missing', version, null, `entry ${version} of plan ${plan} is missing`)
    if (entryHash(previous, plan, stored) !== stored.hash) {
      const message = `entry ${version} of plan ${plan} does not match its hash`
      throw new ChainBroken('tampered', version, stored.position, message)
    }
    previous = stored.hash
    return entryOf({ ...stored, plan }, blobs)
  })
  if (from.head !== null && version < from.head.reached) {
    const message = `the journal of plan ${plan} ends at entry ${version}, and had reached ${from.head.reached}`
    throw new ChainBroken('missing', version + 1, null, message)
  }
  return entries
}
