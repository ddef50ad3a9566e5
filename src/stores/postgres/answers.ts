// Rules read synchronously. What they need from PostgreSQL and is not here yet stops them: it is loaded, and the rule runs again from its
// start. A rule writes nothing but what is recorded, so running it again is safe.

import { Missing, MissingAll } from '../tables.ts'
import type { Query, Row } from './connection/connection.ts'

const AT_ONCE = 2_000

interface Stretch<T> {
  readonly from: number
  readonly items: readonly T[]
  readonly isAll: boolean
}

type Load = (query: Query) => Promise<unknown>

export type Asked = number | string

/** A question about one number or name, which can be asked about many at once. */
export interface Bulk {
  readonly text: string
  readonly value: Asked
  /** An answer for each of the values. */
  readonly load: (query: Query, values: readonly Asked[]) => Promise<ReadonlyMap<Asked, unknown>>
}

export class MissingRow extends Missing {
  readonly load: Load
  readonly bulk: Bulk | undefined
  constructor(key: string, load: Load, bulk?: Bulk) {
    super(key)
    this.load = load
    this.bulk = bulk
  }
}

/** More rounds mean that a rule reads in a loop. */
export const ROUNDS_MAX = 8

export class Answers {
  readonly #known = new Map<string, unknown>()

  ask<T>(key: string, load: (query: Query) => Promise<T>, bulk?: Bulk): T {
    if (!this.#known.has(key)) throw new MissingRow(key, load, bulk)
    return this.#known.get(key) as T
  }

  /** The rows of a question, which is its own key. */
  rows<T>(of: (row: Row) => T, text: string, ...values: readonly unknown[]): readonly T[] {
    return this.ask(JSON.stringify([text, values]), async query => (await query(text, values)).map(of))
  }

  first<T>(of: (row: Row) => T, text: string, ...values: readonly unknown[]): T | null {
    return this.rows(of, text, ...values)[0] ?? null
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
      // To the end of a long list in few rounds.
      const count = Math.max(limit, atOnce * 4 ** known.length)
      const items = await load(query, after, count)
      const isAll = items.length < count
      return [...known, { from: after, items, isAll }]
    })
  }

  async fill(missing: Missing, query: Query): Promise<void> {
    const all = missing instanceof MissingAll ? flat(missing) : [missing]
    const alike = new Map<string, Map<string, MissingRow>>()
    for (const one of all as readonly MissingRow[]) {
      const what = one.bulk?.text ?? one.key
      alike.set(what, (alike.get(what) ?? new Map<string, MissingRow>()).set(one.key, one))
    }
    for (const group of alike.values()) {
      const rows = [...group.values()]
      const bulk = rows.length > 1 ? rows[0]!.bulk : undefined
      const values = rows.flatMap(one => one.bulk?.value ?? [])
      const found = await bulk?.load(query, values)
      for (const { key, load, bulk: its } of rows)
        this.#known.set(key, found === undefined ? await load(query) : found.get(its!.value))
    }
  }

  clear(): void {
    this.#known.clear()
  }
}

const flat = ({ all }: MissingAll): readonly Missing[] =>
  all.flatMap(one => (one instanceof MissingAll ? flat(one) : [one]))
