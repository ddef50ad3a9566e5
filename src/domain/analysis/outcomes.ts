// The outcomes a task can have. A command or an edit succeeds, fails or is rejected by its approver; a gate is approved or rejected.
// Decisions, agents and actions of later releases may have any outcome.

import { actionFacts } from '../actions/actions.ts'
import type { TaskDefinition } from '../plan.ts'

export function possible(task: TaskDefinition, outcome: string): boolean {
  const closed = outcomes(task)
  return closed === null || closed.includes(outcome) || isFailureMode(task, outcome)
}

/** Null: any. */
export function outcomes({ action, reviews }: TaskDefinition): readonly string[] | null {
  const closed = actionFacts(action).outcomes?.(action) ?? null
  // A review passes or fails, by any kind of task.
  return closed === null || reviews === undefined ? closed : [...closed, 'pass', 'fail']
}

export function isFailureMode(task: TaskDefinition, outcome: string): boolean {
  return task.failureModes?.some(mode => mode.name === outcome) === true
}
