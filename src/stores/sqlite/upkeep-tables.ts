// Upkeep in SQLite: counting, pruning, and what SQLite itself says about the file.

import type { Millis } from '../../domain/id.ts'
import type { Upkeep } from '../tables.ts'
import type { Connection } from './driver.ts'
import { entriesBetween } from './journal-table.ts'

/** Tables with a plan's rows; children first. */
const OF_A_PLAN = [
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

const OF_PLAN = `position IN (SELECT e.position ${entriesBetween('?1', '1', String(Number.MAX_SAFE_INTEGER))})`

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
        .prepare(`SELECT count(*) AS count, coalesce(sum(length(body)), 0) AS bytes FROM entries WHERE ${OF_PLAN}`)
        .get(no)!
      sql
        .prepare(`INSERT INTO pruned SELECT p.id, p.name, e.version, e.hash, (SELECT max(position) FROM entries), ?
          FROM plans p JOIN last_entries e USING (plan_no) WHERE p.plan_no = ?`)
        .run(at, no)
      // Words first, while it can be told whose they are.
      sql.prepare('DELETE FROM doc_words WHERE rowid IN (SELECT doc_no FROM docs WHERE plan_no = ?)').run(no)
      sql.prepare('DELETE FROM log_words WHERE rowid IN (SELECT seq FROM task_logs WHERE plan_no = ?)').run(no)
      sql.prepare(`DELETE FROM entries WHERE ${OF_PLAN}`).run(no)
      for (const table of OF_A_PLAN) sql.prepare(`DELETE FROM ${table} WHERE plan_no = ?`).run(no)
      return { entries: count as number, bytes: bytes as number }
    },
    // Rows are only ever added to it, so that its last number says it without counting.
    pruned: () => (sql.prepareLists('SELECT max(rowid) FROM pruned').get()?.[0] ?? 0) as number,
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

/** Positions and plan numbers have no gaps, and `pruned` tells what was taken out: anything else that lacks was taken away. */
function missing(sql: Connection): readonly string[] {
  const { entries, positions, plans, numbers, lost } = sql
    .prepare(`SELECT
      (SELECT count(*) FROM entries e LEFT JOIN plans p USING (plan_no) LEFT JOIN entries b ON b.position = e.position - 1
        WHERE p.plan_no IS NULL OR (e.behind <> 0 AND
          (b.plan_no, b.version, b.behind) IS NOT (e.plan_no, e.version - 1, e.behind - 1))) AS lost,
      (SELECT count(*) FROM entries) + (SELECT coalesce(sum(entries), 0) FROM pruned) AS entries,
      max((SELECT coalesce(max(position), 0) FROM entries), (SELECT coalesce(max(position), 0) FROM pruned)) AS positions,
      (SELECT count(*) FROM plans) + (SELECT count(*) FROM pruned) AS plans,
      (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'plans') AS numbers`)
    .get()!
  return [
    ...(entries === positions ? [] : [`${positions} entries were written, ${entries} are accounted for`]),
    ...(lost === 0 ? [] : [`entries that cannot be found by their plan: ${lost}`]),
    ...(plans === numbers ? [] : [`${numbers} plans were made, ${plans} are accounted for`]),
  ]
}
