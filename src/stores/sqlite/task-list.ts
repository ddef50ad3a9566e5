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
  if (query.order === 'recent') return recent(sql, query, no)
  return query.order === 'sequence' ? inSequence(sql, query, no) : asTheyCame(sql, query, no)
}

function asTheyCame(sql: Connection, query: TaskQuery, no: number | null): Page<TaskRow> {
  const where = conditions(query, no)
  const after = openCursor('tasks', 2, query.cursor)
  if (after !== null && no === null) where.add('t.plan_no <= ?', after[0])
  if (after !== null) where.add('(t.plan_no < ? OR t.ordinal > ?)', after[0], after[1])
  return page(sql, query, where, '', 't.plan_no DESC, t.ordinal', 'tasks', row => [row.plan_no, row.ordinal])
}

function inSequence(sql: Connection, query: TaskQuery, no: number | null): Page<TaskRow> {
  const where = conditions(query, no)
  const after = openCursor('tasks in sequence', 3, query.cursor)
  if (after !== null && no !== null) where.add('(t.sequence, t.ordinal) > (?, ?)', after[1], after[2])
  if (after !== null && no === null) {
    where.add('t.plan_no <= ?', after[0])
    where.add('(t.plan_no < ? OR (t.sequence, t.ordinal) > (?, ?))', ...after)
  }
  const order = no === null ? 't.plan_no DESC, t.sequence, t.ordinal' : 't.sequence, t.ordinal'
  const key = (row: Row) => [row.plan_no, row.sequence, row.ordinal]
  return page(sql, query, where, 'INDEXED BY tasks_by_sequence', order, 'tasks in sequence', key)
}

function recent(sql: Connection, query: TaskQuery, no: number | null): Page<TaskRow> {
  const where = conditions(query, no)
  const after = openCursor('recent tasks', 3, query.cursor)
  const key = (row: Row) => [row.added_at, row.plan_no, row.ordinal]
  if (no !== null) {
    // Ordinals count tasks in the order in which they came.
    where.add('t.ordinal < ?', after?.[2])
    return page(sql, query, where, '', 't.ordinal DESC', 'recent tasks', key)
  }
  if (after !== null) where.add('(t.added_at, t.plan_no, t.ordinal) < (?, ?, ?)', ...after)
  const isOffCourse = query.status !== undefined && OFF_COURSE.includes(query.status)
  // A partial index serves only where its condition is said in the same words.
  if (isOffCourse) where.add(oneOf('t.status', ...OFF_COURSE))
  const index = query.assignee !== undefined ? 'tasks_by_assignee' : isOffCourse ? 'tasks_off_course' : 'tasks_by_time'
  const along = `INDEXED BY ${index}`
  return page(sql, query, where, along, 't.added_at DESC, t.plan_no DESC, t.ordinal DESC', 'recent tasks', key)
}

function conditions(query: TaskQuery, no: number | null): Conditions {
  const where = new Conditions()
  where.add('t.plan_no = ?', no ?? undefined)
  where.add('t.status = ?', query.status)
  where.add('t.assignee = ?', query.assignee)
  where.add('p.archived = ?', query.archived === undefined ? undefined : Number(query.archived))
  return where
}

function page(
  sql: Connection,
  query: TaskQuery,
  where: Conditions,
  along: string,
  order: string,
  list: string,
  key: (row: Row) => readonly unknown[],
): Page<TaskRow> {
  const limit = limitOf(query.limit)
  const rows = sql
    .prepare(`SELECT t.*, p.id AS plan_id FROM tasks t ${along} CROSS JOIN plans p ON p.plan_no = t.plan_no ${where}
      ORDER BY ${order} LIMIT ?`)
    .all(...where.values, limit + 1)
  return pageOf(list, rows, limit, taskRow, row => key(row) as number[])
}

function taskRow(row: Row): TaskRow {
  const record = taskOf(row)
  const plan = row.plan_id as PlanId
  return { id: taskId(plan, record.ordinal), plan, ...record }
}
