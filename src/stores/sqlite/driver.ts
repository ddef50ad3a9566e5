// The adapter of the SQLite driver: the only file that imports it. Prepared statements are cached by their text.

import { DatabaseSync, type StatementSyncInstance } from '@photostructure/sqlite'
import type { Row, Sql, Value } from '../sql/sql.ts'

export type { Row, Value } from '../sql/sql.ts'

export type Statement = Omit<StatementSyncInstance, 'get' | 'all' | 'run'> & {
  get(...values: readonly Value[]): Row | undefined
  all(...values: readonly Value[]): Row[]
  run(...values: readonly Value[]): { changes: number; lastInsertRowid: number | bigint }
}

export interface ListStatement {
  get(...values: readonly Value[]): readonly Value[] | undefined
  all(...values: readonly Value[]): (readonly Value[])[]
}

export class Connection implements Sql {
  readonly #database: InstanceType<typeof DatabaseSync>
  readonly #prepared = new Map<string, Statement>()
  readonly #lists = new Map<string, ListStatement>()

  constructor(path: string, options: { readonly readOnly: boolean; readonly busyMs: number }) {
    this.#database = new DatabaseSync(path, { readOnly: options.readOnly, timeout: options.busyMs, defensive: true })
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction
  }

  prepare(sql: string): Statement {
    let statement = this.#prepared.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql) as Statement
      this.#prepared.set(sql, statement)
    }
    return statement
  }

  /** Rows as lists, which are faster. */
  prepareLists(sql: string): ListStatement {
    let statement = this.#lists.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql, { returnArrays: true }) as unknown as ListStatement
      this.#lists.set(sql, statement)
    }
    return statement
  }

  matching(words: readonly string[], kind: 'plan' | 'task' | 'log'): string {
    const all = words.map(word => `"${word}"*`).join(' AND ')
    return kind === 'log' ? all : `{${kind}} : (${all})`
  }

  exec(sql: string): void {
    this.#database.exec(sql)
  }

  /** Cached statements for write transactions. */
  begin(): void {
    this.prepare('BEGIN IMMEDIATE').run()
  }

  commit(): void {
    this.prepare('COMMIT').run()
  }

  pragma(text: string): Value | undefined {
    const row = this.#database.prepare(`PRAGMA ${text}`).get() as Row | undefined
    return row === undefined ? undefined : Object.values(row)[0]
  }

  close(): void {
    this.#prepared.clear()
    this.#lists.clear()
    if (this.#database.isOpen) this.#database.close()
  }
}

/** The primary result code of an SQLite error, e.g. 5 for BUSY; null for any other error. */
export function sqliteCode(error: unknown): number | null {
  const code = (error as { readonly errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code & 0xff : null
}

export const SQLITE_BUSY = 5
export const SQLITE_READONLY = 8
export const SQLITE_CORRUPT = 11
export const SQLITE_FULL = 13
export const SQLITE_CANTOPEN = 14
export const SQLITE_CONSTRAINT = 19
export const SQLITE_NOTADB = 26
