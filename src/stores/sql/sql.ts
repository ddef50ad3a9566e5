// What the lists of every SQL store need from it. They are written once, in SQLite's words; PostgreSQL translates them.

import type { PlanName, TaskName } from '../../domain/id.ts'
import type { PlanStatus, TaskStatus } from '../../domain/status.ts'
import type { AttemptRecord, PlanRecord, TaskRecord } from '../journal/projection.ts'
import type { AttemptRow, PlanSet } from '../store.ts'

export type Value = null | number | string | Uint8Array
export type Row = { readonly [column: string]: Value }

export interface Sql {
  prepare(text: string): {
    get(...values: readonly Value[]): Row | undefined
    all(...values: readonly Value[]): readonly Row[]
  }
  /** The value for `MATCH`: all of these words, each as a prefix, in the texts of plans, of tasks, or in output. */
  matching(words: readonly string[], kind: 'plan' | 'task' | 'log'): string
}

/** A WHERE clause; absent values are skipped. */
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

export function taskOf(row: Row): TaskRecord {
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

export function addWithin(where: Conditions, { plans = [], sessions = [] }: PlanSet): void {
  const listed = (column: string): string => `${column} IN (SELECT value FROM json_each(?))`
  where.add(`(${listed('p.id')} OR ${listed('p.session')})`, JSON.stringify(plans), JSON.stringify(sessions))
}

/** A condition: one of these words. With `instr`, because SQLite builds an index for an `IN` list at every check. */
export const oneOf = (column: string, ...words: readonly string[]): string =>
  `instr('|${words.join('|')}|', '|' || ${column} || '|') > 0`

/** The statuses of tasks that a step of a healthy plan neither leaves nor enters. */
export const OFF_COURSE: readonly TaskStatus[] = ['waiting', 'blocked', 'failed', 'skipped', 'abandoned', 'cancelled']
