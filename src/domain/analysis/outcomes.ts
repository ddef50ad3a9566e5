// Which outcomes a task can have. A command or an edit succeeds, fails, or is rejected by whoever must judge it; a gate is
// approved or rejected. What a decision, an agent or a later release may say is open.

import { actionFacts } from '../actions/actions.ts'
import type { TaskDefinition } from '../plan.ts'

/** Could the task ever end with this outcome? */
export function possible(task: TaskDefinition, outcome: string): boolean {
  const closed = outcomes(task)
  return closed === null || closed.includes(outcome) || isFailureMode(task, outcome)
}

/** Null when anything may be said. */
export const outcomes = ({ action }: TaskDefinition): readonly string[] | null =>
  actionFacts(action).outcomes?.(action) ?? null

export function isFailureMode(task: TaskDefinition, outcome: string): boolean {
  return task.failureModes?.some(mode => mode.name === outcome) === true
}
