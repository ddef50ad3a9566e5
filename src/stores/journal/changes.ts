// Notifications about commits: listeners, the live tail, and recent entries.

import type { PlanId } from '../../domain/id.ts'
import { firstAfter } from '../first-after.ts'
import type { Entry, Position } from '../store.ts'
import type { Tables, Transactions } from '../tables.ts'
import { type BodyBlobs, isBodyElsewhere, readEntry, type StoredEntry } from './entry.ts'
import { EntryVerifier, type VerifiedEntries } from './verified-entries.ts'

// The entries that this process committed last, so that followers need not read them back from the store. Kept as text, so that they cannot
// change with a state, and only while someone follows.

const KEPT_MAX = 1_000
const CHARS_MAX = 4_000_000

interface RecentEntry {
  readonly plan: PlanId
  readonly entry: StoredEntry
  /** The last position of the store before it. */
  readonly before: Position
}

const positionOf = ({ entry }: RecentEntry): Position => entry.position

export class Recent {
  #followers = 0
  #pending: RecentEntry[] = []
  /** One directly behind another: cleared by a write of another process. */
  #entries: RecentEntry[] = []
  #chars = 0

  /** Keeps entries until the returned function is called. */
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

  /** Called inside a transaction; visible after `committed`. */
  wrote(plan: PlanId, entry: StoredEntry, before: Position): void {
    this.#pending.push({ plan, entry, before })
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

  /** The entries of this process directly after a position. Null: not in memory, so read the store. */
  since(after: Position, limit: number): readonly RecentEntry[] | null {
    const [first] = this.#entries
    if (first === undefined || after < first.before) return null
    const from = firstAfter(this.#entries, after, positionOf)
    return this.#entries.slice(from, from + limit)
  }

  #keep(one: RecentEntry): void {
    const last = this.#entries.at(-1)
    if (last !== undefined && last.entry.position !== one.before) this.forget()
    this.#entries.push(one)
    this.#chars += one.entry.body?.length ?? 0
    // Half of them together, because repeated shifting costs more.
    while (this.#entries.length > KEPT_MAX || this.#chars > CHARS_MAX)
      for (const { entry } of this.#entries.splice(0, Math.ceil(this.#entries.length / 2)))
        this.#chars -= entry.body?.length ?? 0
  }
}

// Listeners for commits, and the live tail on top. Listeners are called after the commit, never inside it. Commits of other processes are
// noticed by `poll`, which runs only while there are listeners.

const POLL_MS = 100
const HOLD_MS = 2 ** 30
const PAGE = 200

type Listener = (origin: 'here' | 'elsewhere') => void

/** How a call is deferred and a poll repeated. A simulation brings its own. */
interface Turns {
  readonly later?: (turn: () => void) => void
  readonly every?: (ms: number, look: () => void) => () => void
}

export class Changes {
  readonly #listeners = new Set<Listener>()
  readonly #poll: (() => boolean) | null
  readonly #turns: Turns
  #stopPolling: (() => void) | null = null
  #announced = false

  /** `poll` returns whether another process committed since the last call. */
  constructor(poll: (() => boolean) | null, turns: Turns = {}) {
    this.#poll = poll
    this.#turns = turns
  }

  listen(listener: Listener): () => void {
    // A wrapper, so that the same function can be registered twice.
    const call: Listener = origin => listener(origin)
    this.#listeners.add(call)
    if (this.#stopPolling === null && this.#poll !== null) {
      const poll = this.#poll
      poll()
      this.#stopPolling = (this.#turns.every ?? every)(POLL_MS, () => {
        if (poll()) this.#call('elsewhere')
      })
    }
    return () => {
      this.#listeners.delete(call)
      if (this.#listeners.size === 0) this.close()
    }
  }

  announce(): void {
    if (this.#announced || this.#listeners.size === 0) return
    this.#announced = true
    const later = this.#turns.later ?? queueMicrotask
    later(() => {
      this.#announced = false
      this.#call('here')
    })
  }

  close(): void {
    this.#stopPolling?.()
    this.#stopPolling = null
  }

  #call(origin: 'here' | 'elsewhere'): void {
    for (const listener of [...this.#listeners]) listener(origin)
  }
}

function every(ms: number, look: () => void): () => void {
  const timer = setInterval(look, ms)
  timer.unref()
  return () => clearInterval(timer)
}

interface Watching {
  readonly transactions: Transactions
  readonly changes: Changes
  readonly blobs: BodyBlobs
  readonly recent?: Recent | undefined
}

/**
 * Everything after `after`, then live. It subscribes before it reads, so no commit is missed; it reads by position, so none is seen
 * twice. After catching up, entries of this process come from memory; the store is read for those of others.
 */
export async function* watchEntries(
  room: Watching,
  options: { after: Position; plan?: PlanId; signal: AbortSignal; verify?: false },
): AsyncGenerator<Entry> {
  const { plan, signal } = options
  const recent = plan === undefined ? room.recent : undefined
  let after = options.after
  let wake = () => {}
  let moved = true
  // False once the store was read to its end, until another process commits: only meanwhile can memory be used.
  let isElsewhere = true
  // That end. Earlier gaps are pruned entries, even if they are still in memory.
  let end: Position = 0
  const rouse = () => {
    moved = true
    wake()
  }
  const verifier = options.verify === false ? null : new EntryVerifier()
  const next = async (): Promise<VerifiedEntries> => {
    after = Math.max(after, end)
    const ours = isElsewhere ? null : (recent?.since(after, PAGE) ?? null)
    if (ours !== null) return { entries: ours.map(one => readEntry(one.plan, one.entry, room.blobs)), fault: null }
    return await room.transactions.read(tables => {
      const page = read(tables, room.blobs, { after, plan, verifier })
      if (page.entries.length === PAGE || page.fault !== null || recent === undefined) return page
      isElsewhere = false
      end = tables.journal.lastPosition()
      return page
    })
  }
  const stopListening = room.changes.listen(origin => {
    if (origin === 'elsewhere') isElsewhere = true
    rouse()
  })
  const stopFollowing = recent?.follow()
  signal.addEventListener('abort', rouse)
  // Keeps the process alive while it waits.
  const hold = setInterval(() => {}, HOLD_MS)
  try {
    while (!signal.aborted) {
      moved = false
      for (let page = await next(); ; page = await next()) {
        for (const entry of page.entries) {
          if (signal.aborted) return
          after = entry.position
          yield entry
        }
        if (page.fault !== null) throw page.fault
        const isEnd = page.entries.length === 0 && (page.last ?? after) <= after
        after = Math.max(after, page.last ?? 0)
        if (isEnd) break
      }
      if (!moved && !signal.aborted) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    }
  } finally {
    clearInterval(hold)
    stopListening()
    stopFollowing?.()
    signal.removeEventListener('abort', rouse)
  }
}

interface Wanted {
  readonly after: Position
  readonly plan: PlanId | undefined
  readonly verifier: EntryVerifier | null
}

function read(tables: Tables, blobs: BodyBlobs, { after, plan, verifier }: Wanted): VerifiedEntries {
  const no = plan === undefined ? null : tables.journal.planNo(plan)
  if (plan !== undefined && no === null) return { entries: [], fault: null }
  const rows = tables.journal.since(after, PAGE, no)
  if (verifier !== null) return verifier.verify(tables, rows, blobs)
  const here = rows.filter(row => !isBodyElsewhere(row, blobs))
  return { entries: here.map(row => readEntry(row.plan, row, blobs)), fault: null, last: rows.at(-1)?.position }
}
