// The request of a `db` task: a read-only query, statements that change data in one transaction, or migrations, each applied once. The plan
// stores it as it was written (`spec`); plans of earlier releases may hold anything there.

import { isMap, type Json } from '../json.ts'
import { wellKnown } from '../plan-rules/known-commands.ts'
import { type ActionFacts, type AnyAction, PLAIN_OUTCOMES, type SpecAction } from './action-facts.ts'

export type DbRequest = { readonly file: string; readonly rows: number } & (
  | { readonly do: 'query'; readonly statement: DbStatement }
  | { readonly do: 'execute'; readonly statements: readonly DbStatement[]; readonly key: string | null }
  | { readonly do: 'migrate'; readonly files: readonly string[] }
)

export interface DbStatement {
  readonly sql: string
  readonly values: readonly DbValue[] | { readonly [name: string]: DbValue }
}

export type DbValue = null | boolean | number | string

export const DB_ROWS_DEFAULT = 1_000
export const DB_ROWS_MAX = 100_000

/** Null when this release does not understand the request. */
export function dbRequest(action: AnyAction): DbRequest | null {
  if (action.type !== 'db') return null
  const { spec } = action as SpecAction<'db'>
  if (!isMap(spec) || Object.keys(spec).some(key => !KEYS.has(key))) return null
  const { url, query, execute, migrate, values = [], rows = DB_ROWS_DEFAULT, key = null } = spec
  const file = typeof url === 'string' ? databaseFile(url) : null
  if (file === null || typeof rows !== 'number' || !(key === null || typeof key === 'string')) return null
  if ([query, execute, migrate].filter(said => said !== undefined).length !== 1) return null
  if (query !== undefined) {
    const statement = statementOf(query, values)
    return statement === null ? null : { do: 'query', file, rows, statement }
  }
  if (execute !== undefined) {
    const list = Array.isArray(execute) ? (execute as readonly Json[]) : [execute]
    const statements = list.map(one => (isMap(one) ? statementOf(one.sql, one.values ?? []) : statementOf(one, values)))
    return statements.length === 0 || statements.includes(null)
      ? null
      : { do: 'execute', file, rows, statements: statements as DbStatement[], key }
  }
  const files = Array.isArray(migrate) ? (migrate as readonly Json[]) : [migrate as Json]
  const isNamed = files.length > 0 && files.every(one => typeof one === 'string')
  return isNamed ? { do: 'migrate', file, rows, files: files as string[] } : null
}

const KEYS: ReadonlySet<string> = new Set(['url', 'query', 'execute', 'migrate', 'values', 'rows', 'key'])

export function databaseFile(url: string): string | null {
  const found = /^sqlite:(?!\/\/)(.+)$/.exec(url)
  return found === null || /^file:|[?#\0]/.test(found[1]!) ? null : found[1]!
}

function statementOf(sql: Json | undefined, values: Json): DbStatement | null {
  if (typeof sql !== 'string' || typeof values !== 'object' || values === null) return null
  const isPlain = Object.values(values).every(value => value === null || typeof value !== 'object')
  return isPlain ? { sql, values: values as DbStatement['values'] } : null
}

/** A request that changes data needs a write scope, an approval and a compensation. */
export const changesData = (request: DbRequest): boolean => request.do !== 'query'

export function dbLines(request: DbRequest): readonly string[] {
  const head = `${request.do} ${request.file}`
  if (request.do === 'migrate') return [head, ...request.files]
  const statements = request.do === 'query' ? [request.statement] : request.statements
  return [
    head,
    ...statements.flatMap(({ sql, values }) => [
      ...sql.split('\n'),
      ...(Object.keys(values).length === 0 ? [] : [`values: ${JSON.stringify(values)}`]),
    ]),
  ]
}

export const DB: ActionFacts<SpecAction<'db'>> = {
  effect: ({ action }) => {
    const request = dbRequest(action)
    if (request?.do === 'query') return 'pure'
    // Each migration, and the key of each change, is recorded in the database in the same transaction.
    return request?.do === 'migrate' || (request?.key ?? null) !== null ? 'idempotent' : 'unsafe'
  },
  acts: true,
  writes: true,
  files: ({ action }) => {
    const request = dbRequest(action)
    return request !== null && changesData(request) ? [request.file] : null
  },
  fileWords: { does: 'changes', key: 'db' },
  dangers: ({ action }) => {
    const request = dbRequest(action)
    if (request === null || request.do === 'query') return []
    const known = wellKnown(wordsOf(action.spec))
    return [request.do === 'migrate' ? 'migrate' : (known[0] ?? 'data')]
  },
  isSupported: action => dbRequest(action) !== null,
  fields: { spec: 'values' },
  outputs: () => ['rows', 'changes', 'applied', 'repeated'],
  answers: ['rows', 'changes'],
  outcomes: () => PLAIN_OUTCOMES,
  agreed: ({ action }) => ({ type: 'request', to: 'db', lines: linesOf(action) }),
  asks: 'asks this of the database',
  named: action => {
    const request = dbRequest(action)
    return request?.do === 'migrate' ? request.files : []
  },
  line: ({ action }) => `db: ${JSON.stringify(action.spec)}`,
  shown: action => (dbRequest(action) === null ? null : { head: 'Database', lines: linesOf(action) }),
}

function linesOf(action: AnyAction): readonly string[] {
  const request = dbRequest(action)
  return request === null ? [] : dbLines(request)
}

const wordsOf = (spec: Json): string =>
  JSON.stringify(spec)
    .replace(/["{}[\],:]+/g, ' ')
    .trim()
