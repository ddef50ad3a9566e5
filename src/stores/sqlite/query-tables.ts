// Questions to the query tables. Pages are cut by key, never by offset; every value is a parameter; what is searched for is
// text, not a pattern.

import { type PlanId, type TaskName, taskId } from '../../domain/id.ts'
import { limitOf, openCursor, pageOf } from '../cursor.ts'
import { attemptRow } from '../projection.ts'
import type { AttemptQuery, AttemptRow, MetricRow, Page, PlanQuery, PlanRow, TaskQuery, TaskRow } from '../store.ts'
import type { ProjectionTables } from '../tables.ts'
import type { Connection, Row, Value } from './driver.ts'
import { attemptOf, planOf, SqliteProjections, taskOf } from './projection-tables.ts'

/** As `domain/views/summary.ts` says it: nothing can move until a person decides. */
const SHOWN_STATUS = `CASE WHEN p.status = 'active'
  AND EXISTS (SELECT 1 FROM tasks t WHERE t.plan_no = p.plan_no AND t.status = 'waiting')
  AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.plan_no = p.plan_no AND t.status IN ('ready', 'running'))
  THEN 'blocked' ELSE p.status END`

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

  plans(query: PlanQuery): Page<PlanRow> {
    const limit = limitOf(query.limit)
    const where = new Conditions()
    where.add('p.plan_no < ?', openCursor('plans', 1, query.cursor)?.[0])
    where.add(`${SHOWN_STATUS} = ?`, query.status)
    where.add('p.session = ?', query.session)
    where.add('p.goal = ?', query.goal)
    where.add('p.archived = ?', query.archived === undefined ? undefined : Number(query.archived))
    if (query.text !== undefined) {
      const pattern = `%${query.text.replaceAll(/[\\%_]/g, '\\$&')}%`
      where.add(
        `(p.name LIKE ? ESCAPE '\\' OR p.title LIKE ? ESCAPE '\\' OR p.goal_text LIKE ? ESCAPE '\\')`,
        pattern,
        pattern,
        pattern,
      )
    }
    const rows = this.#sql
      .prepare(
        `SELECT p.*, ${SHOWN_STATUS} AS status, e.at, e.done, e.version FROM plans p JOIN last_entries e USING (plan_no) ${where} ORDER BY p.plan_no DESC LIMIT ?`,
      )
      .all(...where.values, limit + 1)
    return pageOf('plans', rows, limit, planRow, row => [row.plan_no as number])
  }

  tasks(query: TaskQuery, no: number | null): Page<TaskRow> {
    const limit = limitOf(query.limit)
    const where = new Conditions()
    const after = openCursor('tasks', 2, query.cursor)
    where.add('t.plan_no = ?', no ?? undefined)
    if (after !== null) where.add('(t.plan_no < ? OR (t.plan_no = ? AND t.ordinal > ?))', after[0], after[0], after[1])
    where.add('t.status = ?', query.status)
    where.add('t.assignee = ?', query.assignee)
    const rows = this.#sql
      .prepare(`SELECT t.*, p.id AS plan_id FROM tasks t JOIN plans p USING (plan_no) ${where}
        ORDER BY t.plan_no DESC, t.ordinal LIMIT ?`)
      .all(...where.values, limit + 1)
    return pageOf('tasks', rows, limit, taskRow, row => [row.plan_no as number, row.ordinal as number])
  }

  attempts(query: AttemptQuery, no: number): Page<AttemptRow> {
    const limit = limitOf(query.limit)
    const where = new Conditions()
    where.add('a.plan_no = ?', no)
    const after = openCursor('attempts', 3, query.cursor)
    if (after !== null) where.add('(a.ordinal, a.visit, a.attempt) > (?, ?, ?)', ...after)
    where.add('t.name = ?', query.task)
    const rows = this.#sql
      .prepare(`SELECT a.*, t.name FROM attempts a JOIN tasks t USING (plan_no, ordinal) ${where}
        ORDER BY a.ordinal, a.visit, a.attempt LIMIT ?`)
      .all(...where.values, limit + 1)
    const key = (row: Row) => [row.ordinal, row.visit, row.attempt] as number[]
    return pageOf('attempts', rows, limit, row => attemptRow(attemptOf(row), row.name as TaskName), key)
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

/** A WHERE clause that grows by what is asked; absent values ask nothing. */
class Conditions {
  readonly #terms: string[] = []
  readonly values: Value[] = []

  add(term: string, ...values: readonly (Value | undefined)[]): void {
    if (values.includes(undefined)) return
    this.#terms.push(term)
    this.values.push(...(values as Value[]))
  }

  toString(): string {
    return this.#terms.length === 0 ? '' : `WHERE ${this.#terms.join(' AND ')}`
  }
}

function planRow(row: Row): PlanRow {
  const { goalText, goal: _, ...record } = planOf(row)
  return { id: row.id as PlanId, version: row.version as number, ...record, goal: goalText }
}

function taskRow(row: Row): TaskRow {
  const { assignee: _, ...record } = taskOf(row)
  const plan = row.plan_id as PlanId
  return { id: taskId(plan, record.ordinal), plan, ...record }
}
