// The changes of an entry in the query tables: a pure function of the entry and the state after it. Stores write them in the transaction of
// the entry (law L2); `check` computes them again and compares.

import type { Event } from '../../domain/event.ts'
import { tasksOf } from '../../domain/events/event-row.ts'
import { rowOf } from '../../domain/events/event-table.ts'
import type { Millis, PlanName, TaskName } from '../../domain/id.ts'
import { type PlanState, sequenceOf, type TaskState } from '../../domain/state/state.ts'
import { NOTHING } from '../../domain/state/task-index.ts'
import type { PlanStatus, TaskStatus } from '../../domain/status.ts'
import { keptOrNull } from '../search/storable-text.ts'
import type { AttemptRow } from '../store.ts'

export interface PlanRecord {
  readonly name: PlanName
  readonly title: string | null
  readonly goalText: string | null
  readonly goal: string | null
  readonly session: string | null
  readonly agent: string | null
  readonly status: PlanStatus
  readonly revision: number
  readonly tasks: number
  readonly done: number
  readonly archived: boolean
  readonly createdAt: Millis
  readonly updatedAt: Millis
  readonly startedAt: Millis | null
  readonly endedAt: Millis | null
}

export interface TaskRecord {
  readonly ordinal: number
  readonly sequence: number
  readonly addedAt: Millis
  readonly name: TaskName
  readonly title: string | null
  readonly kind: string | null
  readonly assignee: string | null
  readonly status: TaskStatus
  readonly visit: number
  readonly attempt: number
  readonly startedAt: Millis | null
  readonly endedAt: Millis | null
}

export interface AttemptRecord extends Omit<AttemptRow, 'task'> {
  readonly ordinal: number
}

export interface Changes {
  /** True when the plan's row changed in more than `done` and `updatedAt`. */
  readonly planMoved: boolean
  readonly state: PlanState
  /** The changed tasks; `all` for a new definition, a plan that ended uncompleted, or a finished rollback. */
  readonly tasks: readonly TaskState[] | 'all'
  readonly added: readonly TaskState[]
  readonly attempts: readonly AttemptChange[]
}

/** A start adds the row of an attempt, an end completes it. An end without a start does both. */
export type AttemptChange =
  | {
      readonly type: 'started'
      readonly ordinal: number
      readonly visit: number
      readonly attempt: number
      readonly at: Millis
    }
  | ({
      readonly type: 'ended'
      readonly ordinal: number
      readonly visit: number
      readonly attempt: number
      readonly at: Millis
    } & Ending)

interface Ending {
  readonly status: 'succeeded' | 'failed' | 'lost'
  readonly durationMs: number | null
  readonly exit: number | null
  readonly failureClass: string | null
}

export function project(events: readonly Event[], now: Millis, state: PlanState): Changes {
  let planMoved = false
  let all = false
  const names = new Set<TaskName>()
  let added: Set<TaskName> | null = null
  const attempts: AttemptChange[] = []
  for (const event of events) {
    const rows = rowOf(event).rows?.(event)
    planMoved ||= rows === 'plan' || rows === 'all'
    all ||= rows === 'all'
    if (event.type === 'task.added') {
      added ??= new Set()
      for (const name of tasksOf(event)) added.add(name)
    } else if (rows === 'tasks') for (const name of tasksOf(event)) names.add(name)
    const change = attemptChange(event, now, state)
    if (change !== null) attempts.push(change)
  }
  if (all) return { planMoved, state, tasks: 'all', added: NOTHING, attempts }
  const tasks: TaskState[] = []
  for (const name of names) {
    const task = added?.has(name) === true ? undefined : state.tasks.get(name)
    if (task !== undefined) tasks.push(task)
  }
  return {
    planMoved,
    state,
    tasks,
    added: added === null ? NOTHING : Array.from(added, name => state.tasks.get(name)!),
    attempts,
  }
}

function attemptChange(event: Event, at: Millis, state: PlanState): AttemptChange | null {
  if (!('attempt' in event)) return null
  const ordinal = state.tasks.get(event.task)?.ordinal
  if (ordinal === undefined) return null
  const row = { ordinal, visit: event.visit, attempt: event.attempt, at }
  switch (event.type) {
    case 'attempt.started':
      return { type: 'started', ...row }
    case 'attempt.lost':
      return { type: 'ended', ...row, status: 'lost', durationMs: null, exit: null, failureClass: null }
    case 'attempt.succeeded':
    case 'attempt.failed': {
      const { result } = event
      return {
        type: 'ended',
        ...row,
        status: result.status,
        durationMs: result.durationMs ?? null,
        exit: result.exit ?? null,
        failureClass: result.status === 'failed' ? result.failure.class : null,
      }
    }
    default:
      return null
  }
}

export function changesByTask(attempts: readonly AttemptChange[]): Map<number, AttemptChange[]> {
  const byTask = new Map<number, AttemptChange[]>()
  for (const change of attempts) {
    const known = byTask.get(change.ordinal)
    if (known === undefined) byTask.set(change.ordinal, [change])
    else known.push(change)
  }
  return byTask
}

export const doneCount = (state: PlanState): number => state.counts.completed + state.counts.skipped

export function planRecord(state: PlanState): PlanRecord {
  return {
    name: state.definition.name,
    title: keptOrNull(state.definition.title),
    goalText: keptOrNull(state.definition.goal),
    goal: keptOrNull(state.goal),
    session: keptOrNull(state.session),
    agent: keptOrNull(state.agent),
    status: state.status,
    revision: state.revision,
    tasks: state.order.length,
    done: doneCount(state),
    archived: state.archived,
    createdAt: state.createdAt,
    updatedAt: state.updatedAt,
    startedAt: state.startedAt,
    endedAt: state.endedAt,
  }
}

export function taskRecord(task: TaskState): TaskRecord {
  const { definition, ordinal, addedAt, status, visit, attempt, startedAt, endedAt } = task
  return {
    ordinal,
    sequence: sequenceOf(task),
    addedAt,
    name: definition.id,
    title: keptOrNull(definition.title),
    kind: keptOrNull(definition.kind),
    assignee: assigneeOf(task),
    status,
    visit,
    attempt,
    startedAt,
    endedAt,
  }
}

export const assigneeOf = (task: TaskState): string | null => keptOrNull(task.definition.assignee ?? task.claim?.by)

export function attemptAfter(before: AttemptRecord | undefined, change: AttemptChange): AttemptRecord {
  const { ordinal, visit, attempt, at } = change
  if (change.type === 'started') {
    return {
      ordinal,
      visit,
      attempt,
      status: 'running',
      startedAt: at,
      endedAt: null,
      durationMs: null,
      exit: null,
      failureClass: null,
    }
  }
  const { status, durationMs, exit, failureClass } = change
  return {
    ordinal,
    visit,
    attempt,
    status,
    startedAt: before?.startedAt ?? at,
    endedAt: at,
    durationMs,
    exit,
    failureClass,
  }
}

/** The duration as shown: measured by the runner, else from start to end. */
export function attemptRow(record: AttemptRecord, task: TaskName): AttemptRow {
  const { ordinal: _, ...row } = record
  const between = record.endedAt === null ? null : record.endedAt - record.startedAt
  return { task, ...row, durationMs: record.durationMs ?? between }
}
