// The tables of the task planner: `task_plans` with the steps of each plan, `task_executions`, `task_metrics`, `task_logs` and
// `file_snapshots`, as one JSON value. A row of `task_plans` is a plan and is read as a step list. How a step ended is what its
// last execution says; durations, errors and logs become notes. Read only: there is no way back into tables.

import { advise, type Hint, quoted } from '../../../domain/hint.ts'
import type { TaskName } from '../../../domain/id.ts'
import { isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { Dialect, EndedStatus, Reading } from '../../../format/plan/dialect.ts'
import { endedStatus } from '../../../format/plan/dialect.ts'
import { readDocument } from '../../../format/text/document.ts'
import { isList, Source } from '../../../format/text/source.ts'
import { statusWords } from '../../../format/text/status-words.ts'
import { DocumentBuilder } from '../document-builder.ts'
import { planSlug } from '../names.ts'
import { stepList } from './step-list.ts'

export const TABLES = ['task_plans', 'task_executions', 'file_snapshots', 'task_metrics', 'task_logs'] as const
export type Table = (typeof TABLES)[number]

/** Executions say `success` where steps say `completed`. */
const EXECUTION = statusWords({
  pending: 'pending',
  running: 'running',
  success: 'completed',
  completed: 'completed',
  failed: 'failed',
  skipped: 'skipped',
})

export const taskTables: Dialect = {
  name: 'task-tables',
  about: "a task planner's tables (task_plans, task_executions, …) as JSON or SQLite, one plan for each row",
  recognises: ({ map }) => map !== null && isTables(map),
  read,
}

export function isTables(map: JsonObject): boolean {
  return isList(map.task_plans) && !Object.hasOwn(map, 'planfold')
}

export function rowsOf(map: JsonObject, table: Table): readonly JsonObject[] {
  const rows = map[table]
  return isList(rows) ? rows.filter(isMap) : []
}

/** One document for each plan, with the rows that belong to it and no others. */
export function plansOf(map: JsonObject): readonly { readonly id: string; readonly text: string }[] {
  return rowsOf(map, 'task_plans').map(row => {
    const own = (table: Table) => rowsOf(map, table).filter(other => other.plan_id === row.id)
    const document = {
      task_plans: [row],
      task_executions: own('task_executions'),
      file_snapshots: own('file_snapshots').map(({ content, ...snapshot }) => snapshot),
      task_metrics: own('task_metrics'),
      task_logs: own('task_logs').slice(-LOGS_MAX),
    }
    return { id: String(row.id ?? '?').slice(0, 200), text: `${JSON.stringify(document, null, 2)}\n` }
  })
}

/** The last of them tell the most. */
export const LOGS_MAX = 500

function read(source: Source): Reading {
  if (!source.read.ok) return source.read
  const draft = new DocumentBuilder(source)
  const refused = (path: readonly (string | number)[], message: string, hint: Hint): Reading => {
    draft.refuse({ path, message, hint })
    return draft.reading({})
  }
  const map = source.map ?? {}
  const plans = isList(map.task_plans) ? map.task_plans : []
  const row = plans[0]
  if (!isMap(row)) return refused([], 'there is no plan in these tables', 'task_plans has one row for each plan')
  if (plans.length > 1)
    return refused(
      ['task_plans', 1],
      `these tables hold ${plans.length} plans`,
      advise`${quoted('import')} makes a plan of each`,
    )
  const at = ['task_plans', 0]
  const columns: { [key: string]: Json } = {}
  for (const [key, value] of Object.entries(row)) {
    const json = JSON_COLUMNS.has(key) && typeof value === 'string' ? readDocument(value === '' ? 'null' : value) : null
    if (json?.ok === false)
      return refused(
        [...at, key],
        `the column '${key}' is not JSON: ${json.diagnostics[0]?.message ?? ''}`,
        'correct the row',
      )
    columns[key] = json === null ? value : json.document.value
    if (columns[key] === null) delete columns[key]
  }
  if (!isList(columns.steps))
    return refused([...at, 'steps'], "the column 'steps' is not a list", 'it holds the steps as JSON')
  const reading = stepList.read(new Source(JSON.stringify(columns)))
  if (!reading.ok) {
    for (const { message, hint = 'correct the row' } of reading.diagnostics)
      draft.refuse({ path: [...at, 'steps'], message, hint })
    return draft.reading({})
  }
  const tasks = isList(reading.plan.tasks) ? reading.plan.tasks.filter(isMap) : []
  const names = new Map(
    tasks.map((task, index) => [idOf((columns.steps as readonly Json[])[index]), task.id as TaskName]),
  )
  for (const [index] of tasks.entries())
    draft.trace.mark(['tasks', index], { path: [...at, 'steps', ...(isList(row.steps) ? [index] : [])] })
  const ended = new Map<TaskName, EndedStatus | null>(reading.ended)
  for (const [index, execution] of rowsOf(map, 'task_executions').entries()) {
    const name = names.get(idOf({ id: execution.step_id ?? null }))
    const status = EXECUTION.read(execution.status ?? null)
    if (!status.ok)
      draft.refuse({ path: ['task_executions', index, 'status'], message: status.message, hint: status.hint })
    else if (name === undefined)
      draft.warn(
        [],
        `an execution is of step ${JSON.stringify(execution.step_id)}, which the plan has not`,
        'it is only kept',
      )
    // Rows stand in the order they were made: the last one says how it ended.
    else ended.set(name, endedStatus(status.status as never))
  }
  for (const [name, status] of ended) if (status !== null) draft.ended.set(name, status)
  draft.warnings.push(...reading.warnings)
  draft.sketch.push(...reading.sketch)
  return draft.reading({ ...reading.plan, name: nameOf(columns) })
}

const JSON_COLUMNS: ReadonlySet<string> = new Set(['steps', 'context', 'checkpoints'])

function idOf(step: Json | undefined): string {
  const id = isMap(step) ? step.id : undefined
  return typeof id === 'string' || typeof id === 'number' ? String(id) : '\n'
}

/** What it is about, and its id: the same row has the same name whenever it is read. */
function nameOf(row: JsonObject): string {
  const about = planSlug(plainLetters(String(row.description ?? '')))?.slice(0, 40)
  const id = planSlug(String(row.id ?? ''))?.slice(-50)
  return planSlug(`${about ?? 'plan'}-${id ?? 'unnamed'}`) ?? 'plan'
}

function plainLetters(text: string): string {
  return text.slice(0, 400).toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '')
}
