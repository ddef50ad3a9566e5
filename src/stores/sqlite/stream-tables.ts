// Sessions and goals in SQLite: one table of streams with their current rows, one of their entries.

import type { Actor } from '../../domain/id.ts'
import type { StreamEntry, StreamHead, StreamTable } from '../tables.ts'
import { Conditions } from './conditions.ts'
import type { Connection, Row } from './driver.ts'
import { bytes, hex } from './journal-table.ts'

export function sqliteStreams(sql: Connection, wrote: () => void): StreamTable {
  const head: StreamTable['head'] = (kind, id) => {
    const row = sql.prepare('SELECT * FROM streams WHERE kind = ? AND id = ?').get(kind, id)
    return row === undefined ? null : headOf(row)
  }
  return {
    head,
    heads(kind, before, limit, asked = {}) {
      const where = new Conditions()
      where.add('kind = ?', kind)
      where.add('stream_no < ?', before)
      where.add(`json_extract(row, '$.parent') IS ?`, asked.parent)
      where.add(`json_extract(row, '$.status') = ?`, asked.status)
      // Said, because a planner without statistics might go through all of them.
      const index =
        asked.parent !== undefined
          ? 'INDEXED BY streams_by_parent'
          : asked.status !== undefined
            ? 'INDEXED BY streams_by_status'
            : 'INDEXED BY streams_by_kind'
      return sql
        .prepare(`SELECT * FROM streams ${index} ${where} ORDER BY stream_no DESC LIMIT ?`)
        .all(...where.values, limit)
        .map(headOf)
    },
    entries: (kind, id, after, limit) =>
      sql
        .prepare(`SELECT e.* FROM stream_entries e JOIN streams s USING (stream_no)
          WHERE s.kind = ? AND s.id = ? AND e.version > ? ORDER BY e.version LIMIT ?`)
        .all(kind, id, after, limit)
        .map(entryOf),
    append(kind, id, entries, row) {
      wrote()
      const last = entries.at(-1)!
      const values = [last.version, bytes(last.hash), row] as const
      let no = head(kind, id)?.no
      if (no === undefined) {
        const insert = sql.prepare('INSERT INTO streams (version, hash, row, kind, id) VALUES (?, ?, ?, ?, ?)')
        no = Number(insert.run(...values, kind, id).lastInsertRowid)
      } else sql.prepare('UPDATE streams SET version = ?, hash = ?, row = ? WHERE stream_no = ?').run(...values, no)
      for (const { version, at, actor, body, hash } of entries) {
        sql
          .prepare('INSERT INTO stream_entries VALUES (?, ?, ?, ?, ?, ?)')
          .run(no, version, at, actor, body, bytes(hash))
      }
    },
  }
}

const headOf = (row: Row): StreamHead => ({
  no: row.stream_no as number,
  id: row.id as string,
  version: row.version as number,
  hash: hex(row.hash),
  row: row.row as string,
})

const entryOf = (row: Row): StreamEntry => ({
  version: row.version as number,
  at: row.at as number,
  actor: row.actor as Actor,
  body: row.body as string,
  hash: hex(row.hash),
})
