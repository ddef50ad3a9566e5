// Reads that come while others are under way are answered together after them, from one view of the database: each alone would wait for a
// commit of this process each time that it asks something.

import type { Request } from '../store-on-tables.ts'
import { Missing, MissingAll, type Tables } from '../tables.ts'
import { Answers, ROUNDS_MAX } from './answers.ts'
import { type Link, type Query, queryOn } from './connection/connection.ts'
import { Answered } from './connection/errors.ts'

export type Counted = ((rounds: number) => void) | undefined

interface Read extends Request {
  readonly counted: Counted
}

interface Options {
  readonly reader: Link
  readonly tablesOf: (answers: Answers) => Tables
  /** Resolves when no call of this process is under way; none begins before the next turn of the event loop. */
  readonly settled: () => Promise<void>
  readonly counted?: (() => (rounds: number) => void) | undefined
}

export class GroupedReads {
  readonly #options: Options
  #waiting: Read[] = []
  #reading: Promise<void> | null = null

  constructor(options: Options) {
    this.#options = options
  }

  read<T>(work: (tables: Tables) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject, counted: this.#options.counted?.() })
      this.#reading ??= this.#readGroups()
    })
  }

  async ended(): Promise<void> {
    while (this.#reading !== null) await this.#reading
  }

  async #readGroups(): Promise<void> {
    try {
      for (;;) {
        const open = new Set(this.#waiting)
        this.#waiting = []
        if (open.size === 0) return
        try {
          await this.#options.reader.patiently(async client => await this.#readOn(queryOn(client), open))
        } catch (error) {
          // If one of them asks what the database refuses, each is asked by itself.
          const isOnes = open.size > 1 && error instanceof Answered
          for (const one of open) await (isOnes ? this.#readAlone(one) : one.reject(error))
        }
      }
    } finally {
      this.#reading = null
    }
  }

  async #readAlone(one: Read): Promise<void> {
    try {
      await this.#options.reader.patiently(async client => await this.#readOn(queryOn(client), new Set([one])))
    } catch (error) {
      one.reject(error)
    }
  }

  /** What has been answered is removed from `open`. */
  async #readOn(query: Query, open: Set<Read>): Promise<void> {
    const answers = new Answers()
    const tables = this.#options.tablesOf(answers)
    let inTransaction = false
    try {
      for (let round = 0; ; round++) {
        // No call begins before the work is done.
        await this.#options.settled()
        const missing: Missing[] = []
        for (const one of open) {
          const lacks = attempt(one, tables, round)
          if (lacks === null) open.delete(one)
          else missing.push(lacks)
        }
        if (missing.length === 0) return
        // One question is a consistent view by itself; for more, all are asked again within one.
        if (!inTransaction && (missing.length > 1 || round > 0)) {
          await query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
          inTransaction = true
          answers.clear()
          if (round > 0) continue
        }
        await answers.fill(new MissingAll(missing), query)
      }
    } finally {
      if (inTransaction) await query('COMMIT').catch(() => {})
    }
  }
}

/** Null when it was answered. */
function attempt({ work, resolve, reject, counted }: Read, tables: Tables, round: number): Missing | null {
  try {
    const value = work(tables)
    counted?.(round)
    resolve(value as never)
  } catch (error) {
    if (error instanceof Missing && round < ROUNDS_MAX) return error
    reject(error instanceof Missing ? new Error(`bug: a rule reads in a loop: ${error.key}`) : error)
  }
  return null
}
