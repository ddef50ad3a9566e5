// Plans, tasks and attempts in SQLite: the rows that are written with every entry.

import type { PlanState, TaskState } from '../../domain/state/state.ts'
import {
  type AttemptChange,
  assigneeOf,
  type Changes,
  changesByTask,
  planRecord,
  type TaskRecord,
  taskRecord,
} from '../journal/projection.ts'
import { type Row, taskOf } from '../sql/sql.ts'
import type { Connection, Statement } from './driver.ts'

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

function sameTask(a: TaskRecord, b: TaskRecord): boolean {
  for (const key of Object.keys(b) as (keyof TaskRecord)[]) if (a[key] !== b[key]) return false
  return true
}
