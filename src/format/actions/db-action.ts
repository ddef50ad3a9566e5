// `db`: a query or change of a database. Stored as written; `domain/actions/db-action.ts` reads it.

import { z } from 'zod'
import { DB_ROWS_MAX, databaseFile } from '../../domain/actions/db-action.ts'
import { isMap } from '../../domain/json.ts'
import type { Action } from '../../domain/plan.ts'
import { asWritten, optional } from '../plan/codec.ts'
import * as value from '../plan/schema-values.ts'
import type { DocumentFault, Path } from '../text/diagnostic.ts'
import { type ActionFormat, isComputed, keyed, type Raw } from './action-format.ts'

type Db = Extract<Action, { readonly type: 'db' }>

const dbValue = z.union([z.string(), z.number(), z.boolean(), z.null()])
const values = z.union([z.array(dbValue), z.record(z.string(), dbValue)]).optional()

const db = z
  .strictObject({
    url: value.line.describe('sqlite:FILE, a file of the workspace.'),
    query: optional(value.line, 'One statement that only reads. Output: rows.'),
    execute: optional(
      z.union([value.line, z.array(z.union([value.line, z.strictObject({ sql: value.line, values })])).min(1)]),
      'Statements that change data, all or nothing. Output: changes.',
    ),
    migrate: optional(
      z.union([value.line, value.lines.min(1)]),
      'Files with SQL, each applied once, all or nothing. Output: applied.',
    ),
    values: values.describe('For the ? or :name in the statement.'),
    rows: optional(value.count(DB_ROWS_MAX), 'How many rows a query may give; 1000.'),
    key: optional(value.line, 'Of execute: auto. With one it is never applied twice.'),
  })
  .meta({
    description: 'Asks or changes a SQLite database. execute and migrate ask a person first.',
    examples: [{ url: 'sqlite:app.db', query: 'select count(*) as n from users where active = ?', values: [1] }],
  })

export const DB: ActionFormat<Db> = {
  ...keyed<Db>('db', { spec: ['db', asWritten(db)] }),
  undo: ['db'],
  rules,
}

function* rules(task: Raw, path: Path): Generator<DocumentFault> {
  const { db } = task
  if (!isMap(db)) return
  const at = (...keys: readonly string[]): Path => [...path, 'db', ...keys]
  if (typeof db.url === 'string' && !isComputed(db.url) && databaseFile(db.url) === null)
    yield { path: at('url'), message: `'${db.url.slice(0, 100)}' is not a database address`, hint: 'write sqlite:FILE' }
  if (typeof db.url === 'string' && isComputed(db.url))
    yield { path: at('url'), message: 'the file of a database is not computed', hint: 'write sqlite:FILE' }
  const present = ['query', 'execute', 'migrate'].filter(key => db[key] !== undefined)
  if (present.length !== 1)
    yield {
      path: present.length === 0 ? [...path, 'db'] : at(present[1]!),
      atKey: true,
      message:
        present.length === 0 ? "'db' says nothing to do" : `'${present[0]}' and '${present[1]}' are two things to do`,
      hint: 'write one of query, execute and migrate',
    }
  for (const [keys, text] of sqlIn(db))
    if (isComputed(text))
      yield {
        path: at(...keys.map(String)),
        message: 'a value is never put into a statement',
        hint: "write ? in the statement, and the value under 'values'",
        within: { text: '${{', offset: 0 },
      }
  if (db.values !== undefined && (db.migrate !== undefined || Array.isArray(db.execute)))
    yield {
      path: at('values'),
      atKey: true,
      message: "'values' belongs to one statement",
      hint: 'write it beside each: execute: [{ sql: …, values: […] }]',
    }
  if (db.key !== undefined && db.execute === undefined)
    yield { path: at('key'), atKey: true, message: "'key' is for execute", hint: 'leave it out' }
}

function* sqlIn(db: Raw): Generator<readonly [readonly (string | number)[], string]> {
  if (typeof db.query === 'string') yield [['query'], db.query]
  if (typeof db.execute === 'string') yield [['execute'], db.execute]
  for (const key of ['execute', 'migrate'])
    for (const [index, one] of (Array.isArray(db[key]) ? (db[key] as readonly unknown[]) : []).entries()) {
      if (typeof one === 'string') yield [[key, index], one]
      else if (isMap(one) && typeof one.sql === 'string') yield [[key, index, 'sql'], one.sql]
    }
}
