// The journal as SQLite alone shows it. None of the product's own code reads it here: the format is docs/formats/journal.md.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { wordHints } from '../../../src/cli/text/hint-text.ts'

export interface JournalEvent {
  readonly type: string
  readonly task?: string
  readonly visit?: number
  readonly attempt?: number
  readonly [field: string]: unknown
}

export interface JournalEntry {
  readonly plan: string
  readonly name: string
  readonly position: number
  readonly version: number
  readonly at: number
  readonly actor: string
  readonly events: readonly JournalEvent[]
}

export interface PlanRow {
  readonly id: string
  readonly name: string
  readonly status: string
}

export function readPlans(workspace: string): readonly PlanRow[] {
  return query<PlanRow>(workspace, 'SELECT id, name, status FROM plans ORDER BY plan_no')
}

export function readJournal(workspace: string): readonly JournalEntry[] {
  interface Row {
    readonly plan: string
    readonly name: string
    readonly position: number
    readonly version: number
    readonly at: number
    readonly actor: string
    readonly body: string | null
  }
  const rows = query<Row>(
    workspace,
    'SELECT p.id AS plan, p.name, position, version, at, actor, body FROM entries JOIN plans p USING (plan_no) ORDER BY position',
  )
  return rows.map(({ body, ...row }) => {
    if (body === null)
      throw new Error(`entry ${row.version} of ${row.name} is a blob; the plans of the kill loop are small`)
    const { events } = JSON.parse(body) as { events: readonly unknown[] }
    return { ...row, events: events.map(written) }
  })
}

/** Events of attempts are stored as lists. */
function written(event: unknown): JournalEvent {
  if (!Array.isArray(event)) return event as JournalEvent
  const [type, task, visit, attempt, more] = event as [string, string, number, number, unknown]
  if (type === 'attempt.started') return { type, task, visit, attempt, ...(more as object | undefined) }
  return { type, task, visit, attempt, result: more }
}

function query<T>(workspace: string, sql: string): readonly T[] {
  const file = join(workspace, '.planfold/planfold.db')
  if (!existsSync(file)) return []
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
  try {
    const isMade = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'entries'").all().length > 0
    return isMade ? (database.prepare(sql).all() as T[]) : []
  } finally {
    database.close()
  }
}

/** An event of the journal as the command line tells it: what to do about a failure is a value there, and words here. */
export const asTold = (event: unknown): unknown => JSON.parse(JSON.stringify(event, wordHints))
