// Caps over a whole plan, whatever its tasks say: a plan that goes round and round ends, and says why.

import { PLAN_ATTEMPTS_DEFAULT, PLAN_LOOPS_DEFAULT, TASKS_MAX } from './limits.ts'
import type { PlanDefinition } from './plan.ts'
import type { PlanState } from './state.ts'

export const attemptsMax = ({ policy }: PlanDefinition): number => policy?.limits?.attempts || PLAN_ATTEMPTS_DEFAULT
export const loopsMax = ({ policy }: PlanDefinition): number => policy?.limits?.loops || PLAN_LOOPS_DEFAULT

/** How many tasks it may have; a plan may say less than what any plan may have. */
export const tasksMax = ({ policy }: PlanDefinition): number => Math.min(policy?.limits?.tasks || TASKS_MAX, TASKS_MAX)

/** What to do about too many. */
export const tasksHint = ({ policy }: PlanDefinition): string =>
  policy?.limits?.tasks === undefined ? 'split it into several plans' : 'raise policy.limits.tasks, or do less'

/** Why no further attempt may begin; null when one may. */
export function attemptsUsedUp({ rules, attempts, definition }: PlanState): string | null {
  const max = attemptsMax(definition)
  if (rules < 3 || attempts < max) return null
  return `the plan has had all of its ${max} attempts (policy.limits.attempts)`
}

/** Why no task may be opened again by itself; null when one may. */
export function loopsUsedUp({ rules, loops, definition }: PlanState): string | null {
  const max = loopsMax(definition)
  if (rules < 3 || loops < max) return null
  return `the plan has gone back all of its ${max} times (policy.limits.loops)`
}
