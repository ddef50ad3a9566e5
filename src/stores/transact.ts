// A group of requests in one transaction: those that fail before they wrote anything fail alone, a failure after that fails
// the whole group. Shared by the stores; each brings its own begin, commit and rollback.

import type { States } from './states.ts'
import type { Tables } from './tables.ts'

export interface Request {
  readonly work: (tables: Tables) => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

/** Answers to give once the commit is durable, and not before (law L6). */
export type Answers = (() => void)[]

/** Runs the requests in order. Throws when the transaction must be rolled back. */
export function runGroup(tables: Tables, requests: readonly Request[]): Answers {
  return requests.map(({ work, resolve, reject }) => {
    const before = tables.writes
    try {
      const value = work(tables)
      return () => resolve(value as never)
    } catch (error) {
      if (tables.writes !== before) throw error
      return () => reject(error)
    }
  })
}

export function rejectAll(requests: readonly Request[], states: States, error: unknown): void {
  states.rolledBack()
  for (const { reject } of requests) reject(error)
}
