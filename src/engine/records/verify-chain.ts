// Reads a journal and verifies its hash chain, page by page. A damaged journal is reported as a value, not thrown.

import type { PlanId, Sha256 } from '../../domain/id.ts'
import { ChainBroken, type Entry, type Store } from '../../stores/store.ts'
import type { Chain } from '../queries.ts'

const PAGE = 200

/** Passes every valid entry on, in order. */
export async function verifiedEntries(
  store: Pick<Store, 'read'>,
  plan: PlanId,
  take: (entry: Entry) => void,
): Promise<Pick<Chain, 'entries' | 'head' | 'fault'>> {
  let entries = 0
  let head = ''
  for (let limit = PAGE; ; ) {
    const page = await readPage(store, plan, { after: entries, limit, previous: head })
    if (page instanceof ChainBroken) {
      // Entries before it are valid, and passed on first.
      const sound = page.version - 1 - entries
      if (sound > 0 && sound < limit) {
        limit = sound
        continue
      }
      const { fault: kind, version, message } = page
      return { entries, head, fault: { kind, version, message } }
    }
    for (const entry of page) {
      take(entry)
      entries = entry.version
      head = entry.hash
    }
    if (page.length < limit) return { entries, head, fault: null }
  }
}

/** A page of the journal, or where its chain is broken. */
export async function readPage(
  store: Pick<Store, 'read'>,
  plan: PlanId,
  options: { readonly after: number; readonly limit: number; readonly previous: string },
): Promise<readonly Entry[] | ChainBroken> {
  try {
    return await store.read(plan, options)
  } catch (error) {
    if (error instanceof ChainBroken) return error
    throw error
  }
}

export async function chainOf(
  store: Pick<Store, 'read'>,
  { plan, name }: { readonly plan: PlanId; readonly name: string },
  versions: readonly number[],
): Promise<Chain> {
  const wanted = new Set(versions)
  const at: { [version: number]: Sha256 } = {}
  const chain = await verifiedEntries(store, plan, ({ version, hash }) => {
    if (wanted.has(version)) at[version] = hash
  })
  return { plan, name, ...chain, at }
}

/** The whole journal; throws if the chain is broken, for callers that need all of it. */
export async function wholeJournal(store: Pick<Store, 'read'>, plan: PlanId): Promise<readonly Entry[]> {
  const all: Entry[] = []
  for (let previous = ''; ; ) {
    const page = await store.read(plan, { after: all.length, limit: PAGE, previous })
    all.push(...page)
    previous = page.at(-1)?.hash ?? previous
    if (page.length < PAGE) return all
  }
}
