// Tables of another planner, from a JSON dump or a SQLite file: one plan for each row of `task_plans`, listed one by one, also
// those that could not be made. The source is only read.

import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { answer, printNote } from '../../../cli/answer.ts'
import { type Context, withState } from '../../../cli/context.ts'
import { complaintOf, EXIT, type ExitCode, type FileDiagnostic, usage } from '../../../cli/exit.ts'
import { parsePlanText, readText, refuseSketch } from '../../../cli/plan-file.ts'
import { hintText } from '../../../cli/text/hint-text.ts'
import { type Composed, foreignTables } from '../../../compose.ts'
import type { TaskName } from '../../../domain/id.ts'
import type { Json, JsonObject } from '../../../domain/json.ts'
import { numberOf } from '../../../domain/phrases.ts'
import { Source } from '../../../format/text/source.ts'
import { isTables, plansOf, rowsOf, TABLES, taskTables } from '../planstore/task-tables.ts'
import { type ImportOptions, type Made, make, tasks } from './import.ts'

export async function tablesIn(context: Context, word: string, from: string | undefined): Promise<JsonObject | null> {
  if (from !== undefined && from !== 'task-tables') return null
  const path = resolve(context.cwd, word)
  if (word !== '-' && (await stat(path).catch(() => null))?.isFile() === true) {
    const { databaseKind, readForeignTables } = await foreignTables()
    const kind = databaseKind(path)
    if (kind === 'duckdb')
      throw usage(
        `${word} is a DuckDB file, which is not read here`,
        'export its tables as JSON: {"task_plans": […], "task_executions": […], …}',
      )
    if (kind === 'sqlite') {
      const read = readForeignTables(path, TABLES, { file_snapshots: ['content'] })
      if (!read.ok) throw usage(`${word}: ${read.message}`, read.hint)
      if (!read.tables.has('task_plans'))
        throw usage(`${word} has no table task_plans`, 'of databases, only those of a planner with task_plans are read')
      return Object.fromEntries(read.tables)
    }
  }
  if (!/\.json$/i.test(word) && from === undefined) return null
  const text = await readText(context, word)
  if (!text.includes('"task_plans"')) return null
  const { map } = new Source(text)
  return map !== null && isTables(map) ? map : null
}

type ImportedRow =
  | (Made & { readonly row: string; readonly ok: true; readonly notes: number; readonly notesFailed: string | null })
  | {
      readonly row: string
      readonly ok: false
      readonly error: { readonly code: string; readonly message: string; readonly hint: string | null }
    }

export async function importTables(
  context: Context,
  word: string,
  map: JsonObject,
  options: ImportOptions,
): Promise<number> {
  const rows = plansOf(map)
  if (rows.length === 0) throw usage(`there is no plan in ${word}`, 'task_plans has one row for each plan')
  if (options.name !== undefined && rows.length > 1)
    throw usage(
      `${word} contains ${numberOf(rows.length, 'plan')}, and --name names one`,
      'leave --name out; each is named after its row',
    )
  return await withState(context, { create: true }, async composed => {
    const results: ImportedRow[] = []
    let exit: ExitCode = EXIT.done
    for (const { id, text } of rows) {
      if (context.hangup.aborted) break
      try {
        results.push(await importRow(context, composed, { word, id, text }, options))
      } catch (error) {
        const complaint = complaintOf(error)
        if (complaint === null) throw error
        if (exit === EXIT.done) exit = complaint.exit
        const { code, hint } = complaint
        // The text of a row was generated here, so its lines mean nothing to the user; the row does.
        const [first] = complaint.diagnostics
        const message = first === undefined ? complaint.message : saidOf(first)
        results.push({ row: id, ok: false, error: { code, message, hint } })
        printNote(context, `✘ row ${JSON.stringify(id)}: ${message}${hint === null ? '' : `\n  hint: ${hint}`}`)
      }
    }
    const made = results.filter(one => one.ok)
    answer(context, { plans: results, made: made.length, failed: rows.length - made.length }, () => [
      ...made.map(({ name, row, notes }) => `${name}: made from row ${JSON.stringify(row)}, with ${notes} notes`),
      `${made.length} of ${numberOf(rows.length, 'plan')} made`,
    ])
    return exit
  })
}

async function importRow(
  context: Context,
  composed: Composed,
  { word, id, text }: { readonly word: string; readonly id: string; readonly text: string },
  options: ImportOptions,
): Promise<ImportedRow> {
  const file = await parsePlanText(`${word}(${id})`, text, {
    dialect: taskTables,
    fallbackName: 'plan',
  })
  refuseSketch(file)
  for (const warning of file.warnings)
    printNote(
      context,
      `! row ${JSON.stringify(id)}: ${saidOf(warning)}${warning.hint === undefined ? '' : `\n  hint: ${hintText(warning.hint)}`}`,
    )
  const made = await make(composed, file, options)
  const names = stepNames(file.definition.tasks)
  let notes = 0
  for (const { step, text: note } of notesOf(JSON.parse(text) as JsonObject)) {
    const task = step === null ? undefined : names.get(step)
    const about = step !== null && task === undefined ? `step ${step}: ` : ''
    const submitted = await composed.engine.submit(made.plan, {
      type: 'note',
      text: `${about}${note}`,
      task,
    })
    if (!submitted.ok) {
      printNote(context, `${made.name}: created, but its history could not be recorded: ${submitted.refusal.message}`)
      return { ...made, row: id, ok: true, notes, notesFailed: submitted.refusal.message }
    }
    notes++
  }
  printNote(context, `✔ row ${JSON.stringify(id)}: ${made.name} with ${tasks(file)}`)
  return { ...made, row: id, ok: true, notes, notesFailed: null }
}

function saidOf({ message, path }: FileDiagnostic): string {
  return path === undefined ? message : `${message} (${path})`
}

function stepNames(
  tasks: readonly { readonly id: TaskName; readonly extra?: JsonObject }[],
): ReadonlyMap<string, TaskName> {
  return new Map(tasks.map(({ id, extra }) => [String(extra?.id ?? id), id]))
}

// What a planner's tables tell beside the plan, as notes for its journal: how long, how often, why not, and the last of its logs.
// Bounded: a note is for people, and the rows themselves stay in the text the plan was read from.

export interface Note {
  /** The step's id in the tables; null for the plan. */
  readonly step: string | null
  readonly text: string
}

const NOTE_MAX = 4_000
const LINES_MAX = 40
const LINE_MAX = 300

export function notesOf(map: JsonObject): readonly Note[] {
  const [plan = {}] = rowsOf(map, 'task_plans')
  const about = [
    `imported from the tables of another planner, plan ${word(plan.id)}: it was ${word(plan.status)}`,
    ...said('created', plan.created_at),
    ...said('completed', plan.completed_at),
    ...rowsOf(map, 'task_metrics').map(metricsLine),
    ...snapshots(map),
    ...rowsOf(map, 'task_logs')
      .filter(log => stepOf(log) === null)
      .map(logLine),
  ]
  const steps = new Map<string, string[]>()
  const add = (row: JsonObject, line: string): void => {
    const step = stepOf(row)
    if (step === null) return
    const lines = steps.get(step)
    if (lines === undefined) steps.set(step, [line])
    else lines.push(line)
  }
  for (const execution of rowsOf(map, 'task_executions')) add(execution, executionLine(execution))
  for (const log of rowsOf(map, 'task_logs')) add(log, logLine(log))
  return [{ step: null, text: bounded(about) }, ...[...steps].map(([step, lines]) => ({ step, text: bounded(lines) }))]
}

function executionLine(row: JsonObject): string {
  const took = typeof row.duration_ms === 'number' ? ` after ${row.duration_ms} ms` : ''
  const retries = typeof row.retries === 'number' && row.retries > 0 ? `, ${numberOf(row.retries, 'retry')}` : ''
  const error = [row.error_message, row.error].find(text => typeof text === 'string' && text !== '')
  const why = error === undefined ? '' : `: ${String(error)}`
  return `execution ${word(row.id)}: ${word(row.status)}${took}${retries}${why}`
}

function metricsLine(row: JsonObject): string {
  const counts = [
    'total_steps',
    'completed_steps',
    'failed_steps',
    'skipped_steps',
    'total_duration_ms',
    'total_retries',
  ]
  return `metrics: ${counts.flatMap(key => (typeof row[key] === 'number' ? [`${key} ${row[key]}`] : [])).join(', ')}`
}

function snapshots(map: JsonObject): readonly string[] {
  const count = rowsOf(map, 'file_snapshots').length
  return count === 0 ? [] : [`${count} file snapshots stay where they are: their content is not brought over`]
}

function logLine(row: JsonObject): string {
  return `${word(row.created_at ?? '')} ${word(row.level)}: ${word(row.message)}`.trimStart()
}

function said(what: string, when: Json | undefined): readonly string[] {
  return when === undefined || when === null ? [] : [`${what} ${word(when)}`]
}

function stepOf(row: JsonObject): string | null {
  const { step_id } = row
  return (typeof step_id === 'string' && step_id !== '') || typeof step_id === 'number' ? String(step_id) : null
}

function word(value: Json | undefined): string {
  return typeof value === 'string' ? value : value === undefined ? '?' : JSON.stringify(value)
}

/** The first line, and the last of the others. */
function bounded(lines: readonly string[]): string {
  const short = lines.map(line => (line.length > LINE_MAX ? `${line.slice(0, LINE_MAX)}…` : line))
  const shown =
    short.length <= LINES_MAX
      ? short
      : [short[0]!, `… ${short.length - LINES_MAX} more …`, ...short.slice(short.length - LINES_MAX + 1)]
  return shown.join('\n').slice(0, NOTE_MAX)
}
