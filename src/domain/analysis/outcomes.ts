// Which outcomes a task can have. A command or an edit succeeds, fails, or is rejected by whoever must judge it; a gate is
// approved or rejected. What a decision, an agent or a later release may say is open.

import type { TaskDefinition } from '../plan.ts'

/** Could the task ever end with this outcome? */
export function possible(task: TaskDefinition, outcome: string): boolean {
  const closed = outcomes(task)
  return closed === null || closed.includes(outcome) || isFailureMode(task, outcome)
}

/** Null when anything may be said. */
export function outcomes(task: TaskDefinition): readonly string[] | null {
  switch (task.action.type) {
    case 'run':
    case 'edit':
    case 'git':
    case 'http':
    case 'db':
    case 'checkpoint':
    case 'verify':
    case 'subplan':
    case 'group':
    case 'items':
      return ['success', 'failure', 'rejected']
    case 'gate':
      if (task.action.gate === 'decision')
        return [
          ...(task.action.options ?? []).map(({ id }) => id),
          'default',
          'success',
          'rejected',
          'expired',
          'failure',
        ]
      return ['approved', 'success', 'rejected', 'expired', 'failure']
    default:
      return null
  }
}

export function isFailureMode(task: TaskDefinition, outcome: string): boolean {
  return task.failureModes?.some(mode => mode.name === outcome) === true
}
