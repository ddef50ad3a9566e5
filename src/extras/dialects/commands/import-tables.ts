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
import type { JsonObject } from '../../../domain/json.ts'
import { numberOf } from '../../../domain/phrases.ts'
import { Source } from '../../../format/text/source.ts'
import { isTables, plansOf, TABLES, taskTables } from '../planstore/task-tables.ts'
import { notesOf } from '../planstore/task-tables-notes.ts'
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
