// Rows of the journal as entries, verified against the hash chain of their plan: a changed or missing row is reported as damage at its
// place, never returned as valid. The entry before a plan's first row is looked up once; then each row is verified by the previous one, so
// that following a journal costs one hash per entry.

import type { PlanId } from '../../domain/id.ts'
import { ChainBroken, type Entry, type Position } from '../store.ts'
import { eachLoaded, Missing, type Tables } from '../tables.ts'
import {
  type BodyBlobs,
  chainFault,
  GENESIS,
  isBodyElsewhere,
  type Link,
  readEntry,
  type StoredEntry,
  UnknownFormat,
} from './entry.ts'

export type PlanRow = StoredEntry & { readonly plan: PlanId }

export interface VerifiedEntries {
  readonly entries: readonly Entry[]
  readonly fault: ChainBroken | null
  /** The position of the last row, also when it is left out. */
  readonly last?: Position | undefined
}

type Before = ReadonlyMap<PlanId, (Link & { readonly version: number }) | null>

/** The cache size; for other plans the previous entry is looked up again. */
const PLANS_MAX = 1_000

export class EntryVerifier {
  readonly #last = new Map<PlanId, Link & { readonly version: number }>()

  /** `rows` may be of several plans; those of one plan are in order. */
  verify(tables: Tables, rows: readonly PlanRow[], blobs: BodyBlobs): VerifiedEntries {
    const entries: Entry[] = []
    const before = this.#lookUp(tables, rows)
    for (const row of rows) {
      try {
        this.#follow(before, row)
        // Of many plans, those whose contents are on another machine are left out.
        if (!isBodyElsewhere(row, blobs)) entries.push(entryOf(row, blobs))
      } catch (error) {
        if (error instanceof ChainBroken) return { entries, fault: error }
        throw error
      }
    }
    return { entries, fault: null, last: rows.at(-1)?.position }
  }

  /** What precedes the first row of each plan, unless it is known. */
  #lookUp(tables: Tables, rows: readonly PlanRow[]): Before {
    const first = new Map<PlanId, PlanRow>()
    for (const row of rows) if (!first.has(row.plan)) first.set(row.plan, row)
    const unknown = [...first.values()].filter(row => this.#known(row) === undefined)
    return new Map(
      eachLoaded(unknown, ({ plan, version }) => {
        const no = tables.journal.planNo(plan)
        return [plan, no === null ? null : tables.journal.entry(no, version - 1)]
      }),
    )
  }

  #follow(before: Before, row: PlanRow): void {
    const { plan, version, position, hash, format } = row
    const fault = chainFault(this.#previous(before, row), plan, row)
    if (fault !== null) throw new ChainBroken('tampered', version, position, fault)
    if (this.#last.size >= PLANS_MAX && !this.#last.has(plan)) this.#last.clear()
    this.#last.set(plan, { version, hash, format })
  }

  #known({ plan, version }: PlanRow): Link | undefined {
    if (version === 1) return GENESIS
    const last = this.#last.get(plan)
    return last?.version === version - 1 ? last : undefined
  }

  #previous(before: Before, row: PlanRow): Link {
    const { plan, version } = row
    const found = before.get(plan)
    const link = this.#known(row) ?? (found?.version === version - 1 ? found : undefined)
    if (link !== undefined) return link
    throw new ChainBroken('missing', version - 1, null, `entry ${version - 1} of plan ${plan} is missing`)
  }
}

export function entryOf(row: PlanRow, blobs: BodyBlobs): Entry {
  try {
    return readEntry(row.plan, row, blobs)
  } catch (error) {
    if (error instanceof Missing) throw error
    const isUnknown = error instanceof Error && error.cause instanceof UnknownFormat
    throw new ChainBroken(isUnknown ? 'unknown-format' : 'unreadable', row.version, row.position, error)
  }
}
