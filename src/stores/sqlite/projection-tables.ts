// Plans and tasks in SQLite: the rows that are written with every entry, and their lists.

import { type PlanId, type PlanName, type TaskName, taskId } from '../../domain/id.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { type PlanStatus, TASK_STATUSES, type TaskStatus } from '../../domain/status.ts'
import { limitOf, openCursor, pageOf } from '../cursor.ts'
import {
  type AttemptChange,
  type AttemptRecord,
  assigneeOf,
  type Changes,
  type PlanRecord,
  planRecord,
  type TaskRecord,
  taskRecord,
} from '../journal/projection.ts'
import type { AttemptRow, Page, TaskQuery, TaskRow } from '../store.ts'
import type { Connection, Row, Statement, Value } from './driver.ts'
import { OFF_COURSE, oneOf } from './schema.ts'

export class SqliteProjections {
  readonly #sql: Connection
  readonly #wrote: () => void
  readonly #moveTask: Statement
  readonly #addTask: Statement
  readonly #renameTask: Statement
  readonly #moveAndStart: Statement
  readonly #moveAndEnd: Statement
  readonly #start: Statement
  readonly #end: Statement
  readonly #setAside: Statement

  constructor(sql: Connection, wrote: () => void) {
    this.#sql = sql
    this.#wrote = wrote
    const moved = 'status = ?, visit = ?, attempt = ?, started_at = ?, ended_at = ?, assignee = ?'
    const started = `last_visit = ?, last_attempt = ?, last_status = 'running', last_started_at = ?, last_ended_at = NULL,
      last_duration_ms = NULL, last_exit = NULL, last_failure_class = NULL`
    const ended = `last_status = ?, last_ended_at = ?, last_duration_ms = ?, last_exit = ?, last_failure_class = ?`
    const one = 'WHERE plan_no = ? AND ordinal = ?'
    this.#moveTask = sql.prepare(`UPDATE tasks SET ${moved} ${one}`)
    this.#moveAndStart = sql.prepare(`UPDATE tasks SET ${moved}, ${started} ${one}`)
    this.#moveAndEnd = sql.prepare(`UPDATE tasks SET ${moved}, ${ended} ${one} AND last_visit = ? AND last_attempt = ?`)
    this.#start = sql.prepare(`UPDATE tasks SET ${started} ${one}`)
    this.#end = sql.prepare(`UPDATE tasks SET ${ended} ${one} AND last_visit = ? AND last_attempt = ?`)
    this.#setAside =
      sql.prepare(`INSERT INTO earlier_attempts SELECT plan_no, ordinal, last_visit, last_attempt, last_status,
      last_started_at, last_ended_at, last_duration_ms, last_exit, last_failure_class FROM tasks
      ${one} AND last_attempt IS NOT NULL`)
    this.#addTask =
      sql.prepare(`INSERT INTO tasks (plan_no, ordinal, name, title, kind, assignee, status, visit, attempt,
      started_at, ended_at, sequence, added_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#renameTask = sql.prepare(`UPDATE tasks SET name = ?, title = ?, kind = ?, sequence = ?, ${moved} ${one}`)
  }

  apply(no: number, { planMoved, state, tasks, added, attempts }: Changes): void {
    this.#wrote()
    const all = tasks === 'all'
    if (planMoved) this.#movePlan(no, state)
    if (all) {
      this.#definePlan(no, state)
      this.#replaceTasks(no, state)
    }
    if (added.length > 0) {
      for (const task of added) this.#add(no, taskRecord(task))
      this.#sql.prepare('UPDATE plans SET tasks = ? WHERE plan_no = ?').run(state.order.length, no)
    }
    const byTask = changesByTask(attempts)
    if (!all) {
      for (const task of tasks) {
        const changes = byTask.get(task.ordinal)
        if (changes?.length === 1 && this.#moveWithAttempt(no, task, changes[0]!)) byTask.delete(task.ordinal)
        else this.#move(no, task)
      }
    }
    for (const changes of byTask.values()) for (const change of changes) this.#attempt(no, change)
  }

  records(no: number): { plan: PlanRecord; tasks: readonly TaskRecord[]; attempts: readonly AttemptRecord[] } {
    const plan = this.#sql
      .prepare('SELECT p.*, e.at, e.done FROM plans p JOIN last_entries e USING (plan_no) WHERE p.plan_no = ?')
      .get(no)
    if (plan === undefined) throw new Error(`plan number ${no} has no row`)
    return {
      plan: planOf(plan),
      tasks: this.#sql.prepare('SELECT * FROM tasks WHERE plan_no = ?').all(no).map(taskOf),
      attempts: this.#sql.prepare('SELECT * FROM attempts WHERE plan_no = ?').all(no).map(attemptOf),
    }
  }

  /** Only changed columns, because SQLite rewrites every index with a column in SET, changed or not. */
  #movePlan(no: number, state: PlanState): void {
    const { status, archived, startedAt, endedAt } = planRecord(state)
    this.#sql
      .prepare('UPDATE plans SET status = ?, started_at = ?, ended_at = ? WHERE plan_no = ?')
      .run(status, startedAt, endedAt, no)
    this.#sql.prepare('UPDATE plans SET archived = ?1 WHERE plan_no = ?2 AND archived <> ?1').run(Number(archived), no)
  }

  #definePlan(no: number, state: PlanState): void {
    const { name, title, goalText, goal, session, revision, tasks } = planRecord(state)
    this.#sql
      .prepare(`UPDATE plans SET name = ?, title = ?, goal_text = ?, goal = ?, session = ?, revision = ?, tasks = ?
        WHERE plan_no = ?`)
      .run(name, title, goalText, goal, session, revision, tasks, no)
  }

  #move(no: number, task: TaskState): void {
    const { status, visit, attempt, startedAt, endedAt, ordinal } = task
    this.#moveTask.run(status, visit, attempt, startedAt, endedAt, assigneeOf(task), no, ordinal)
  }

  /** Only the rows that differ: a definition may be large and its change small. */
  #replaceTasks(no: number, state: PlanState): void {
    const there = this.#storedTasks(no)
    for (const task of state.order) {
      const record = taskRecord(task)
      const before = there.get(record.ordinal)
      there.delete(record.ordinal)
      if (before !== undefined && sameTask(before, record)) continue
      if (before === undefined) this.#add(no, record)
      else this.#rename(no, record)
    }
    for (const ordinal of there.keys()) {
      this.#sql.prepare('DELETE FROM tasks WHERE plan_no = ? AND ordinal = ?').run(no, ordinal)
      this.#sql.prepare('DELETE FROM earlier_attempts WHERE plan_no = ? AND ordinal = ?').run(no, ordinal)
    }
  }

  /** Read as one text: 300 rows of 12 columns one by one take nine times as long. */
  #storedTasks(no: number): Map<number, TaskRecord> {
    const [text] = this.#sql
      .prepareLists(`SELECT json_group_array(json_object('ordinal', ordinal, 'sequence', sequence, 'added_at', added_at,
        'name', name, 'title', title, 'kind', kind, 'assignee', assignee, 'status', status, 'visit', visit,
        'attempt', attempt, 'started_at', started_at, 'ended_at', ended_at)) FROM tasks WHERE plan_no = ?`)
      .get(no)!
    const rows = JSON.parse(text as string) as readonly Row[]
    return new Map(rows.map(row => [row.ordinal as number, taskOf(row)]))
  }

  #add(no: number, record: TaskRecord): void {
    const { ordinal, name, title, kind, assignee, status, visit, attempt, startedAt, endedAt } = record
    const { sequence, addedAt } = record
    this.#addTask.run(
      no,
      ordinal,
      name,
      title,
      kind,
      assignee,
      status,
      visit,
      attempt,
      startedAt,
      endedAt,
      sequence,
      addedAt,
    )
  }

  #rename(no: number, record: TaskRecord): void {
    const { ordinal, name, title, kind, sequence, assignee, status, visit, attempt, startedAt, endedAt } = record
    this.#renameTask.run(name, title, kind, sequence, status, visit, attempt, startedAt, endedAt, assignee, no, ordinal)
  }

  /** The usual case in one statement: the task changes because its attempt began or ended. False for other cases. */
  #moveWithAttempt(no: number, task: TaskState, change: AttemptChange): boolean {
    const { status, visit, attempt, startedAt, endedAt, ordinal } = task
    const assignee = assigneeOf(task)
    if (change.type === 'started') {
      if (change.attempt > 1 || change.visit > 1) this.#setAside.run(no, ordinal)
      this.#moveAndStart.run(
        status,
        visit,
        attempt,
        startedAt,
        endedAt,
        assignee,
        change.visit,
        change.attempt,
        change.at,
        no,
        ordinal,
      )
      return true
    }
    const { changes } = this.#moveAndEnd.run(
      status,
      visit,
      attempt,
      startedAt,
      endedAt,
      assignee,
      change.status,
      change.at,
      change.durationMs,
      change.exit,
      change.failureClass,
      no,
      ordinal,
      change.visit,
      change.attempt,
    )
    return changes > 0
  }

  #attempt(no: number, change: AttemptChange): void {
    const { ordinal, visit, attempt, at } = change
    if (change.type === 'ended') {
      const { status, durationMs, exit, failureClass } = change
      const end = () => this.#end.run(status, at, durationMs, exit, failureClass, no, ordinal, visit, attempt).changes
      if (end() > 0) return
      // An end without a start does both.
      this.#setAside.run(no, ordinal)
      this.#start.run(visit, attempt, at, no, ordinal)
      end()
      return
    }
    this.#setAside.run(no, ordinal)
    this.#start.run(visit, attempt, at, no, ordinal)
  }
}

function changesByTask(attempts: readonly AttemptChange[]): Map<number, AttemptChange[]> {
  const byTask = new Map<number, AttemptChange[]>()
  for (const change of attempts) {
    const known = byTask.get(change.ordinal)
    if (known === undefined) byTask.set(change.ordinal, [change])
    else known.push(change)
  }
  return byTask
}

function sameTask(a: TaskRecord, b: TaskRecord): boolean {
  for (const key of Object.keys(b) as (keyof TaskRecord)[]) if (a[key] !== b[key]) return false
  return true
}

export function planOf(row: Row): PlanRecord {
  return {
    name: row.name as PlanName,
    title: row.title as string | null,
    goalText: row.goal_text as string | null,
    goal: row.goal as string | null,
    session: row.session as string | null,
    agent: row.agent as string | null,
    status: row.status as PlanStatus,
    revision: row.revision as number,
    tasks: row.tasks as number,
    done: row.done as number,
    archived: row.archived === 1,
    createdAt: row.created_at as number,
    updatedAt: row.at as number,
    startedAt: row.started_at as number | null,
    endedAt: row.ended_at as number | null,
  }
}

function taskOf(row: Row): TaskRecord {
  return {
    ordinal: row.ordinal as number,
    sequence: row.sequence as number,
    addedAt: row.added_at as number,
    name: row.name as TaskName,
    title: row.title as string | null,
    kind: row.kind as string | null,
    assignee: row.assignee as string | null,
    status: row.status as TaskStatus,
    visit: row.visit as number,
    attempt: row.attempt as number,
    startedAt: row.started_at as number | null,
    endedAt: row.ended_at as number | null,
  }
}

export function attemptOf(row: Row): AttemptRecord {
  return {
    ordinal: row.ordinal as number,
    visit: row.visit as number,
    attempt: row.attempt as number,
    status: row.status as AttemptRow['status'],
    startedAt: row.started_at as number,
    endedAt: row.ended_at as number | null,
    durationMs: row.duration_ms as number | null,
    exit: row.exit as number | null,
    failureClass: row.failure_class as string | null,
  }
}

// A WHERE clause built from conditions; absent values are skipped.

export class Conditions {
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
