// Who wants to know that something was committed, and the live tail made of it. Listeners are called after the commit, never
// inside it. Commits of other processes are noticed by `poll`, which runs only while somebody listens.

import type { PlanId } from '../domain/id.ts'
import { type BodyBlobs, readEntry } from './entry.ts'
import type { Entry, Position } from './store.ts'
import type { Transactions } from './tables.ts'

const POLL_MS = 100
const PAGE = 200

type Listener = (origin: 'here' | 'elsewhere') => void

/** How a call is put off, and how a look is taken again and again. A simulation brings its own. */
export interface Turns {
  readonly later?: (turn: () => void) => void
  readonly every?: (ms: number, look: () => void) => () => void
}

export class Changes {
  readonly #listeners = new Set<Listener>()
  readonly #poll: (() => boolean) | null
  readonly #turns: Turns
  #stopPolling: (() => void) | null = null
  #announced = false

  /** `poll` says whether another process committed since it was last asked. */
  constructor(poll: (() => boolean) | null, turns: Turns = {}) {
    this.#poll = poll
    this.#turns = turns
  }

  listen(listener: Listener): () => void {
    // A wrapper of its own, so that the same function may listen twice.
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

  /** Soon, once, however many commits come before it. */
  announce(): void {
    if (this.#announced || this.#listeners.size === 0) return
    this.#announced = true
    const later = this.#turns.later ?? setImmediate
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
}

/**
 * Everything behind `after`, then live. It listens before it reads, so a commit between the two is never missed; it reads by
 * position, so none is seen twice.
 */
export async function* watchEntries(
  room: Watching,
  options: { after: Position; plan?: PlanId; signal: AbortSignal },
): AsyncGenerator<Entry> {
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
