// Tables beside the plans, in SQLite: owners, claims, output, sessions and goals, idempotency keys, reservations.

import type { Actor, Millis, PlanId, TaskName } from '../../domain/id.ts'
import type { Reserves } from '../../domain/result.ts'
import { Conditions, type Row } from '../sql/sql.ts'
import type { LogChunk, StoredLog } from '../store.ts'
import type {
  ClaimRecord,
  ClaimTable,
  HaltTable,
  LogTable,
  OnceRecord,
  OnceTable,
  OwnerRecord,
  OwnerTable,
  ReservationRow,
  ReservationTable,
  StreamEntry,
  StreamHead,
  StreamTable,
} from '../tables.ts'
import type { Connection } from './driver.ts'
import { bytes, hex } from './journal-table.ts'

// Files reserved across plans: one row for each task with a current or recent reservation.

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

// Sessions and goals: one table of streams with their current rows, one of their entries.

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
      // Explicit, because SQLite's planner has no statistics.
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

const OWNER = 'o.id, o.host, o.boot, o.pids, o.pid, o.start_time, o.expires, o.until, o.about'

/** When a plan is released, its row records the version its journal has reached. */
const REACHED = `reached = coalesce((SELECT max(version) FROM entries WHERE plan_no = heads.plan_no), 0)`

export function sqliteOwners(sql: Connection, wrote: () => void): OwnerTable {
  return {
    add({ id, host, boot, pids, pid, startTime, expires, until, about }) {
      wrote()
      sql
        .prepare(
          'INSERT INTO owners (id, host, boot, pids, pid, start_time, expires, until, about) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
        )
        .run(id, host, boot, pids, pid, startTime, expires, until, about)
    },
    renew(id, { expires, until }, now) {
      wrote()
      const renewed = sql
        .prepare('UPDATE owners SET expires = ?, until = ? WHERE id = ? AND expires > ?')
        .run(expires, until, id, now)
      return renewed.changes > 0
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
    all: () =>
      sql
        .prepare(`SELECT ${OWNER} FROM owners o ORDER BY o.owner_no`)
        .all()
        .map(row => ownerOf(row)!),
    describe(id, about) {
      wrote()
      sql.prepare('UPDATE owners SET about = ? WHERE id = ?').run(about, id)
    },
  }
}

export function ownerOf(row: Row | undefined): OwnerRecord | null {
  if (row === undefined) return null
  return {
    id: row.id as string,
    host: row.host as string,
    boot: row.boot as string,
    pids: row.pids as string,
    pid: row.pid as number,
    startTime: row.start_time as string,
    expires: row.expires as number,
    until: row.until as Millis,
    about: row.about as string,
  }
}

const CLAIMS = 'SELECT c.*, p.id AS plan FROM task_claims c JOIN plans p USING (plan_no)'

export function sqliteClaims(sql: Connection, wrote: () => void): ClaimTable {
  return {
    put(no, { ordinal, token, boot, expires, until, lease }) {
      wrote()
      sql
        .prepare('INSERT OR REPLACE INTO task_claims VALUES (?, ?, ?, ?, ?, ?, ?)')
        .run(no, ordinal, token, boot, expires, until, lease)
    },
    all: no =>
      (no === null ? sql.prepare(CLAIMS).all() : sql.prepare(`${CLAIMS} WHERE c.plan_no = ?`).all(no)).map(row => ({
        plan: row.plan as PlanId,
        no: row.plan_no as number,
        ...claimFrom(row),
      })),
    get(no, ordinal) {
      const row = sql.prepare('SELECT * FROM task_claims WHERE plan_no = ? AND ordinal = ?').get(no, ordinal)
      return row === undefined ? null : claimFrom(row)
    },
    remove(no, ordinal) {
      wrote()
      sql.prepare('DELETE FROM task_claims WHERE plan_no = ? AND ordinal = ?').run(no, ordinal)
    },
  }
}

const claimFrom = (row: Row): ClaimRecord => ({
  ordinal: row.ordinal as number,
  token: row.token as string,
  boot: row.boot as string,
  expires: row.expires as number,
  until: row.until as number,
  lease: row.lease as number | null,
})

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
    readBack: (plan, no, ordinal, { after, before }, limit) =>
      sql
        .prepare(`SELECT l.*, t.name FROM task_logs l JOIN tasks t USING (plan_no, ordinal)
          WHERE l.plan_no = ? ${ordinal === null ? '' : 'AND l.ordinal = ?'} AND l.seq > ? AND l.seq < ?
          ORDER BY l.seq DESC LIMIT ?`)
        .all(no, ...(ordinal === null ? [] : [ordinal]), after, Math.min(before, Number.MAX_SAFE_INTEGER), limit)
        .map(row => logOf(plan, row))
        .reverse(),
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

export function sqliteHalts(sql: Connection, wrote: () => void): HaltTable {
  return {
    get() {
      const row = sql.prepare('SELECT by, at, reason FROM halts').get()
      return row === undefined
        ? null
        : { by: row.by as string, at: row.at as Millis, reason: row.reason as string | null }
    },
    put({ by, at, reason }) {
      wrote()
      sql.prepare('INSERT INTO halts VALUES (1, ?, ?, ?)').run(by, at, reason)
    },
    remove() {
      wrote()
      sql.prepare('DELETE FROM halts').run()
    },
  }
}
