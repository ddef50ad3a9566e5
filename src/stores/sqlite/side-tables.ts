// Tables beside the plans, in SQLite: owners, claims, output, sessions and goals, idempotency keys, reservations.

import type { Millis, PlanId } from '../../domain/id.ts'
import { type MemoryTable, vectorBytes } from '../memories.ts'
import { sqlMemories } from '../sql/memories.ts'
import {
  CLAIM,
  CLAIM_AND_PLAN,
  claimOf,
  HELD,
  heldOf,
  logOf,
  OWNER,
  onceOf,
  ownerOf,
  RESERVATIONS,
  reservationOf,
} from '../sql/rows.ts'
import { Conditions, type Row, type Value } from '../sql/sql.ts'
import type { Halt } from '../store.ts'
import type {
  ClaimTable,
  HaltTable,
  LogTable,
  OnceTable,
  OwnerTable,
  ReservationTable,
  StreamEntry,
  StreamHead,
  StreamTable,
} from '../tables.ts'
import type { Connection } from './driver.ts'
import { bytes } from './journal-table.ts'

/** Runs statements that write, and says so before. */
const writer = (sql: Connection, wrote: () => void) => (text: string, values: readonly Value[]) => {
  wrote()
  return sql.prepare(text).run(...values)
}

const orNull = <T>(row: Row | undefined, of: (row: Row) => T): T | null => (row === undefined ? null : of(row))

// Files reserved across plans: one row for each task with a current or recent reservation.

export function sqliteReservations(sql: Connection, wrote: () => void): ReservationTable {
  const run = writer(sql, wrote)
  const rows = (where: string, ...values: readonly Value[]) =>
    sql
      .prepare(`${RESERVATIONS} WHERE ${where}`)
      .all(...values)
      .map(reservationOf)
  return {
    put(no, { ordinal, visit, reserves, since, at }) {
      const values = [no, ordinal, visit, reserves.root, JSON.stringify(reserves), since, at]
      run('INSERT OR REPLACE INTO reservations VALUES (?, ?, ?, ?, ?, ?, ?, NULL)', values)
    },
    end(no, ordinal, position) {
      run('UPDATE reservations SET ended = ? WHERE plan_no = ? AND ordinal = ?', [position, no, ordinal])
    },
    of: no => rows('r.plan_no = ? AND r.ended IS NULL ORDER BY r.ordinal', no),
    active: root => rows('r.root = ? AND r.ended IS NULL ORDER BY r.since', root),
    endedSince: position => rows('r.ended IS NOT NULL AND r.ended > ? AND r.since > ?', position, position),
    forget(before) {
      run('DELETE FROM reservations WHERE ended IS NOT NULL AND ended < ?', [before])
    },
  }
}

// Sessions and goals: one table of streams with their current rows, one of their entries.

const STREAM = 'SELECT stream_no AS no, id, version, lower(hex(hash)) AS hash, row FROM streams'
const headOf = (row: Row): StreamHead => ({ ...row }) as unknown as StreamHead

export function sqliteStreams(sql: Connection, wrote: () => void): StreamTable {
  const run = writer(sql, wrote)
  const head: StreamTable['head'] = (kind, id) =>
    orNull(sql.prepare(`${STREAM} WHERE kind = ? AND id = ?`).get(kind, id), headOf)
  return {
    head,
    heads(kind, before, limit, asked = {}) {
      const where = new Conditions()
      where.add('kind = ?', kind)
      where.add('stream_no < ?', before)
      where.add(`json_extract(row, '$.parent') IS ?`, asked.parent)
      where.add(`json_extract(row, '$.status') = ?`, asked.status)
      // Explicit, because SQLite's planner has no statistics.
      const by = asked.parent !== undefined ? 'parent' : asked.status !== undefined ? 'status' : 'kind'
      return sql
        .prepare(`${STREAM} INDEXED BY streams_by_${by} ${where} ORDER BY stream_no DESC LIMIT ?`)
        .all(...where.values, limit)
        .map(headOf)
    },
    entries: (kind, id, after, limit) =>
      sql
        .prepare(`SELECT e.version, e.at, e.actor, e.body, lower(hex(e.hash)) AS hash FROM stream_entries e JOIN streams s USING (stream_no)
          WHERE s.kind = ? AND s.id = ? AND e.version > ? ORDER BY e.version LIMIT ?`)
        .all(kind, id, after, limit)
        .map(row => ({ ...row }) as unknown as StreamEntry),
    append(kind, id, entries, row) {
      const last = entries.at(-1)!
      const values = [last.version, bytes(last.hash), row] as const
      let no = head(kind, id)?.no
      if (no === undefined) {
        const insert = 'INSERT INTO streams (version, hash, row, kind, id) VALUES (?, ?, ?, ?, ?)'
        no = Number(run(insert, [...values, kind, id]).lastInsertRowid)
      } else run('UPDATE streams SET version = ?, hash = ?, row = ? WHERE stream_no = ?', [...values, no])
      for (const { version, at, actor, body, hash } of entries)
        run('INSERT INTO stream_entries VALUES (?, ?, ?, ?, ?, ?)', [no, version, at, actor, body, bytes(hash)])
    },
  }
}

/** When a plan is released, its row records the version its journal has reached. */
const RELEASE = `UPDATE heads SET owner_no = NULL, owner_since = NULL,
  reached = coalesce((SELECT max(version) FROM entries WHERE plan_no = heads.plan_no), 0)
  WHERE owner_no = (SELECT owner_no FROM owners WHERE id = ?)`

export function sqliteOwners(sql: Connection, wrote: () => void): OwnerTable {
  const run = writer(sql, wrote)
  return {
    add({ id, host, boot, pids, pid, startTime, expires, until, about }) {
      run(
        'INSERT INTO owners (id, host, boot, pids, pid, start_time, expires, until, about) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
        [id, host, boot, pids, pid, startTime, expires, until, about],
      )
    },
    renew: (id, { expires, until }, now) =>
      run('UPDATE owners SET expires = ?, until = ? WHERE id = ? AND expires > ?', [expires, until, id, now]).changes >
      0,
    remove(id) {
      run(RELEASE, [id])
      run('DELETE FROM owners WHERE id = ?', [id])
    },
    get: id => orNull(sql.prepare(`SELECT ${OWNER} FROM owners o WHERE o.id = ?`).get(id), ownerOf),
    holder(no) {
      const text = `SELECT ${OWNER}, h.owner_since AS since FROM heads h JOIN owners o USING (owner_no) WHERE h.plan_no = ?`
      return orNull(sql.prepare(text).get(no), ({ since, ...owner }) => ({
        owner: ownerOf(owner),
        since: since as Millis,
      }))
    },
    hold(no, owner, fence, since) {
      run(
        'UPDATE heads SET owner_no = (SELECT owner_no FROM owners WHERE id = ?), fence = ?, owner_since = ? WHERE plan_no = ?',
        [owner, fence, since, no],
      )
    },
    letGo(no, owner) {
      run(`${RELEASE} AND plan_no = ?`, [owner, no])
    },
    held: status =>
      sql
        .prepare(`SELECT ${HELD} FROM heads h JOIN owners o USING (owner_no) JOIN plans p USING (plan_no)
          WHERE h.owner_no IS NOT NULL AND p.status = ?`)
        .all(status)
        .map(heldOf),
    idle: () =>
      sql
        .prepare(`SELECT ${OWNER} FROM owners o WHERE NOT EXISTS (SELECT 1 FROM heads h WHERE h.owner_no = o.owner_no)`)
        .all()
        .map(ownerOf),
    all: () => sql.prepare(`SELECT ${OWNER} FROM owners o ORDER BY o.owner_no`).all().map(ownerOf),
    describe(id, about) {
      run('UPDATE owners SET about = ? WHERE id = ?', [about, id])
    },
  }
}

export function sqliteClaims(sql: Connection, wrote: () => void): ClaimTable {
  const run = writer(sql, wrote)
  const one = 'WHERE plan_no = ? AND ordinal = ?'
  return {
    put(no, { ordinal, token, boot, expires, until, lease }) {
      const values = [no, ordinal, token, boot, expires, until, lease]
      run('INSERT OR REPLACE INTO task_claims VALUES (?, ?, ?, ?, ?, ?, ?)', values)
    },
    all: no =>
      sql
        .prepare(`${CLAIM_AND_PLAN} ${no === null ? '' : 'WHERE c.plan_no = ?'}`)
        .all(...(no === null ? [] : [no]))
        .map(row => claimOf<ReturnType<ClaimTable['all']>[number]>(row)),
    get: (no, ordinal) =>
      orNull(sql.prepare(`SELECT ${CLAIM} FROM task_claims c ${one}`).get(no, ordinal), row => claimOf(row)),
    remove(no, ordinal) {
      run(`DELETE FROM task_claims ${one}`, [no, ordinal])
    },
  }
}

export function sqliteLogs(sql: Connection, wrote: () => void): LogTable {
  const run = writer(sql, wrote)
  const rows = (no: number, ordinal: number | null, rest: string, ...values: readonly Value[]) =>
    sql
      .prepare(`SELECT l.*, t.name FROM task_logs l JOIN tasks t USING (plan_no, ordinal)
        WHERE l.plan_no = ? ${ordinal === null ? '' : 'AND l.ordinal = ?'} AND ${rest}`)
      .all(no, ...(ordinal === null ? [] : [ordinal]), ...values)
  return {
    append(no, ordinal, { visit, attempt, stream, at, text }) {
      run('INSERT INTO task_logs (plan_no, ordinal, visit, attempt, stream, at, text) VALUES (?, ?, ?, ?, ?, ?, ?)', [
        ...[no, ordinal, visit, attempt, stream, at, text],
      ])
    },
    read: (plan, no, ordinal, after, limit) =>
      rows(no, ordinal, 'l.seq > ? ORDER BY l.seq LIMIT ?', after, limit).map(row => logOf(plan, row)),
    readBack(plan, no, ordinal, { after, before }, limit) {
      const back = 'l.seq > ? AND l.seq < ? ORDER BY l.seq DESC LIMIT ?'
      const found = rows(no, ordinal, back, after, Math.min(before, Number.MAX_SAFE_INTEGER), limit)
      return found.map(row => logOf(plan, row)).reverse()
    },
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

export function sqliteOnce(sql: Connection, wrote: () => void): OnceTable {
  const run = writer(sql, wrote)
  const columns = 'actor, key, lower(hex(hash)) AS hash, kind, id, version, made, at'
  return {
    get: (actor, key) =>
      orNull(sql.prepare(`SELECT ${columns} FROM once WHERE actor = ? AND key = ?`).get(actor, key), onceOf),
    put({ actor, key, hash, kind, id, version, made, at }) {
      const values = [actor, key, bytes(hash), kind, id, version, Number(made), at]
      run('INSERT OR REPLACE INTO once VALUES (?, ?, ?, ?, ?, ?, ?, ?)', values)
    },
    hasBefore: at => sql.prepare('SELECT 1 FROM once WHERE at < ? LIMIT 1').get(at) !== undefined,
    forget(before) {
      run('DELETE FROM once WHERE at < ?', [before])
    },
  }
}

export function sqliteHalts(sql: Connection, wrote: () => void): HaltTable {
  const run = writer(sql, wrote)
  return {
    get: () => orNull(sql.prepare('SELECT by, at, reason FROM halts').get(), row => ({ ...row }) as unknown as Halt),
    put({ by, at, reason }) {
      run('INSERT INTO halts VALUES (1, ?, ?, ?)', [by, at, reason])
    },
    remove() {
      run('DELETE FROM halts', [])
    },
  }
}

export function sqliteMemories(sql: Connection, wrote: () => void): MemoryTable {
  const run = writer(sql, wrote)
  return {
    ...sqlMemories(sql),
    put({ scope, owner, key, at, expiresAt, body }, text) {
      run('DELETE FROM memories WHERE scope = ? AND owner = ? AND key = ?', [scope, owner, key])
      const insert = 'INSERT INTO memories (scope, owner, key, at, expires_at, body, text) VALUES (?, ?, ?, ?, ?, ?, ?)'
      run(insert, [scope, owner, key, at, expiresAt, body, text])
    },
    remove({ scope, owner }, key) {
      run('DELETE FROM memories WHERE scope = ? AND owner = ? AND key = ?', [scope, owner, key])
    },
    expire(before) {
      run('DELETE FROM memories WHERE expires_at <= ?', [before])
    },
    putVector(vector, model) {
      const text = `INSERT OR REPLACE INTO memory_vectors (memory_no, model, dimension, vector)
        SELECT memory_no, ?, ?, ? FROM memories WHERE memory_no = ?`
      run(text, [model, vector.vector.length, vectorBytes(vector), vector.no])
    },
  }
}
