// Runs an ended plan once more, as a new plan from its file. If it did not complete, and effects happened that are unsafe to repeat,
// `--again` is required (operations/run-plan.ts asks for it).

import { effectOf } from '../plan-rules/effect.ts'
import type { PlanState } from '../state/state.ts'

export function howToStartOver({ status, definition, order }: PlanState): string {
  if (status === 'completed') return startOverText([])
  const isUnsafe = (task: PlanState['order'][number]): boolean => effectOf(definition, task.definition) === 'unsafe'
  return startOverText(
    order.filter(task => task.status === 'completed' && isUnsafe(task)).map(task => task.definition.id),
  )
}

/** `done`: completed tasks that are unsafe to repeat, in a plan that did not complete. */
export function startOverText(done: readonly string[]): string {
  const [first, ...others] = done
  if (first === undefined) return 'run its plan file again: that creates a new plan'
  const names = `'${first}'${others.length === 0 ? '' : ` and ${others.length} more`}`
  return `run its plan file again with --again: ${names} completed and ${others.length === 0 ? 'is' : 'are'} unsafe to repeat`
}
