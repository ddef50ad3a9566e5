// The tables beside the journal in SQLite: owners, claims, task output.

import type { PlanId, TaskName } from '../../domain/id.ts'
import type { LogChunk, StoredLog } from '../store.ts'
import type { ClaimTable, LogTable, OwnerRecord, OwnerTable } from '../tables.ts'
import type { Connection, Row } from './driver.ts'
import { lastPosition } from './entry-runs.ts'

const OWNER = 'o.id, o.host, o.boot, o.pids, o.pid, o.start_time, o.expires'

/** While nobody holds a plan, its row says how far its journal reached. */
const REACHED = `reached = coalesce((SELECT version FROM entries WHERE position = ${lastPosition('heads.plan_no')}), 0)`

/** `wrote` is told of every row written here, because heads at hand hold what they say. */
export function sqliteOwners(sql: Connection, wrote: () => void): OwnerTable {
  return {
    add({ id, host, boot, pids, pid, startTime, expires }) {
      wrote()
      sql
        .prepare('INSERT INTO owners (id, host, boot, pids, pid, start_time, expires) VALUES (?, ?, ?, ?, ?, ?, ?)')
        .run(id, host, boot, pids, pid, startTime, expires)
    },
    renew(id, expires, now) {
      wrote()
      return sql.prepare('UPDATE owners SET expires = ? WHERE id = ? AND expires > ?').run(expires, id, now).changes > 0
    },
    remove(id) {
      wrote()
      sql
        .prepare(`UPDATE heads SET owner_no = NULL, owner_since = NULL, ${REACHED}
          WHERE owner_no = (SELECT owner_no FROM owners WHERE id = ?)`)
        .run(id)
      sql.prepare('DELETE FROM owners WHERE id = ?').run(id)
    },
    get: id => ownerOf(sql.prepare(`SELECT ${OWNER} FROM owners o WHERE o.id = ?`).get(id)),
    holder(no) {
      const row = sql
        .prepare(`SELECT ${OWNER}, h.owner_since FROM heads h JOIN owners o USING (owner_no) WHERE h.plan_no = ?`)
        .get(no)
      const owner = ownerOf(row)
      return owner === null ? null : { owner, since: row!.owner_since as number }
    },
    hold(no, owner, fence, since) {
      wrote()
      sql
        .prepare(`UPDATE heads SET owner_no = (SELECT owner_no FROM owners WHERE id = ?), fence = ?, owner_since = ?
          WHERE plan_no = ?`)
        .run(owner, fence, since, no)
    },
    letGo(no, owner) {
      wrote()
      sql
        .prepare(`UPDATE heads SET owner_no = NULL, owner_since = NULL, ${REACHED}
          WHERE plan_no = ? AND owner_no = (SELECT owner_no FROM owners WHERE id = ?)`)
        .run(no, owner)
    },
    held: status =>
      sql
        .prepare(`SELECT ${OWNER}, p.id AS plan FROM heads h JOIN owners o USING (owner_no) JOIN plans p USING (plan_no)
          WHERE h.owner_no IS NOT NULL AND p.status = ?`)
        .all(status)
        .map(row => ({ plan: row.plan as PlanId, owner: ownerOf(row)! })),
    idle: () =>
      sql
        .prepare(`SELECT ${OWNER} FROM owners o WHERE NOT EXISTS (SELECT 1 FROM heads h WHERE h.owner_no = o.owner_no)`)
        .all()
        .map(row => ownerOf(row)!),
  }
}

function ownerOf(row: Row | undefined): OwnerRecord | null {
  if (row === undefined) return null
  return {
    id: row.id as string,
    host: row.host as string,
    boot: row.boot as string,
    pids: row.pids as string,
    pid: row.pid as number,
    startTime: row.start_time as string,
    expires: row.expires as number,
  }
}

export function sqliteClaims(sql: Connection, wrote: () => void): ClaimTable {
  return {
    put(no, { ordinal, token, boot, expires, until, lease }) {
      wrote()
      sql
        .prepare('INSERT OR REPLACE INTO task_claims VALUES (?, ?, ?, ?, ?, ?, ?)')
        .run(no, ordinal, token, boot, expires, until, lease)
    },
    all: no =>
      sql
        .prepare(
          `SELECT c.*, p.id AS plan FROM task_claims c JOIN plans p USING (plan_no) WHERE ? IS NULL OR c.plan_no = ?`,
        )
        .all(no, no)
        .map(row => ({
          plan: row.plan as PlanId,
          no: row.plan_no as number,
          ordinal: row.ordinal as number,
          token: row.token as string,
          boot: row.boot as string,
          expires: row.expires as number,
          until: row.until as number,
          lease: row.lease as number | null,
        })),
    lease: (no, ordinal) =>
      (sql.prepare('SELECT lease FROM task_claims WHERE plan_no = ? AND ordinal = ?').get(no, ordinal)?.lease ??
        null) as number | null,
    remove(no, ordinal) {
      wrote()
      sql.prepare('DELETE FROM task_claims WHERE plan_no = ? AND ordinal = ?').run(no, ordinal)
    },
  }
}

export function sqliteLogs(sql: Connection, wrote: () => void): LogTable {
  return {
    append(no, ordinal, { visit, attempt, stream, at, text }) {
      wrote()
      sql
        .prepare(
          'INSERT INTO task_logs (plan_no, ordinal, visit, attempt, stream, at, text) VALUES (?, ?, ?, ?, ?, ?, ?)',
        )
        .run(no, ordinal, visit, attempt, stream, at, text)
    },
    read: (plan, no, ordinal, after, limit) =>
      sql
        .prepare(`SELECT l.*, t.name FROM task_logs l JOIN tasks t USING (plan_no, ordinal)
          WHERE l.plan_no = ? ${ordinal === null ? '' : 'AND l.ordinal = ?'} AND l.seq > ? ORDER BY l.seq LIMIT ?`)
        .all(no, ...(ordinal === null ? [] : [ordinal]), after, limit)
        .map(row => logOf(plan, row)),
    since: (after, limit) =>
      sql
        .prepare(`SELECT l.*, t.name, p.id AS plan FROM task_logs l JOIN tasks t USING (plan_no, ordinal)
          JOIN plans p USING (plan_no) WHERE l.seq > ? ORDER BY l.seq LIMIT ?`)
        .all(after, limit)
        .map(row => logOf(row.plan as PlanId, row)),
    last: () =>
      sql.prepare("SELECT coalesce(max(seq), 0) AS seq FROM sqlite_sequence WHERE name = 'task_logs'").get()!
        .seq as number,
  }
}

const logOf = (plan: PlanId, row: Row): StoredLog => ({
  plan,
  task: row.name as TaskName,
  visit: row.visit as number,
  attempt: row.attempt as number,
  stream: row.stream as LogChunk['stream'],
  at: row.at as number,
  text: row.text as string,
  seq: row.seq as number,
})
