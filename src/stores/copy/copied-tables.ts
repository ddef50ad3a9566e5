// What a copy of a store consists of: its tables, in the order in which they are sent, with the columns that all stores have. Search, steps
// and stored folds are left out, because they are made again from the journal. The query rows are copied, because a plan that other rules
// wrote cannot be folded here. Owners are left out: the plans of a copy are not driven.

import { StoreDamaged, StoreRefused } from '../store.ts'

export type CopiedValue = string | number | null
export type CopiedRow = Readonly<Record<string, CopiedValue>>

/** Bytes are sent as hexadecimal digits. */
export type ColumnType = 'number' | 'text' | 'bytes'

export interface CopiedTable {
  readonly name: string
  readonly columns: Readonly<Record<string, ColumnType>>
  /** The columns that order its rows. */
  readonly key: readonly string[]
  /** Rows are only added, with larger numbers, so a copy goes on behind the last one. */
  readonly grows?: true
}

const numbers = (...names: readonly string[]) => Object.fromEntries(names.map(name => [name, 'number' as const]))
const texts = (...names: readonly string[]) => Object.fromEntries(names.map(name => [name, 'text' as const]))
const bytes = (...names: readonly string[]) => Object.fromEntries(names.map(name => [name, 'bytes' as const]))

export const COPIED_TABLES: readonly CopiedTable[] = [
  {
    name: 'plans',
    columns: {
      ...numbers('plan_no', 'revision', 'tasks', 'archived', 'created_at', 'started_at', 'ended_at'),
      ...texts('id', 'name', 'title', 'goal_text', 'goal', 'session', 'agent', 'status'),
    },
    key: ['plan_no'],
  },
  // `version`: the last one that the journal is known to have reached.
  { name: 'heads', columns: numbers('plan_no', 'version', 'fence'), key: ['plan_no'] },
  {
    name: 'entries',
    columns: {
      ...numbers('position', 'plan_no', 'version', 'at', 'fence', 'done', 'format', 'old_position'),
      ...texts('actor', 'body'),
      ...bytes('blob', 'hash'),
    },
    key: ['position'],
    grows: true,
  },
  {
    name: 'tasks',
    columns: {
      ...numbers('plan_no', 'ordinal', 'visit', 'attempt', 'started_at', 'ended_at', 'sequence', 'added_at'),
      ...numbers('last_visit', 'last_attempt', 'last_started_at', 'last_ended_at', 'last_duration_ms', 'last_exit'),
      ...texts('name', 'title', 'kind', 'assignee', 'status', 'last_status', 'last_failure_class'),
    },
    key: ['plan_no', 'ordinal'],
  },
  {
    name: 'earlier_attempts',
    columns: {
      ...numbers('plan_no', 'ordinal', 'visit', 'attempt', 'started_at', 'ended_at', 'duration_ms', 'exit'),
      ...texts('status', 'failure_class'),
    },
    key: ['plan_no', 'ordinal', 'visit', 'attempt'],
  },
  {
    name: 'task_claims',
    columns: { ...numbers('plan_no', 'ordinal', 'expires', 'until', 'lease'), ...texts('token', 'boot') },
    key: ['plan_no', 'ordinal'],
  },
  {
    name: 'reservations',
    columns: { ...numbers('plan_no', 'ordinal', 'visit', 'since', 'at', 'ended'), ...texts('root', 'reserves') },
    key: ['plan_no', 'ordinal'],
  },
  {
    name: 'task_logs',
    columns: { ...numbers('seq', 'plan_no', 'ordinal', 'visit', 'attempt', 'at'), ...texts('stream', 'text') },
    key: ['seq'],
    grows: true,
  },
  {
    name: 'streams',
    columns: { ...numbers('stream_no', 'version'), ...texts('kind', 'id', 'row'), ...bytes('hash') },
    key: ['stream_no'],
  },
  {
    name: 'stream_entries',
    columns: { ...numbers('stream_no', 'version', 'at'), ...texts('actor', 'body'), ...bytes('hash') },
    key: ['stream_no', 'version'],
  },
  {
    name: 'once',
    columns: { ...numbers('version', 'made', 'at'), ...texts('actor', 'key', 'kind', 'id'), ...bytes('hash') },
    key: ['actor', 'key'],
  },
  {
    name: 'pruned',
    columns: { ...numbers('entries', 'position', 'at', 'last'), ...texts('plan_id', 'name'), ...bytes('last_hash') },
    key: ['position', 'plan_id'],
  },
  {
    name: 'memories',
    columns: { ...numbers('memory_no', 'at', 'expires_at'), ...texts('scope', 'owner', 'key', 'body', 'text') },
    key: ['memory_no'],
  },
  {
    name: 'memory_vectors',
    columns: { ...numbers('vector_no', 'memory_no', 'dimension'), ...texts('model'), ...bytes('vector') },
    key: ['vector_no'],
  },
  { name: 'halts', columns: { ...numbers('at'), ...texts('by', 'reason') }, key: ['at'] },
]

/** Throws unless the row has exactly the columns of the table, each of its type. */
export function demandRow(table: CopiedTable, row: unknown): asserts row is CopiedRow {
  const found = Object.entries((row ?? {}) as Record<string, unknown>)
  const isWhole =
    found.length === Object.keys(table.columns).length &&
    found.every(([name, value]) => Object.hasOwn(table.columns, name) && fits(table.columns[name]!, value))
  if (!isWhole) throw new StoreDamaged(`a row of ${table.name} has other columns or values than this table can hold`)
}

function fits(type: ColumnType, value: unknown): boolean {
  if (value === null) return true
  if (type === 'number') return Number.isSafeInteger(value)
  return typeof value === 'string' && (type === 'text' || /^([0-9a-f]{2})*$/.test(value))
}

/** For a store that holds half a copy. */
export const unfinished = (source: string): StoreRefused =>
  new StoreRefused(
    `this store is an unfinished copy of ${source}`,
    'start the same copy again: it goes on where it was; or remove this store',
  )
