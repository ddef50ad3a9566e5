// Search: plans first, then tasks, then output, each newest first. A cursor names the kind it stopped in and the row, so that
// a page costs what it shows and not what was shown before.

import { limitOf, openCursor, pageOf } from './cursor.ts'
import type { FoundText } from './index-table.ts'
import type { Page, SearchHit, SearchQuery } from './store.ts'
import type { Tables } from './tables.ts'
import { printed, snippetOf, wordsOf } from './words.ts'

const KINDS = ['plan', 'task', 'log'] as const
const EMPTY = { items: [], next: null }

export function search(tables: Tables, query: SearchQuery): Page<SearchHit> {
  const limit = limitOf(query.limit)
  const [first, key] = openCursor('hits', 2, query) ?? [0, Number.MAX_SAFE_INTEGER]
  const words = wordsOf(query.text)
  const no = query.plan === undefined ? null : tables.journal.planNo(query.plan)
  if (words.length === 0 || (query.plan !== undefined && no === null)) return EMPTY
  const where = { words, no, archived: query.archived === true }
  const rows: { readonly at: number; readonly kind: SearchHit['kind']; readonly found: FoundText }[] = []
  for (const [at, kind] of KINDS.entries()) {
    if (at < first! || query.kinds?.includes(kind) === false) continue
    const before = at === first ? key! : Number.MAX_SAFE_INTEGER
    for (const found of tables.index.find(kind, where, before, limit + 1 - rows.length)) rows.push({ at, kind, found })
    if (rows.length > limit) break
  }
  const show = ({ kind, found }: (typeof rows)[number]): SearchHit => {
    const { key: _, text, ...hit } = found
    return { kind, ...hit, ...snippetOf(kind === 'log' ? printed(text) : text, words) }
  }
  return pageOf('hits', query, rows, limit, show, ({ at, found }) => [at, found.key])
}
