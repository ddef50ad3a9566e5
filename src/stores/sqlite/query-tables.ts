// Questions to the query tables. Pages are cut by key, never by offset; every value is a parameter; what is searched for is
// text, not a pattern.

import type { TaskName } from '../../domain/id.ts'
import { limitOf, openCursor, pageOf } from '../cursor.ts'
import { attemptRow } from '../projection.ts'
import type { AttemptQuery, AttemptRow, MetricRow, Page, PlanQuery, PlanRow, TaskQuery, TaskRow } from '../store.ts'
import type { ProjectionTables } from '../tables.ts'
import { Conditions } from './conditions.ts'
import type { Connection, Row } from './driver.ts'
import { listPlans } from './plan-list.ts'
import { attemptOf, SqliteProjections } from './projection-tables.ts'
import { listTasks } from './task-list.ts'

export class SqliteQueries extends SqliteProjections implements ProjectionTables {
  readonly #sql: Connection

  constructor(sql: Connection, wrote: () => void) {
    super(sql, wrote)
    this.#sql = sql
  }

  taskName(no: number, ordinal: number): TaskName | null {
    const row = this.#sql.prepare('SELECT name FROM tasks WHERE plan_no = ? AND ordinal = ?').get(no, ordinal)
    return row === undefined ? null : (row.name as TaskName)
  }

  ordinal(no: number, task: TaskName): number | null {
    const row = this.#sql.prepare('SELECT ordinal FROM tasks WHERE plan_no = ? AND name = ?').get(no, task)
    return row === undefined ? null : (row.ordinal as number)
  }

  plans(query: PlanQuery, words: readonly string[] | null): Page<PlanRow> {
    return listPlans(this.#sql, query, words)
  }

  tasks(query: TaskQuery, no: number | null): Page<TaskRow> {
    return listTasks(this.#sql, query, no)
  }

  attempts(query: AttemptQuery, no: number): Page<AttemptRow> {
    const limit = limitOf(query.limit)
    const where = new Conditions()
    where.add('a.plan_no = ?', no)
    const after = openCursor('attempts', 3, query)
    if (after !== null) where.add('(a.ordinal, a.visit, a.attempt) > (?, ?, ?)', ...after)
    where.add('t.name = ?', query.task)
    const rows = this.#sql
      .prepare(`SELECT a.*, t.name FROM attempts a JOIN tasks t USING (plan_no, ordinal) ${where}
        ORDER BY a.ordinal, a.visit, a.attempt LIMIT ?`)
      .all(...where.values, limit + 1)
    const key = (row: Row) => [row.ordinal, row.visit, row.attempt] as number[]
    return pageOf('attempts', query, rows, limit, row => attemptRow(attemptOf(row), row.name as TaskName), key)
  }

  metrics(no: number): readonly MetricRow[] {
    return this.#sql
      .prepare('SELECT * FROM metrics WHERE plan_no = ? ORDER BY kind')
      .all(no)
      .map(row => ({
        kind: row.kind as string | null,
        attempts: row.attempts as number,
        succeeded: row.succeeded as number,
        failed: row.failed as number,
        lost: row.lost as number,
        retries: row.retries as number,
        durationMs: row.duration_ms as number,
      }))
  }
}
