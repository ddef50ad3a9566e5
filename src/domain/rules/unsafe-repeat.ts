// Repeating a completed task with an unsafe effect needs an explicit choice, not only a `retry`. Not for tasks that ask for an approval in
// their new visit, and not for compensated ones.

import { needsConsent } from '../gates/consent-rules.ts'
import { advise, quoted } from '../hint.ts'
import type { TaskName } from '../id.ts'
import { effectOf } from '../plan-rules/effect.ts'
import { type Refusal, refuse } from '../refusal.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { transitiveDependants } from '../state/task-index.ts'

/** The option that allows it, which refusals list. */
export const REPEAT = 'repeat'

const NAMED_MAX = 5

/** Why these may not be retried without that choice; null when nothing unsafe would be repeated. */
export function refuseRepeat(state: PlanState, works: readonly TaskState[]): Refusal | null {
  const repeated = [...works, ...transitiveDependants(works)].filter(task => repeatsUnsafely(state, task))
  const [first] = repeated
  if (first === undefined) return null
  const names = namedTasks(repeated.map(({ definition }) => definition.id))
  const isOne = repeated.length === 1
  return refuse(
    'not-ready',
    `${names} ${isOne ? 'is' : 'are'} completed and would be done a second time; ${isOne ? 'its effect is' : 'their effects are'} unsafe to repeat`,
    advise`to do that on purpose: ${quoted('retry', { plan: state.definition.name, task: works[0]?.definition.id ?? '', repeat: true })}`,
    [REPEAT],
  )
}

export function namedTasks(tasks: readonly TaskName[]): string {
  const names = tasks.slice(0, NAMED_MAX).map(name => `'${name}'`)
  return `${names.join(', ')}${tasks.length > NAMED_MAX ? ` and ${tasks.length - NAMED_MAX} more` : ''}`
}

/** It completed and was not compensated, its effect is unsafe, and nobody would be asked before it is repeated. */
export function repeatsUnsafely(state: PlanState, task: TaskState): boolean {
  const { status, definition } = task
  if (status !== 'completed' || effectOf(state.definition, definition) !== 'unsafe') return false
  return !needsConsent(state, task) && !state.compensated.includes(definition.id)
}
