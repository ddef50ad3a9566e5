// The entries this process committed last, as they were written. Whoever follows the journal need not read back from the store what
// was written here a moment ago. They are kept as text, so that nothing in them moves on with a state, and only while somebody follows.

import type { PlanId } from '../domain/id.ts'
import type { StoredEntry } from './entry.ts'
import type { Position } from './store.ts'

const KEPT_MAX = 1_000
const CHARS_MAX = 4_000_000

export interface RecentEntry {
  readonly plan: PlanId
  readonly entry: StoredEntry
}

export class Recent {
  #followers = 0
  /** Written, and not committed yet. */
  #pending: RecentEntry[] = []
  /** One position after the other: where somebody else has written in between, they begin anew. */
  #entries: RecentEntry[] = []
  #chars = 0

  /** Entries are kept until what is returned is called. */
  follow(): () => void {
    this.#followers++
    return () => {
      this.#followers--
      if (this.#followers === 0) this.forget()
    }
  }

  get isFollowed(): boolean {
    return this.#followers > 0
  }

  /** Written inside a transaction; nobody sees it before `committed`. */
  wrote(plan: PlanId, entry: StoredEntry): void {
    this.#pending.push({ plan, entry })
  }

  committed(): void {
    if (this.#pending.length === 0) return
    for (const one of this.#pending) this.#keep(one)
    this.#pending = []
  }

  rolledBack(): void {
    if (this.#pending.length > 0) this.#pending = []
  }

  forget(): void {
    this.#entries = []
    this.#chars = 0
  }

  /**
   * What we wrote right behind a position: nothing when we have not written there yet. Null when the next entry is not at hand, so that
   * only the store can tell. What others write is never here.
   */
  since(after: Position, limit: number): readonly RecentEntry[] | null {
    const [first] = this.#entries
    if (first === undefined || after + 1 < first.entry.position) return null
    const from = after + 1 - first.entry.position
    return this.#entries.slice(from, from + limit)
  }

  #keep(one: RecentEntry): void {
    const last = this.#entries.at(-1)
    if (last !== undefined && last.entry.position + 1 !== one.entry.position) this.forget()
    this.#entries.push(one)
    this.#chars += one.entry.body?.length ?? 0
    // Half of them at once: taking away the first of many again and again would cost more.
    while (this.#entries.length > KEPT_MAX || this.#chars > CHARS_MAX)
      for (const { entry } of this.#entries.splice(0, Math.ceil(this.#entries.length / 2)))
        this.#chars -= entry.body?.length ?? 0
  }
}
