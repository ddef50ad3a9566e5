// What must the world do next? Asked after every change, answered from the indexes: the cost grows with what is under way,
// never with the plan.

import { inLine, needsPreparing } from './decisions/starting.ts'
import type { Millis } from './id.ts'
import type { Action } from './plan.ts'
import type { PlanState, TaskState } from './state.ts'
import { PLAN_ENDED } from './status.ts'
import { isTimed } from './task-graph.ts'

export interface NextActions {
  /** Attempts the journal says are under way; whoever drives the plan carries out those it has not begun. */
  readonly perform: Iterable<TaskState>
  /** Tasks in line that must be prepared before they may start. */
  readonly prepare: readonly TaskState[]
  /** The compensation under way. */
  readonly compensate: { readonly task: TaskState; readonly action: Action } | null
  /** A turn would make something true: a task can start, a retry is due, the plan can end. */
  readonly turn: boolean
  /** When a turn will next be due without anything happening. */
  readonly wakeAt: Millis | null
  /** Nothing is left for the engine to do: the plan ended, is paused, or waits for people or agents. */
  readonly rest: 'ended' | 'paused' | 'draft' | 'waiting' | null
}

export function nextActions(state: PlanState, now: Millis): NextActions {
  const line = inLine(state)
  const prepare = line.filter(task => needsPreparing(state, task))
  const timer = state.status === 'active' ? state.timers.peek(isTimed) : undefined
  const wakeAt = timer?.at ?? null
  const compensate = compensation(state)
  const canCompensate =
    state.compensating !== null &&
    state.compensation === null &&
    state.running.size === 0 &&
    state.compensating.length > 0
  return {
    perform: state.running,
    prepare,
    compensate,
    turn: line.length > prepare.length || (wakeAt !== null && wakeAt <= now) || canCompensate,
    wakeAt,
    rest: restOf(state, line.length > 0 || wakeAt !== null || canCompensate || compensate !== null),
  }
}

function restOf(state: PlanState, more: boolean): NextActions['rest'] {
  if (state.running.size > 0) return null
  if (PLAN_ENDED.has(state.status)) return 'ended'
  if (state.status === 'paused' || state.status === 'draft') return state.status
  return more ? null : 'waiting'
}

function compensation(state: PlanState): NextActions['compensate'] {
  const task = state.compensation === null ? undefined : state.tasks.get(state.compensation)
  const action = task?.definition.compensate
  return task === undefined || action === undefined ? null : { task, action }
}
