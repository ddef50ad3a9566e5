// Lists of tasks. No index holds what a step of a healthy plan changes, so tasks that are ready or running are found through the
// plans that are open; everything else is a stretch of an index. Where several stretches are asked for, each gives its first
// rows, and the first of all are taken.

import { type PlanId, taskId } from '../../domain/id.ts'
import { type PlanStatus, TASK_STATUSES, type TaskStatus } from '../../domain/status.ts'
import { limitOf, pageOf } from '../cursor.ts'
import type { Page, TaskQuery, TaskRow } from '../store.ts'
import { Conditions } from './conditions.ts'
import type { Connection, Row } from './driver.ts'
import { taskOf } from './projection-tables.ts'
import { OFF_COURSE, oneOf } from './schema.ts'
import { openTaskCursor, orderOf } from './task-order.ts'

export function listTasks(sql: Connection, query: TaskQuery, no: number | null): Page<TaskRow> {
  const limit = limitOf(query.limit)
  const order = orderOf(query)
  const after = openTaskCursor(query, order)
  const rows = stretches(query, no).flatMap(({ from, where, plan }) => {
    if (after !== null) order.behind(where, after, no === null ? plan : null)
    const columns = no === null ? order.columns(plan) : order.within
    return sql
      .prepare(`SELECT t.*, p.id AS plan_id FROM ${from} ${where} ORDER BY ${columns} LIMIT ?`)
      .all(...where.values, limit + 1)
  })
  const first = rows.sort((a, b) => order.compare(order.key(a), order.key(b))).slice(0, limit + 1)
  return pageOf(order.list, query, first, limit, taskRow, order.key)
}

interface Stretch {
  readonly from: string
  readonly where: Conditions
  /** The column with the number of the plan that comes first on this way. */
  readonly plan: 't.plan_no' | 'p.plan_no'
}

function stretches(query: TaskQuery, no: number | null): readonly Stretch[] {
  const asked = query.statuses === undefined ? [] : [...new Set(query.statuses)]
  const both =
    query.status === undefined ? asked : [query.status].filter(each => asked.length === 0 || asked.includes(each))
  if (query.statuses === undefined && query.status === undefined) {
    // Whoever asks for somebody's tasks gets them status by status: that is how their index is cut.
    if (no !== null || query.assignee === undefined) return [along(query, no, undefined)]
    return TASK_STATUSES.map(status => along(query, no, status))
  }
  return both.flatMap(status => {
    const isOpen = no === null && query.assignee === undefined && (status === 'ready' || status === 'running')
    return isOpen ? throughPlans(query, status) : [along(query, no, status)]
  })
}

function along(query: TaskQuery, no: number | null, status: TaskStatus | undefined): Stretch {
  const where = new Conditions()
  where.add('t.plan_no = ?', no ?? undefined)
  where.add('t.assignee = ?', query.assignee)
  where.add('t.status = ?', status)
  where.add('p.archived = ?', query.archived === undefined ? undefined : Number(query.archived))
  const isOffCourse = status !== undefined && OFF_COURSE.includes(status)
  let index = query.order === 'sequence' ? 'INDEXED BY tasks_by_sequence' : ''
  if (no === null) {
    if (query.assignee !== undefined) index = 'INDEXED BY tasks_by_assignee'
    else if (isOffCourse) index = 'INDEXED BY tasks_off_course'
    else if (query.order === 'recent') index = 'INDEXED BY tasks_by_time'
    // A partial index serves only where its condition is said in the same words.
    if (index.endsWith('off_course')) where.add(oneOf('t.status', ...OFF_COURSE))
  }
  return { from: `tasks t ${index} CROSS JOIN plans p ON p.plan_no = t.plan_no`, where, plan: 't.plan_no' }
}

/** Where such tasks can be. A plan that failed under the first rules may have left some ready. */
const OPEN: Readonly<Record<'ready' | 'running', readonly PlanStatus[]>> = {
  ready: ['active', 'paused', 'failed'],
  running: ['active', 'paused'],
}

function throughPlans(query: TaskQuery, status: 'ready' | 'running'): readonly Stretch[] {
  const index = query.order === 'sequence' ? 'INDEXED BY tasks_by_sequence' : ''
  return OPEN[status].flatMap(planStatus =>
    (query.archived === undefined ? [0, 1] : [Number(query.archived)]).map(archived => {
      const where = new Conditions()
      where.add('p.status = ? AND p.archived = ? AND t.status = ?', planStatus, archived, status)
      const from = `plans p INDEXED BY plans_by_status CROSS JOIN tasks t ${index} ON t.plan_no = p.plan_no`
      return { from, where, plan: 'p.plan_no' as const }
    }),
  )
}

function taskRow(row: Row): TaskRow {
  const record = taskOf(row)
  const plan = row.plan_id as PlanId
  return { id: taskId(plan, record.ordinal), plan, ...record }
}
