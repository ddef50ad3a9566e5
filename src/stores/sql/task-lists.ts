// Lists of tasks and attempts.

import { type PlanId, type TaskName, taskId } from '../../domain/id.ts'
import { type PlanStatus, TASK_STATUSES, type TaskStatus } from '../../domain/status.ts'
import { limitOf, openCursor, pageOf } from '../cursor.ts'
import { attemptRow } from '../journal/projection.ts'
import type { AttemptQuery, AttemptRow, MetricRow, Page, TaskQuery, TaskRow } from '../store.ts'
import { eachLoaded } from '../tables.ts'
import { attemptOf, Conditions, OFF_COURSE, oneOf, type Row, type Sql, taskOf } from './sql.ts'

// The three orders of task lists: as columns, as the key in a cursor, and as a condition for the next page.

interface TaskOrder {
  readonly list: string
  /** For all plans; `plan` is the column with the plan number. */
  readonly columns: (plan: string) => string
  readonly within: string
  readonly key: (row: Row) => readonly number[]
  readonly compare: (a: readonly number[], b: readonly number[]) => number
  /** Only rows after the one with this key; `plan` is null within one plan. */
  readonly behind: (where: Conditions, after: readonly number[], plan: string | null) => void
}

const orderOf = (query: TaskQuery): TaskOrder => ORDERS[query.order ?? 'plan']

const openTaskCursor = (query: TaskQuery, order: TaskOrder): readonly number[] | null =>
  openCursor(order.list, order.key({}).length, query)

const ORDERS: Readonly<Record<'plan' | 'sequence' | 'recent', TaskOrder>> = {
  plan: {
    list: 'tasks',
    columns: plan => `${plan} DESC, t.ordinal`,
    within: 't.ordinal',
    key: keyOf('plan_no', 'ordinal'),
    compare: compareBy(-1, 1),
    behind(where, [number, ordinal], plan) {
      if (plan === null) where.add('t.ordinal > ?', ordinal)
      else where.add(`${plan} <= ? AND (${plan} < ? OR t.ordinal > ?)`, number, number, ordinal)
    },
  },
  sequence: {
    list: 'tasks in sequence',
    columns: plan => `${plan} DESC, t.sequence, t.ordinal`,
    within: 't.sequence, t.ordinal',
    key: keyOf('plan_no', 'sequence', 'ordinal'),
    compare: compareBy(-1, 1, 1),
    behind(where, [number, ...place], plan) {
      const later = '(t.sequence, t.ordinal) > (?, ?)'
      if (plan === null) where.add(later, ...place)
      else where.add(`${plan} <= ? AND (${plan} < ? OR ${later})`, number, number, ...place)
    },
  },
  recent: {
    list: 'recent tasks',
    columns: () => 't.added_at DESC, t.plan_no DESC, t.ordinal DESC',
    // Ordinals are in order of addition.
    within: 't.ordinal DESC',
    key: keyOf('added_at', 'plan_no', 'ordinal'),
    compare: compareBy(-1, -1, -1),
    behind(where, after, plan) {
      if (plan === null) where.add('t.ordinal < ?', after[2])
      else where.add('(t.added_at, t.plan_no, t.ordinal) < (?, ?, ?)', ...after)
    },
  },
}

function keyOf(...columns: readonly string[]): TaskOrder['key'] {
  return row => columns.map(column => row[column] as number)
}

/** 1 for an ascending column, -1 for a descending one. */
function compareBy(...signs: readonly number[]): TaskOrder['compare'] {
  return (a, b) => {
    const at = a.findIndex((value, index) => value !== b[index])
    return at === -1 ? 0 : (a[at]! - b[at]!) * signs[at]!
  }
}

// Lists of tasks. No index has a column that a step of a healthy plan changes, so ready and running tasks are found through the open plans;
// everything else is an index range. For several ranges, the first rows of each are merged.

export function listTasks(sql: Sql, query: TaskQuery, no: number | null): Page<TaskRow> {
  const limit = limitOf(query.limit)
  const order = orderOf(query)
  const after = openTaskCursor(query, order)
  const rows = eachLoaded(stretches(query, no), ({ from, where, plan }) => {
    if (after !== null) order.behind(where, after, no === null ? plan : null)
    const columns = no === null ? order.columns(plan) : order.within
    return sql
      .prepare(`SELECT t.*, p.id AS plan_id FROM ${from} ${where} ORDER BY ${columns} LIMIT ?`)
      .all(...where.values, limit + 1)
  }).flat()
  const first = rows.sort((a, b) => order.compare(order.key(a), order.key(b))).slice(0, limit + 1)
  return pageOf(order.list, query, first, limit, taskRow, order.key)
}

interface Stretch {
  readonly from: string
  readonly where: Conditions
  /** The column with the plan number that comes first in this access path. */
  readonly plan: 't.plan_no' | 'p.plan_no'
}

function stretches(query: TaskQuery, no: number | null): readonly Stretch[] {
  const asked = query.statuses === undefined ? [] : [...new Set(query.statuses)]
  const both =
    query.status === undefined ? asked : [query.status].filter(each => asked.length === 0 || asked.includes(each))
  if (query.statuses === undefined && query.status === undefined) {
    // Tasks of an assignee are read status by status, as their index is ordered.
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
    // A partial index is used only if its condition is repeated literally.
    if (index.endsWith('off_course')) where.add(oneOf('t.status', ...OFF_COURSE))
  }
  return { from: `tasks t ${index} CROSS JOIN plans p ON p.plan_no = t.plan_no`, where, plan: 't.plan_no' }
}

/** The statuses of plans with such tasks. A plan that failed under the first rules may have ready ones. */
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

export function listAttempts(sql: Sql, query: AttemptQuery, no: number): Page<AttemptRow> {
  const limit = limitOf(query.limit)
  const where = new Conditions()
  where.add('a.plan_no = ?', no)
  const after = openCursor('attempts', 3, query)
  if (after !== null) where.add('(a.ordinal, a.visit, a.attempt) > (?, ?, ?)', ...after)
  where.add('t.name = ?', query.task)
  const rows = sql
    .prepare(`SELECT a.*, t.name FROM attempts a JOIN tasks t USING (plan_no, ordinal) ${where}
      ORDER BY a.ordinal, a.visit, a.attempt LIMIT ?`)
    .all(...where.values, limit + 1)
  const key = (row: Row) => [row.ordinal, row.visit, row.attempt] as number[]
  return pageOf('attempts', query, rows, limit, row => attemptRow(attemptOf(row), row.name as TaskName), key)
}

export const metricsOf = (sql: Sql, no: number): readonly MetricRow[] =>
  sql
    .prepare('SELECT * FROM metrics WHERE plan_no = ? ORDER BY kind NULLS FIRST')
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
