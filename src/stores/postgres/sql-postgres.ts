// The lists of stores/sql on PostgreSQL: the few words of SQLite in them are translated.

import { folded } from '../search/words.ts'
import type { Row, Sql, Value } from '../sql/sql.ts'
import type { Answers, Asked } from './answers.ts'
import type { Row as Found, Query } from './connection/connection.ts'

type Rows = readonly Found[]

const translated = new Map<string, string>()

function translate(text: string): string {
  let found = translated.get(text)
  if (found === undefined) {
    let parameters = 0
    // There the index has a column of its own.
    const status = /INDEXED BY tasks_(off_course|waiting)/.test(text) ? /\b([tw])\.status = / : /(?!)/
    found = text
      .replace(status, '$1.off_course = ')
      .replaceAll(/\b(NOT INDEXED|INDEXED BY \w+)/g, '')
      .replaceAll('CROSS JOIN', 'JOIN')
      .replaceAll('instr(', 'strpos(')
      .replaceAll(' LIKE ', ' ILIKE ')
      .replaceAll(/json_each\(([^()]+)\)/g, 'jsonb_array_elements_text(($1)::jsonb) AS value')
      .replaceAll(/json_extract\((\w+), '\$\.(\w+)'\)/g, "(($1)::jsonb ->> '$2')")
      .replaceAll(' IS ?', ' IS NOT DISTINCT FROM ?')
      .replaceAll(' MATCH ?', ' @@ ?::tsquery')
      .replaceAll('?', () => `$${++parameters}`)
    translated.set(text, found)
  }
  return found
}

export const sqlOn = (answers: Answers): Sql => ({
  prepare(text) {
    const all = (...values: readonly Value[]): readonly Row[] => {
      const [value] = values
      return answers.ask(
        `${text} ${JSON.stringify(values)}`,
        query => query(translate(text), values) as Promise<readonly Row[]>,
        typeof value === 'number' && values.length === 1
          ? { text, value, load: (query, wanted) => forEach(query, translate(text), wanted) }
          : undefined,
      )
    }
    return { all, get: (...values) => all(...values)[0] }
  },
  matching: (words, kind) =>
    words.map(word => `${quoted(folded(word))}:*${kind === 'log' ? '' : WEIGHTS[kind]}`).join(' & '),
})

/** One statement for a question about many numbers. */
async function forEach(query: Query, text: string, values: readonly Asked[]): Promise<ReadonlyMap<Asked, Rows>> {
  const each = `SELECT asked.value AS asked_value, found.* FROM unnest($1::bigint[]) AS asked(value)
    CROSS JOIN LATERAL (${text.replace('$1', 'asked.value')}) found`
  const found = new Map<Asked, Rows[number][]>(values.map(value => [value, []]))
  for (const { asked_value: value, ...row } of await query(each, [values])) found.get(value as Asked)!.push(row)
  return found
}

/** Texts of plans and of tasks share a column, and differ in the weight of their words. */
const WEIGHTS = { plan: 'A', task: 'B' } as const

/** A `tsvector` of exactly these words. */
export const vectorOf = (words: readonly string[], kind: 'plan' | 'task' | 'log'): string =>
  [...new Set(words)].map(word => `${quoted(word)}:1${kind === 'log' ? '' : WEIGHTS[kind]}`).join(' ')

const quoted = (word: string): string => `'${word.replaceAll(/['\\]/g, '$&$&')}'`
