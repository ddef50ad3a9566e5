// Upkeep in SQLite: counting, pruning, and SQLite's own integrity check.

import type { Millis } from '../../domain/id.ts'
import type { Upkeep } from '../tables.ts'
import type { Connection } from './driver.ts'

/** Tables with rows of a plan; children first. */
const OF_A_PLAN = [
  'entries',
  'docs',
  'log_docs',
  'steps',
  'task_claims',
  'reservations',
  'task_logs',
  'earlier_attempts',
  'tasks',
  'folds',
  'heads',
  'plans',
] as const

export function sqliteUpkeep(sql: Connection, wrote: () => void): Upkeep {
  const numbers = (text: string, ...values: readonly number[]) =>
    sql
      .prepare(text)
      .all(...values)
      .map(row => row.plan_no as number)
  return {
    plans: () => numbers('SELECT plan_no FROM plans ORDER BY plan_no'),
    prunable: (before: Millis) =>
      numbers(
        'SELECT p.plan_no FROM plans p JOIN last_entries USING (plan_no) WHERE archived = 1 AND at < ? ORDER BY p.plan_no',
        before,
      ),
    prune(no, at) {
      wrote()
      const { count, bytes } = sql
        .prepare(`SELECT count(*) AS count, coalesce(sum(length(body)), 0) AS bytes FROM entries WHERE plan_no = ?`)
        .get(no)!
      sql
        .prepare(`INSERT INTO pruned SELECT p.id, p.name, e.version, e.hash, (SELECT max(position) FROM entries), ?,
            (SELECT max(position) FROM entries WHERE plan_no = p.plan_no)
          FROM plans p JOIN last_entries e USING (plan_no) WHERE p.plan_no = ?`)
        .run(at, no)
      sql.prepare('DELETE FROM doc_words WHERE rowid IN (SELECT doc_no FROM docs WHERE plan_no = ?)').run(no)
      sql
        .prepare("DELETE FROM memories WHERE scope = 'plan' AND owner = (SELECT id FROM plans WHERE plan_no = ?)")
        .run(no)
      sql.prepare('DELETE FROM log_words WHERE rowid IN (SELECT seq FROM task_logs WHERE plan_no = ?)').run(no)
      for (const table of OF_A_PLAN) sql.prepare(`DELETE FROM ${table} WHERE plan_no = ?`).run(no)
      return { entries: count as number, bytes: bytes as number }
    },
    pruned: after =>
      after === undefined
        ? // Append-only, so the last number is the count.
          ((sql.prepareLists('SELECT max(rowid) FROM pruned').get()?.[0] ?? 0) as number)
        : (sql.prepareLists('SELECT count(*) FROM pruned WHERE coalesce(last, position) > ?').get(after)![0] as number),
    integrity() {
      const found = sql
        .prepare('PRAGMA integrity_check(20)')
        .all()
        .map(row => String(Object.values(row)[0]))
      const orphans = sql
        .prepare('PRAGMA foreign_key_check')
        .all()
        .map(row => `a row of ${row.table} belongs to nothing`)
      return [...(found.length === 1 && found[0] === 'ok' ? [] : found), ...orphans, ...missing(sql)]
    },
  }
}

/** Positions and plan numbers have no gaps except those in `pruned` and, of a copied store, in what was copied: anything else was removed. */
function missing(sql: Connection): readonly string[] {
  const { entries, positions, plans, numbers } = sql
    .prepare(`SELECT
      (SELECT count(*) FROM entries) + (SELECT coalesce(sum(entries), 0) FROM pruned) AS entries,
      max((SELECT coalesce(max(position), 0) FROM entries), (SELECT coalesce(max(position), 0) FROM pruned))
        + (SELECT coalesce(max(entries - position), 0) FROM copied) AS positions,
      (SELECT count(*) FROM plans) + (SELECT count(*) FROM pruned) AS plans,
      (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'plans')
        + (SELECT coalesce(max(plans - number), 0) FROM copied) AS numbers`)
    .get()!
  return [
    ...(entries === positions ? [] : [`${positions} entries were written, ${entries} are accounted for`]),
    ...(plans === numbers ? [] : [`${numbers} plans were made, ${plans} are accounted for`]),
  ]
}
