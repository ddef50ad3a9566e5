// Rules read synchronously. What they need from PostgreSQL and is not here yet stops them: it is loaded, and the rule runs again from its
// start. A rule writes nothing but what is recorded, so running it again is safe.

import { Missing } from '../tables.ts'
import type { Query } from './connection.ts'

type Load = (query: Query) => Promise<unknown>

export class MissingRow extends Missing {
  readonly load: Load
  constructor(key: string, load: Load) {
    super(key)
    this.load = load
  }
}

/** More rounds mean that a rule reads in a loop. */
export const ROUNDS_MAX = 8

export class Answers {
  readonly #known = new Map<string, unknown>()

  ask<T>(key: string, load: (query: Query) => Promise<T>): T {
    if (!this.#known.has(key)) throw new MissingRow(key, load)
    return this.#known.get(key) as T
  }

  async fill({ key, load }: MissingRow, query: Query): Promise<void> {
    this.#known.set(key, await load(query))
  }

  clear(): void {
    this.#known.clear()
  }
}
