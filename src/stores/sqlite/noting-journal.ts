// The journal of the connection that writes: also remembers what it wrote for whoever follows in this process.

import type { PlanId } from '../../domain/id.ts'
import type { Recent } from '../recent.ts'
import type { Connection } from './driver.ts'
import { SqliteJournal } from './journal-table.ts'

const NAMES_MAX = 1_000

export class NotingJournal extends SqliteJournal {
  readonly #recent: Recent
  /** Of plans by their numbers, which are given once: only a plan that was undone leaves its number to another. */
  readonly #names = new Map<number, PlanId>()

  constructor(sql: Connection, wrote: () => void, recent: Recent) {
    super(sql, wrote)
    this.#recent = recent
  }

  override forget(): void {
    super.forget()
    this.#names.clear()
  }

  override addEntry(...written: Parameters<SqliteJournal['addEntry']>): void {
    super.addEntry(...written)
    if (!this.#recent.isFollowed) return
    const [no, entry] = written
    this.#recent.wrote(this.#nameOf(no), entry)
  }

  #nameOf(no: number): PlanId {
    const known = this.#names.get(no)
    if (known !== undefined) return known
    const { id } = this.planOf(no)!
    if (this.#names.size >= NAMES_MAX) this.#names.clear()
    this.#names.set(no, id)
    return id
  }
}
