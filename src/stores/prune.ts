// Takes out what nobody needs: archived plans that have not moved since a given time, and blobs no journal leads to any
// more. Blobs are kept when in doubt: every 64-digit hexadecimal word in a body, or in a blob reached from one, counts as
// a reference, and blobs younger than the given time stay, because somebody may be about to name them.

import type { Millis, Sha256 } from '../domain/id.ts'
import type { CheckBlobs } from './check.ts'
import { readEntry } from './entry.ts'
import type { Pruned } from './store.ts'
import type { Tables, Transactions } from './tables.ts'

export interface PruneBlobs extends CheckBlobs {
  /** When it was stored; null when it is not there. */
  storedAt(id: Sha256): Millis | null
  sizeOf(id: Sha256): number
  remove(id: Sha256): void
}

const PAGE = 200
const WORD = /\b[0-9a-f]{64}\b/g

export async function prune(
  room: { transactions: Transactions; blobs: PruneBlobs; now: Millis },
  options: { readonly before: Millis; readonly dryRun: boolean },
): Promise<Pruned> {
  const { transactions, blobs, now } = room
  const numbers = transactions.read(tables => tables.upkeep.prunable(options.before))
  const gone = new Set(numbers)
  const reachable = transactions.read(tables => reach(tables, blobs, gone))
  let entries = 0
  let bytes = 0
  if (options.dryRun) {
    transactions.read(tables => {
      for (const no of numbers) entries += tables.journal.head(no)?.version ?? 0
    })
  } else if (numbers.length > 0) {
    await transactions.write(tables => {
      // Looked at again under the lock: a plan may have moved since.
      for (const no of tables.upkeep.prunable(options.before)) {
        if (!gone.has(no)) continue
        const removed = tables.upkeep.prune(no, now)
        entries += removed.entries
        bytes += removed.bytes
      }
    })
  }
  let count = 0
  for (const id of [...blobs.ids()]) {
    const storedAt = blobs.storedAt(id)
    if (reachable.has(id) || storedAt === null || storedAt >= options.before) continue
    count++
    bytes += blobs.sizeOf(id)
    if (!options.dryRun) blobs.remove(id)
  }
  return { plans: numbers.length, entries, blobs: count, bytes }
}

/** Every blob that a kept entry names, directly or through a manifest. */
function reach(tables: Tables, blobs: PruneBlobs, gone: ReadonlySet<number>): ReadonlySet<Sha256> {
  const found = new Set<Sha256>()
  const name = (text: string) => {
    for (const [word] of text.matchAll(WORD))
      if (!found.has(word as Sha256) && blobs.has(word as Sha256)) found.add(word as Sha256)
  }
  for (const no of tables.upkeep.plans()) {
    const plan = tables.journal.planOf(no)
    if (plan === null || gone.has(no)) continue
    for (let after = 0; ; ) {
      const page = tables.journal.entries(no, after, Number.MAX_SAFE_INTEGER, PAGE)
      if (page.length === 0) break
      for (const entry of page) {
        after = entry.version
        if (entry.body !== null) name(entry.body)
        if (entry.blob !== null) {
          found.add(entry.blob)
          name(JSON.stringify(readEntry(plan.id, entry, blobs).events))
        }
      }
    }
  }
  // Grows while it is walked: a blob that is a manifest names others.
  for (const id of found) {
    const bytes = blobs.getNow(id)
    if (bytes !== null && (bytes[0] === 0x7b || bytes[0] === 0x5b)) name(Buffer.from(bytes).toString('latin1'))
  }
  return found
}
