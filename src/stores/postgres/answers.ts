// Rules read synchronously. What they need from PostgreSQL and is not here yet stops them: it is loaded, and the rule runs again from its
// start. A rule writes nothing but what is recorded, so running it again is safe.

import { Missing } from '../tables.ts'
import type { Query } from './connection.ts'

const AT_ONCE = 2_000

interface Stretch<T> {
  readonly from: number
  readonly items: readonly T[]
  readonly isAll: boolean
}

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

  put(key: string, value: unknown): void {
    this.#known.set(key, value)
  }

  /** A page of a list: more than a page is loaded at once, and the next pages are cut from it. */
  stretch<T>(
    key: string,
    { after, limit, atOnce = AT_ONCE }: { readonly after: number; readonly limit: number; readonly atOnce?: number },
    place: (item: T) => number,
    load: (query: Query, after: number, count: number) => Promise<readonly T[]>,
  ): readonly T[] {
    const known = (this.#known.get(key) ?? []) as readonly Stretch<T>[]
    for (const { from, items, isAll } of known) {
      if (from > after) continue
      const rest = items.filter(item => place(item) > after)
      if (isAll || rest.length >= limit) return rest.slice(0, limit)
    }
    throw new MissingRow(key, async query => {
      const count = Math.max(limit, atOnce)
      const items = await load(query, after, count)
      const isAll = items.length < count
      return [...known, { from: after, items, isAll }]
    })
  }

  async fill({ key, load }: MissingRow, query: Query): Promise<void> {
    this.#known.set(key, await load(query))
  }

  clear(): void {
    this.#known.clear()
  }
}
