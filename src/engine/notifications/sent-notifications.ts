// Which notices of a plan have been sent, according to its journal, and which entries may contain unsent ones. Found once by reading
// backwards from the end, no further than necessary, and then followed.

import type { Turn } from '../../domain/command.ts'
import type { Millis } from '../../domain/id.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { inboxOf } from '../../domain/views/inbox.ts'
import type { Entry, Store } from '../../stores/store.ts'

export type SentNotice = NonNullable<Turn['notices']>[number]

const PAGE = 200

export class SentNotices {
  /** Read up to here; -1 before the first time. */
  version = -1
  readonly digests = new Map<string, Millis>()
  readonly #keys = new Set<string>()
  readonly #written = new Set<string>()

  has({ id, to }: Pick<SentNotice, 'id' | 'to'>): boolean {
    return this.#keys.has(`${id} ${to}`)
  }

  isWritten({ id, to }: Pick<SentNotice, 'id' | 'to'>): boolean {
    return this.#written.has(`${id} ${to}`)
  }

  add({ id, to }: Pick<SentNotice, 'id' | 'to'>): void {
    this.#keys.add(`${id} ${to}`)
  }

  /** New entries; the first time, all entries that may contain something unsent. */
  async readUpTo(store: Store, state: PlanState): Promise<readonly Entry[]> {
    const entries = this.version < 0 ? await this.#backwards(store, state) : await this.#forwards(store, state)
    this.version = Math.max(this.version, state.version)
    return entries
  }

  async #forwards(store: Store, { id, version }: PlanState): Promise<readonly Entry[]> {
    const entries: Entry[] = []
    for (let after = this.version; after < version; ) {
      const page = await store.read(id, { after, limit: Math.min(PAGE, version - after) })
      for (const entry of page) this.#note(entry)
      entries.push(...page)
      const last = page.at(-1)
      if (last === undefined) break
      after = last.version
    }
    return entries
  }

  /** Reads back to an entry before the oldest open question and with a sent notice of an event: everything before it was sent. */
  async #backwards(store: Store, state: PlanState): Promise<readonly Entry[]> {
    // The time of the last digest matters no longer than the longest interval.
    const everyMs = Math.max(0, ...(state.definition.notify ?? []).map(({ everyMs = 0 }) => everyMs))
    const waitsSince = Math.min(state.updatedAt - everyMs, ...inboxOf(state).map(({ since }) => since))
    const found: Entry[] = []
    /** The entry of the last sent notice, or of the revision that first wanted notices. */
    let floor: number | null = null
    let revised: number | null = null
    for (let after = state.version; after > 0; ) {
      const from = Math.max(0, after - PAGE)
      const page = await store.read(state.id, { after: from, limit: after - from })
      for (const entry of page.toReversed()) {
        this.#note(entry)
        for (const event of entry.events) {
          if (event.type === 'notice.sent' && event.kind !== 'waiting' && event.kind !== 'digest')
            floor ??= entryOf(event.id) ?? entry.version
          if (event.type !== 'plan.revised' && event.type !== 'plan.created') continue
          if (event.definition.notify === undefined) floor ??= revised ?? entry.version
          revised = entry.version
        }
        const isOld = entry.now < waitsSince
        if (floor !== null && isOld && entry.version < floor) return found.reverse()
        // Events before the floor were sent; questions asked there may still be open.
        found.push(floor === null || entry.version >= floor ? entry : { ...entry, events: waitingOnly(entry) })
      }
      after = from
    }
    return found.reverse()
  }

  #note({ events, now }: Entry): void {
    for (const event of events) {
      if (event.type !== 'notice.sent') continue
      this.add(event)
      this.#written.add(`${event.id} ${event.to}`)
      if (event.kind === 'digest') this.digests.set(event.to, Math.max(this.digests.get(event.to) ?? 0, now))
    }
  }
}

/** Ids of notices contain the index of the event in its entry, so skipped events are replaced, not removed. */
function waitingOnly({ events }: Entry): Entry['events'] {
  return events.map(event => (HAPPENED.has(event.type) ? { type: 'note.added', text: '' } : event))
}

const HAPPENED: ReadonlySet<string> = new Set(['task.escalated', 'gate.decided', 'plan.finished'])

/** The version of the entry that a notice is about; null for a digest. */
export function entryOf(id: string): number | null {
  const version = Number.parseInt(id, 10)
  return Number.isNaN(version) ? null : version
}
