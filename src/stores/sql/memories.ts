// The reads of memory in every SQL store.

import type { MemoryScope } from '../../domain/memory/memory-items.ts'
import { type MemoryTable, type StoredMemory, vectorOfBytes } from '../memories.ts'
import { Conditions, type Row, type Sql } from './sql.ts'

const ITEM = 'm.memory_no, m.scope, m.owner, m.key, m.at, m.expires_at, m.body'

export function sqlMemories(sql: Sql): Pick<MemoryTable, 'get' | 'find' | 'vectors'> {
  return {
    get({ scope, owner }, key) {
      const text = `SELECT ${ITEM} FROM memories m WHERE m.scope = ? AND m.owner = ? AND m.key = ?`
      const row = sql.prepare(text).get(scope, owner, key)
      return row === undefined ? null : memoryOf(row)
    },
    find({ places, words, among, lacks, before, after, now, limit }) {
      if (places.length === 0) return []
      const where = new Conditions()
      const isFound = words !== undefined && words.length > 0
      if (isFound) where.add('w.memory_words MATCH ?', sql.matching(words, 'log'))
      const no = isFound ? 'w.rowid' : 'm.memory_no'
      where.add(`${no} < ?`, before)
      where.add(`${no} > ?`, after)
      const [first, ...others] = places
      const owned = '(m.scope = ? AND m.owner = ?)'
      where.add(
        `(${[first, ...others].map(() => owned).join(' OR ')})`,
        ...places.flatMap(({ scope, owner }) => [scope, owner]),
      )
      where.add('(m.expires_at IS NULL OR m.expires_at > ?)', now)
      if (among !== undefined) where.add(`m.memory_no IN (${among.map(() => '?').join(', ') || 'NULL'})`, ...among)
      where.add('NOT EXISTS (SELECT 1 FROM memory_vectors v WHERE v.memory_no = m.memory_no AND v.model = ?)', lacks)
      const from = isFound ? 'memory_words w CROSS JOIN memories m ON m.memory_no = w.rowid' : 'memories m'
      return sql
        .prepare(`SELECT ${ITEM} FROM ${from} ${where} ORDER BY ${no} DESC LIMIT ?`)
        .all(...where.values, limit)
        .map(memoryOf)
    },
    vectors: ({ place, model, dimension, after, limit }) =>
      sql
        .prepare(`SELECT v.vector_no, v.memory_no, v.vector FROM memory_vectors v CROSS JOIN memories m ON m.memory_no = v.memory_no
          WHERE v.vector_no > ? AND v.model = ? AND v.dimension = ? AND m.scope = ? AND m.owner = ? ORDER BY v.vector_no LIMIT ?`)
        .all(after, model, dimension, place.scope, place.owner, limit)
        .map(row => ({
          vectorNo: row.vector_no as number,
          no: row.memory_no as number,
          vector: vectorOfBytes(row.vector as Uint8Array),
        })),
  }
}

const memoryOf = (row: Row): StoredMemory => ({
  no: row.memory_no as number,
  scope: row.scope as MemoryScope,
  owner: row.owner as string,
  key: row.key as string,
  at: row.at as number,
  expiresAt: row.expires_at as number | null,
  body: row.body as string,
})
