// Keys that were used, in SQLite. Written only when somebody brings a key.

import type { Actor } from '../../domain/id.ts'
import type { OnceRecord, OnceTable } from '../tables.ts'
import type { Connection } from './driver.ts'
import { bytes, hex } from './journal-table.ts'

export function sqliteOnce(sql: Connection, wrote: () => void): OnceTable {
  return {
    get(actor, key) {
      const row = sql.prepare('SELECT * FROM once WHERE actor = ? AND key = ?').get(actor, key)
      if (row === undefined) return null
      return {
        actor: row.actor as Actor,
        key: row.key as string,
        hash: hex(row.hash),
        kind: row.kind as OnceRecord['kind'],
        id: row.id as string,
        version: row.version as number,
        made: row.made === 1,
        at: row.at as number,
      }
    },
    put({ actor, key, hash, kind, id, version, made, at }) {
      wrote()
      sql
        .prepare('INSERT OR REPLACE INTO once VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
        .run(actor, key, bytes(hash), kind, id, version, Number(made), at)
    },
    hasBefore: at => sql.prepare('SELECT 1 FROM once WHERE at < ? LIMIT 1').get(at) !== undefined,
    forget(before) {
      wrote()
      sql.prepare('DELETE FROM once WHERE at < ?').run(before)
    },
  }
}
