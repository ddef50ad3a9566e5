// The reading half of the query tables.

import type { TaskName } from '../../domain/id.ts'
import type { ProjectionTables } from '../tables.ts'
import { listPlans, overviewPlans } from './plan-lists.ts'
import { attemptOf, planOf, type Sql, taskOf } from './sql.ts'
import { listAttempts, listTasks, metricsOf } from './task-lists.ts'

export const sqlLists = (sql: Sql): Omit<ProjectionTables, 'apply'> => ({
  taskName(no, ordinal) {
    const row = sql.prepare('SELECT name FROM tasks WHERE plan_no = ? AND ordinal = ?').get(no, ordinal)
    return row === undefined ? null : (row.name as TaskName)
  },
  ordinal(no, task) {
    const row = sql.prepare('SELECT ordinal FROM tasks WHERE plan_no = ? AND name = ?').get(no, task)
    return row === undefined ? null : (row.ordinal as number)
  },
  plans: (query, words) => listPlans(sql, query, words),
  overview: (query, words) => overviewPlans(sql, query, words),
  tasks: (query, no) => listTasks(sql, query, no),
  attempts: (query, no) => listAttempts(sql, query, no),
  metrics: no => metricsOf(sql, no),
  records(no) {
    const plan = sql
      .prepare('SELECT p.*, e.at, e.done FROM plans p JOIN last_entries e USING (plan_no) WHERE p.plan_no = ?')
      .get(no)
    if (plan === undefined) throw new Error(`plan number ${no} has no row`)
    return {
      plan: planOf(plan),
      tasks: sql.prepare('SELECT * FROM tasks WHERE plan_no = ?').all(no).map(taskOf),
      attempts: sql.prepare('SELECT * FROM attempts WHERE plan_no = ?').all(no).map(attemptOf),
    }
  },
})
