// What a planner's tables tell beside the plan, as notes for its journal: how long, how often, why not, and the last of its logs.
// Bounded: a note is for people, and the rows themselves stay in the text the plan was read from.

import type { Json, JsonObject } from '../../../domain/json.ts'
import { numberOf } from '../../../domain/phrases.ts'
import { rowsOf } from './task-tables.ts'

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
