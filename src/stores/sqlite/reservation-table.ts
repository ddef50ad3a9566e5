// Files reserved across plans, in SQLite: one row for each task that holds some, and those that ended not long ago.

import type { TaskName } from '../../domain/id.ts'
import type { Reserves } from '../../domain/result.ts'
import type { ReservationRow, ReservationTable } from '../tables.ts'
import type { Connection, Row } from './driver.ts'

const ROWS = 'SELECT r.*, t.name FROM reservations r LEFT JOIN tasks t USING (plan_no, ordinal)'

export function sqliteReservations(sql: Connection, wrote: () => void): ReservationTable {
  return {
    put(no, { ordinal, visit, reserves, since, at }) {
      wrote()
      sql
        .prepare('INSERT OR REPLACE INTO reservations VALUES (?, ?, ?, ?, ?, ?, ?, NULL)')
        .run(no, ordinal, visit, reserves.root, JSON.stringify(reserves), since, at)
    },
    end(no, ordinal, position) {
      wrote()
      sql.prepare('UPDATE reservations SET ended = ? WHERE plan_no = ? AND ordinal = ?').run(position, no, ordinal)
    },
    of: no => sql.prepare(`${ROWS} WHERE r.plan_no = ? AND r.ended IS NULL ORDER BY r.ordinal`).all(no).map(rowOf),
    active: root => sql.prepare(`${ROWS} WHERE r.root = ? AND r.ended IS NULL ORDER BY r.since`).all(root).map(rowOf),
    endedSince: position =>
      sql
        .prepare(`${ROWS} WHERE r.ended IS NOT NULL AND r.ended > ? AND r.since > ?`)
        .all(position, position)
        .map(rowOf),
    forget(before) {
      wrote()
      sql.prepare('DELETE FROM reservations WHERE ended IS NOT NULL AND ended < ?').run(before)
    },
  }
}

const rowOf = (row: Row): ReservationRow => ({
  no: row.plan_no as number,
  ordinal: row.ordinal as number,
  visit: row.visit as number,
  reserves: JSON.parse(row.reserves as string) as Reserves,
  since: row.since as number,
  at: row.at as number,
  task: row.name as TaskName | null,
})
