// Where a task stands among the tasks of its plan: by the word of whoever wrote it (`sequence_order`), when that is a number that can
// be compared exactly; else in the order in which it came.

import type { TaskDefinition } from './plan.ts'
import type { TaskState } from './state.ts'

export function sequenceOf({ definition, ordinal }: TaskState): number {
  const said = definition.extra?.sequence_order
  return Number.isSafeInteger(said) ? (said as number) : ordinal
}

/** The task with another number. One that was offered by its number is offered by the new one. */
export function withSequence(task: TaskDefinition, sequence: number): TaskDefinition {
  const before = task.extra?.sequence_order
  const isOfferedByIt = typeof before === 'number' && (task.priority ?? 0) === -before
  return {
    ...task,
    ...(isOfferedByIt ? { priority: -sequence } : {}),
    extra: { ...task.extra, sequence_order: sequence },
  }
}
