// A task that compensates another one: `compensate: { task: undo-push }`. It stands among the others and sleeps; only the
// engine wakes it, when what the other did is to be undone. The rules it must keep: compensator-faults.ts.

import type { TaskName } from './id.ts'
import type { TaskDefinition } from './plan.ts'

/** The task that undoes what this one did, when a task of the plan does. */
export function compensatorOf({ compensate }: TaskDefinition): TaskName | null {
  return compensate?.type === 'task' ? compensate.task : null
}

/** The tasks of a list, expanded, that only compensate others. */
export function compensatorsAmong(tasks: Iterable<TaskDefinition>): ReadonlySet<TaskName> {
  const found = new Set<TaskName>()
  for (const task of tasks) {
    const by = compensatorOf(task)
    if (by !== null) found.add(by)
  }
  return found
}
