// What the rows of tasks did not say before schema 2, read from the journal: the place in the sequence that a task names itself,
// whom it names, and when it came, where a revision brought it. A store is not kept from opening by a plan whose journal is damaged.

import type { PlanId } from '../../domain/id.ts'
import { type BodyBlobs, openEntry } from '../entry.ts'
import { taskRecord } from '../projection.ts'
import { emptyKept, foldEntry, type Kept } from '../states.ts'
import type { Connection } from './driver.ts'
import { ENTRY, entryOf } from './journal-table.ts'

const PAGE = 500

export function fillTasks(sql: Connection, bodies: BodyBlobs): void {
  // For all others the statements before have said it: their tasks came with the plan and name no place.
  const plans = sql
    .prepare(`SELECT p.plan_no, p.id, p.revision FROM plans p JOIN entries e ON e.plan_no = p.plan_no AND e.version = 1
      WHERE p.revision > 1 OR e.blob IS NOT NULL OR instr(e.body, 'sequence_order') > 0
        OR EXISTS (SELECT 1 FROM tasks t WHERE t.plan_no = p.plan_no AND t.status = 'running' AND t.assignee IS NOT NULL)`)
    .all()
  // Before, whoever had claimed a task stood in the place of whom it names.
  const fill = sql.prepare(`UPDATE tasks SET sequence = ?, added_at = ?, assignee = coalesce(?, assignee)
    WHERE plan_no = ? AND ordinal = ?`)
  for (const row of plans) {
    const no = row.plan_no as number
    const kept = folded(sql, no, row.id as PlanId, row.revision as number, bodies)
    for (const task of kept?.state.order ?? []) {
      const { sequence, addedAt, ordinal } = taskRecord(task)
      fill.run(sequence, addedAt, task.definition.assignee ?? null, no, ordinal)
    }
  }
}

/** Up to the entry that holds the last definition, or a little further. Null when its journal cannot be read. */
function folded(sql: Connection, no: number, plan: PlanId, revision: number, bodies: BodyBlobs): Kept | null {
  const kept = emptyKept(no)
  // As the tables stood then, whatever way to an entry came later.
  const after = sql.prepareLists(
    `SELECT ${ENTRY} FROM entries e WHERE plan_no = ? AND version > ? ORDER BY version LIMIT ${PAGE}`,
  )
  try {
    while (kept.state.revision < revision || kept.state.version === 0) {
      const page = after.all(no, kept.state.version).map(entryOf)
      if (page.length === 0) return null
      for (const stored of page) foldEntry(kept, openEntry(kept.hash, plan, stored, bodies))
    }
    return kept
  } catch {
    return null
  }
}
