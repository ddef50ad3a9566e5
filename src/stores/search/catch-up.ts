// Catches search and steps up with the journal and the output, never as part of a step of a plan: on demand, and by the janitor, in batches
// of one transaction that includes the position. So a crash between batches loses and repeats nothing; concurrent processes take turns.

import type { PlanId } from '../../domain/id.ts'
import { limitOf, openCursor, pageOf } from '../cursor.ts'
import { type BodyBlobs, readEntry } from '../journal/entry.ts'
import {
  type Entry,
  type Page,
  type SearchHit,
  type SearchQuery,
  StoreBusy,
  StoreDamaged,
  StoreFull,
  StoreRefused,
} from '../store.ts'
import type { Tables, Transactions } from '../tables.ts'
import { PlanIndexing, type PlanSource } from './index-entry.ts'
import type { FoundText, IndexTable, Marks } from './search-tables.ts'
import { printed, snippetOf, wordsOf } from './words.ts'

// Search: plans first, then tasks, then output, each newest first. A cursor has the kind and the row, so that a page costs only what it
// shows.

const KINDS = ['plan', 'task', 'log'] as const
const EMPTY = { items: [], next: null }

export function search(tables: Tables, query: SearchQuery): Page<SearchHit> {
  const limit = limitOf(query.limit)
  const [first, key] = openCursor('hits', 2, query) ?? [0, Number.MAX_SAFE_INTEGER]
  const words = wordsOf(query.text)
  const no = query.plan === undefined ? null : tables.journal.planNo(query.plan)
  if (words.length === 0 || (query.plan !== undefined && no === null)) return EMPTY
  const where = { words, no, within: query.within ?? null, archived: query.archived === true }
  const rows: { readonly at: number; readonly kind: SearchHit['kind']; readonly found: FoundText }[] = []
  for (const [at, kind] of KINDS.entries()) {
    if (at < first! || query.kinds?.includes(kind) === false) continue
    const before = at === first ? key! : Number.MAX_SAFE_INTEGER
    for (const found of tables.index.find(kind, where, before, limit + 1 - rows.length)) rows.push({ at, kind, found })
    if (rows.length > limit) break
  }
  const show = ({ kind, found }: (typeof rows)[number]): SearchHit => {
    const { key: _, text, ...hit } = found
    return { kind, ...hit, ...snippetOf(kind === 'log' ? printed(text) : text, words) }
  }
  return pageOf('hits', query, rows, limit, show, ({ at, found }) => [at, found.key])
}

/** Small, because a batch delays other commits. */
const ENTRIES_MAX = 1_000
const ENTRY_BYTES_MAX = 2 * 1024 * 1024
const PAGE = 100
const LOG_BYTES_MAX = 512 * 1024
const LOG_PAGE = 4
/** For one task; later output is stored but not searchable. */
const LOG_OF_TASK_MAX_BYTES = 10 * 1024 * 1024

interface Room {
  readonly transactions: Transactions
  readonly blobs: BodyBlobs
}

export class CatchingUp {
  readonly #room: Room
  #last: Promise<unknown> = Promise.resolve()

  constructor(room: Room) {
    this.#room = room
  }

  /** Up to the last commit. False when this process cannot write. */
  run(): Promise<boolean> {
    // Serialised: what one run caught up, the next finds done.
    const run = this.#last.then(() => catchUp(this.#room))
    this.#last = run.catch(() => {})
    return run
  }
}

async function catchUp({ transactions, blobs }: Room): Promise<boolean> {
  const target = await transactions.read(ends)
  let marks = await transactions.read(tables => tables.index.marks())
  try {
    while (marks.position < target.position || marks.log < target.log)
      marks = await transactions.write(tables => batch(tables, blobs))
    return true
  } catch (error) {
    if (error instanceof StoreRefused || error instanceof StoreFull || error instanceof StoreBusy) return false
    throw error
  }
}

const ends = (tables: Tables): Marks => ({ position: tables.journal.lastPosition(), log: tables.index.lastLog() })

/** Positions are read under the lock, because another process may have been faster. */
function batch(tables: Tables, blobs: BodyBlobs): Marks {
  const before = tables.index.marks()
  const after = { position: indexEntries(tables, blobs, before.position), log: indexLogs(tables.index, before.log) }
  if (after.position !== before.position || after.log !== before.log) tables.index.mark(after)
  return after
}

function indexEntries(tables: Tables, blobs: BodyBlobs, from: number): number {
  const plans = new Map<PlanId, { readonly no: number; readonly indexing: PlanIndexing }>()
  let position = from
  let bytes = 0
  for (let count = 0; count < ENTRIES_MAX && bytes < ENTRY_BYTES_MAX; count += PAGE) {
    const page = tables.journal.since(position, PAGE, null)
    for (const stored of page) {
      position = stored.position
      bytes += stored.body?.length ?? LARGE
      let plan = plans.get(stored.plan)
      if (plan === undefined) {
        const no = tables.journal.planNo(stored.plan)!
        plan = { no, indexing: new PlanIndexing(sourceOf(tables.index, no)) }
        plans.set(stored.plan, plan)
      }
      plan.indexing.apply(eventsOf(stored.plan, stored, blobs), stored.at)
    }
    // Later positions may be those of pruned plans.
    if (page.length < PAGE) {
      position = Math.max(position, tables.journal.lastPosition())
      break
    }
  }
  for (const { no, indexing } of plans.values()) {
    const { docs, steps } = indexing.changes()
    for (const [task, doc] of docs) {
      if (doc === null) tables.index.dropDoc(no, task)
      else tables.index.putDoc(no, doc)
    }
    for (const step of steps) tables.index.putStep(no, step)
  }
  return position
}

/** The assumed size of a body in the content store. */
const LARGE = 512 * 1024

const sourceOf = (index: IndexTable, no: number): PlanSource => ({
  doc: task => index.doc(no, task),
  docs: () => index.docs(no),
  step: (task, visit, attempt) => index.step(no, task, visit, attempt),
})

/** An unreadable entry is skipped; `check` reports it. */
function eventsOf(plan: PlanId, stored: Parameters<typeof readEntry>[1], blobs: BodyBlobs): Entry['events'] {
  try {
    return readEntry(plan, stored, blobs).events
  } catch (error) {
    if (error instanceof StoreDamaged) return []
    throw error
  }
}

function indexLogs(index: IndexTable, from: number): number {
  let after = from
  let bytes = 0
  const used = new Map<string, number>()
  while (bytes < LOG_BYTES_MAX) {
    const page = index.unreadLogs(after, LOG_PAGE)
    if (page.length === 0) return Math.max(after, index.lastLog())
    for (const log of page) {
      after = log.seq
      const size = Buffer.byteLength(log.text)
      bytes += size
      const key = `${log.no} ${log.ordinal}`
      const before = used.get(key) ?? index.logBytes(log.no, log.ordinal)
      used.set(key, before)
      if (before >= LOG_OF_TASK_MAX_BYTES) continue
      used.set(key, before + size)
      index.addLog({ ...log, text: printed(log.text) }, before + size)
    }
  }
  return after
}
