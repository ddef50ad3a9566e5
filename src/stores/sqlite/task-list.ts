// Lists of tasks, in three orders. As with plans, a page is a stretch of an index wherever that can be had without an index on
// what every step changes.

import { type PlanId, taskId } from '../../domain/id.ts'
import { limitOf, openCursor, pageOf } from '../cursor.ts'
import type { Page, TaskQuery, TaskRow } from '../store.ts'
import { Conditions } from './conditions.ts'
import type { Connection, Row } from './driver.ts'
import { taskOf } from './projection-tables.ts'
import { OFF_COURSE, oneOf } from './schema.ts'

export function listTasks(sql: Connection, query: TaskQuery, no: number | null): Page<TaskRow> {
  const { statuses } = query
  const limit = limitOf(query.limit)
  if (statuses === undefined) {
    const { rows, list, key } = stretch(sql, query, no)
    return pageOf(list, rows, limit, taskRow, key)
  }
  // One stretch for each status, of which the first ones are taken: no page costs more because another status is rare.
  const { list, key } = stretch(sql, { ...query, limit: 1 }, no)
  const all = [...new Set(statuses)].flatMap(status => stretch(sql, { ...query, status }, no).rows)
  const order = query.order === 'recent' ? [-1, -1, -1] : [-1, 1, 1]
  const rows = all.sort((a, b) => compare(key(a), key(b), order))
  return pageOf(list, rows.slice(0, limit + 1), limit, taskRow, key)
}

/** Rows along an index, one more than a page has. */
interface Stretch {
  readonly rows: readonly Row[]
  readonly list: string
  readonly key: (row: Row) => readonly number[]
}

function stretch(sql: Connection, query: TaskQuery, no: number | null): Stretch {
  if (query.order === 'recent') return recent(sql, query, no)
  return query.order === 'sequence' ? inSequence(sql, query, no) : asTheyCame(sql, query, no)
}

function compare(a: readonly number[], b: readonly number[], order: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index])
  return at === -1 ? 0 : (a[at]! - b[at]!) * order[at]!
}

function asTheyCame(sql: Connection, query: TaskQuery, no: number | null): Stretch {
  const where = conditions(query, no)
  const after = openCursor('tasks', 2, query.cursor)
  if (after !== null && no === null) where.add('t.plan_no <= ?', after[0])
  if (after !== null) where.add('(t.plan_no < ? OR t.ordinal > ?)', after[0], after[1])
  return along(sql, query, where, '', 't.plan_no DESC, t.ordinal', 'tasks', row => [row.plan_no, row.ordinal])
}

function inSequence(sql: Connection, query: TaskQuery, no: number | null): Stretch {
  const where = conditions(query, no)
  const after = openCursor('tasks in sequence', 3, query.cursor)
  if (after !== null && no !== null) where.add('(t.sequence, t.ordinal) > (?, ?)', after[1], after[2])
  if (after !== null && no === null) {
    where.add('t.plan_no <= ?', after[0])
    where.add('(t.plan_no < ? OR (t.sequence, t.ordinal) > (?, ?))', ...after)
  }
  const order = no === null ? 't.plan_no DESC, t.sequence, t.ordinal' : 't.sequence, t.ordinal'
  const key = (row: Row) => [row.plan_no, row.sequence, row.ordinal]
  return along(sql, query, where, 'INDEXED BY tasks_by_sequence', order, 'tasks in sequence', key)
}

function recent(sql: Connection, query: TaskQuery, no: number | null): Stretch {
  const where = conditions(query, no)
  const after = openCursor('recent tasks', 3, query.cursor)
  const key = (row: Row) => [row.added_at, row.plan_no, row.ordinal]
  if (no !== null) {
    // Ordinals count tasks in the order in which they came.
    where.add('t.ordinal < ?', after?.[2])
    return along(sql, query, where, '', 't.ordinal DESC', 'recent tasks', key)
  }
  if (after !== null) where.add('(t.added_at, t.plan_no, t.ordinal) < (?, ?, ?)', ...after)
  const isOffCourse = query.status !== undefined && OFF_COURSE.includes(query.status)
  // A partial index serves only where its condition is said in the same words.
  if (isOffCourse) where.add(oneOf('t.status', ...OFF_COURSE))
  const index = query.assignee !== undefined ? 'tasks_by_assignee' : isOffCourse ? 'tasks_off_course' : 'tasks_by_time'
  return along(
    sql,
    query,
    where,
    `INDEXED BY ${index}`,
    't.added_at DESC, t.plan_no DESC, t.ordinal DESC',
    'recent tasks',
    key,
  )
}

function conditions(query: TaskQuery, no: number | null): Conditions {
  const where = new Conditions()
  where.add('t.plan_no = ?', no ?? undefined)
  where.add('t.status = ?', query.status)
  where.add('t.assignee = ?', query.assignee)
  where.add('p.archived = ?', query.archived === undefined ? undefined : Number(query.archived))
  return where
}

function along(
  sql: Connection,
  query: TaskQuery,
  where: Conditions,
  index: string,
  order: string,
  list: string,
  key: (row: Row) => readonly unknown[],
): Stretch {
  const rows = sql
    .prepare(`SELECT t.*, p.id AS plan_id FROM tasks t ${index} CROSS JOIN plans p ON p.plan_no = t.plan_no ${where}
      ORDER BY ${order} LIMIT ?`)
    .all(...where.values, limitOf(query.limit) + 1)
  return { rows, list, key: row => key(row) as number[] }
}

function taskRow(row: Row): TaskRow {
  const record = taskOf(row)
  const plan = row.plan_id as PlanId
  return { id: taskId(plan, record.ordinal), plan, ...record }
}
