// What of a plan has been told, as its journal says it; and the entries in which something may stand that has not. Found once by
// reading backwards from the end, no further than needed, and then followed.

import type { Turn } from '../../domain/command.ts'
import type { Millis } from '../../domain/id.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { inboxOf } from '../../domain/views/inbox.ts'
import type { Entry, Store } from '../../stores/store.ts'

export type Told = NonNullable<Turn['notices']>[number]

const PAGE = 200

export class ToldAlready {
  /** Read up to here; -1 before anything was. */
  version = -1
  readonly digests = new Map<string, Millis>()
  readonly #keys = new Set<string>()
  readonly #written = new Set<string>()

  has({ id, to }: Pick<Told, 'id' | 'to'>): boolean {
    return this.#keys.has(`${id} ${to}`)
  }

  isWritten({ id, to }: Pick<Told, 'id' | 'to'>): boolean {
    return this.#written.has(`${id} ${to}`)
  }

  add({ id, to }: Pick<Told, 'id' | 'to'>): void {
    this.#keys.add(`${id} ${to}`)
  }

  /** The entries that have come, or, the first time, those in which something untold may stand. */
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

  /** Until what waits longest had not begun to wait, and a notice of something that happened stands: before it all was told. */
  async #backwards(store: Store, state: PlanState): Promise<readonly Entry[]> {
    // Nor does it matter when a digest was sent that is older than the longest time between two.
    const everyMs = Math.max(0, ...(state.definition.notify ?? []).map(({ everyMs = 0 }) => everyMs))
    const waitsSince = Math.min(state.updatedAt - everyMs, ...inboxOf(state).map(({ since }) => since))
    const found: Entry[] = []
    /** Of the last notice of something that happened, or of the revision that first wanted notices. */
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
        // What happened before the floor was told; what began to wait there may still wait.
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

/** The places of events in their entry are part of their ids, so none may move: what is passed over becomes something nobody tells. */
function waitingOnly({ events }: Entry): Entry['events'] {
  return events.map(event => (HAPPENED.has(event.type) ? { type: 'note.added', text: '' } : event))
}

const HAPPENED: ReadonlySet<string> = new Set(['task.escalated', 'gate.decided', 'plan.finished'])

/** The entry a notice tells of; null for a digest. */
export function entryOf(id: string): number | null {
  const version = Number.parseInt(id, 10)
  return Number.isNaN(version) ? null : version
}
