// The query tables in SQLite, as entries change them: rows of plans, tasks and attempts.

import type { PlanName, TaskName } from '../../domain/id.ts'
import type { PlanState, TaskState } from '../../domain/state.ts'
import type { PlanStatus, TaskStatus } from '../../domain/status.ts'
import {
  type AttemptChange,
  type AttemptRecord,
  assigneeOf,
  type Changes,
  type PlanRecord,
  planRecord,
  type TaskRecord,
  taskRecord,
} from '../projection.ts'
import type { AttemptRow } from '../store.ts'
import type { Connection, Row, Statement } from './driver.ts'

export class SqliteProjections {
  readonly #sql: Connection
  readonly #wrote: () => void
  readonly #moveTask: Statement
  readonly #addTask: Statement
  readonly #replaceTask: Statement
  readonly #startAttempt: Statement
  readonly #endAttempt: Statement

  constructor(sql: Connection, wrote: () => void) {
    this.#sql = sql
    this.#wrote = wrote
    this.#moveTask =
      sql.prepare(`UPDATE tasks SET status = ?, visit = ?, attempt = ?, started_at = ?, ended_at = ?, assignee = ?
      WHERE plan_no = ? AND ordinal = ?`)
    this.#addTask = sql.prepare('INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
    this.#replaceTask = sql.prepare('REPLACE INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
    this.#startAttempt = sql.prepare(`INSERT INTO attempts (plan_no, ordinal, visit, attempt, status, started_at)
      VALUES (?, ?, ?, ?, 'running', ?)`)
    this.#endAttempt =
      sql.prepare(`UPDATE attempts SET status = ?, ended_at = ?, duration_ms = ?, exit = ?, failure_class = ?
      WHERE plan_no = ? AND ordinal = ? AND visit = ? AND attempt = ?`)
  }

  apply(no: number, { planMoved, state, tasks, attempts }: Changes): void {
    this.#wrote()
    if (planMoved) this.#movePlan(no, state)
    if (tasks === 'all') this.#replaceTasks(no, state)
    else for (const task of tasks) this.#move(no, task)
    for (const change of attempts) this.#attempt(no, change)
  }

  records(no: number): { plan: PlanRecord; tasks: readonly TaskRecord[]; attempts: readonly AttemptRecord[] } {
    const plan = this.#sql
      .prepare('SELECT p.*, h.at, h.done FROM plans p JOIN heads h USING (plan_no) WHERE plan_no = ?')
      .get(no)
    if (plan === undefined) throw new Error(`plan number ${no} has no row`)
    return {
      plan: planOf(plan),
      tasks: this.#sql.prepare('SELECT * FROM tasks WHERE plan_no = ?').all(no).map(taskOf),
      attempts: this.#sql.prepare('SELECT * FROM attempts WHERE plan_no = ?').all(no).map(attemptOf),
    }
  }

  #movePlan(no: number, state: PlanState): void {
    const { name, title, goalText, goal, session, status, revision, tasks, archived, startedAt, endedAt } =
      planRecord(state)
    this.#sql
      .prepare(`UPDATE plans SET name = ?, title = ?, goal_text = ?, goal = ?, session = ?, status = ?, revision = ?, tasks = ?,
        archived = ?, started_at = ?, ended_at = ? WHERE plan_no = ?`)
      .run(name, title, goalText, goal, session, status, revision, tasks, Number(archived), startedAt, endedAt, no)
  }

  #move(no: number, task: TaskState): void {
    const { status, visit, attempt, startedAt, endedAt, ordinal } = task
    this.#moveTask.run(status, visit, attempt, startedAt, endedAt, assigneeOf(task), no, ordinal)
  }

  /** Writes only the rows that differ: a definition may be large and its change small. */
  #replaceTasks(no: number, state: PlanState): void {
    const there = new Map<number, TaskRecord>()
    for (const row of this.#sql.prepare('SELECT * FROM tasks WHERE plan_no = ?').all(no))
      there.set(row.ordinal as number, taskOf(row))
    for (const task of state.order) {
      const record = taskRecord(task)
      const before = there.get(record.ordinal)
      there.delete(record.ordinal)
      if (before !== undefined && sameTask(before, record)) continue
      const { ordinal, name, title, kind, assignee, status, visit, attempt, startedAt, endedAt } = record
      const write = before === undefined ? this.#addTask : this.#replaceTask
      write.run(no, ordinal, name, title, kind, assignee, status, visit, attempt, startedAt, endedAt)
    }
    for (const ordinal of there.keys()) {
      this.#sql.prepare('DELETE FROM tasks WHERE plan_no = ? AND ordinal = ?').run(no, ordinal)
      this.#sql.prepare('DELETE FROM attempts WHERE plan_no = ? AND ordinal = ?').run(no, ordinal)
    }
  }

  #attempt(no: number, change: AttemptChange): void {
    const { ordinal, visit, attempt, at } = change
    if (change.type === 'started') {
      this.#startAttempt.run(no, ordinal, visit, attempt, at)
      return
    }
    const { status, durationMs, exit, failureClass } = change
    const { changes } = this.#endAttempt.run(status, at, durationMs, exit, failureClass, no, ordinal, visit, attempt)
    if (changes > 0) return
    // An end nobody started stands for both.
    this.#startAttempt.run(no, ordinal, visit, attempt, at)
    this.#endAttempt.run(status, at, durationMs, exit, failureClass, no, ordinal, visit, attempt)
  }
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

export function taskOf(row: Row): TaskRecord {
  return {
    ordinal: row.ordinal as number,
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
