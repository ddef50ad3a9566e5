// Who wants to know that something was committed, and the live tail made of it. Listeners are called after the commit, never
// inside it. Commits of other processes are noticed by `poll`, which runs only while somebody listens.

import type { PlanId } from '../domain/id.ts'
import { type BodyBlobs, readEntry } from './entry.ts'
import type { Entry, Position } from './store.ts'
import type { Transactions } from './tables.ts'

const POLL_MS = 100
const PAGE = 200

type Listener = (origin: 'here' | 'elsewhere') => void

export class Changes {
  readonly #listeners = new Set<Listener>()
  readonly #poll: (() => boolean) | null
  #timer: NodeJS.Timeout | null = null
  #announced = false

  /** `poll` says whether another process committed since it was last asked. */
  constructor(poll: (() => boolean) | null) {
    this.#poll = poll
  }

  listen(listener: Listener): () => void {
    // A wrapper of its own, so that the same function may listen twice.
    const call: Listener = origin => listener(origin)
    this.#listeners.add(call)
    if (this.#timer === null && this.#poll !== null) {
      const poll = this.#poll
      poll()
      this.#timer = setInterval(() => poll() && this.#call('elsewhere'), POLL_MS)
      this.#timer.unref()
    }
    return () => {
      this.#listeners.delete(call)
      if (this.#listeners.size === 0) this.close()
    }
  }

  /** Soon, once, however many commits come before it. */
  announce(): void {
    if (this.#announced || this.#listeners.size === 0) return
    this.#announced = true
    setImmediate(() => {
      this.#announced = false
      this.#call('here')
    })
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  #call(origin: 'here' | 'elsewhere'): void {
    for (const listener of [...this.#listeners]) listener(origin)
  }
}

interface Watching {
  readonly transactions: Transactions
  readonly changes: Changes
  readonly blobs: BodyBlobs
}

/**
 * Everything behind `after`, then live. It listens before it reads, so a commit between the two is never missed; it reads by
 * position, so none is seen twice.
 */
export async function* watchEntries(room: Watching, options: { after: Position; plan?: PlanId; signal: AbortSignal }): AsyncGenerator<Entry> {
  const { plan, signal } = options
  let after = options.after
  let wake = () => {}
  let moved = true
  const rouse = () => {
    moved = true
    wake()
  }
  const stopListening = room.changes.listen(rouse)
  signal.addEventListener('abort', rouse)
  try {
    while (!signal.aborted) {
      moved = false
      for (let page = read(room, after, plan); page.length > 0; page = read(room, after, plan)) {
        for (const entry of page) {
          if (signal.aborted) return
          after = entry.position
          yield entry
        }
      }
      if (!moved && !signal.aborted) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    }
  } finally {
    stopListening()
    signal.removeEventListener('abort', rouse)
  }
}

function read({ transactions, blobs }: Watching, after: Position, plan: PlanId | undefined): readonly Entry[] {
  return transactions.read(tables => {
    const no = plan === undefined ? null : tables.journal.planNo(plan)
    if (plan !== undefined && no === null) return []
    return tables.journal.since(after, PAGE, no).map(stored => readEntry(stored.plan, stored, blobs))
  })
}
