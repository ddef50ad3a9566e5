// Caps over a whole plan, whatever its tasks say: a plan that goes round and round ends, and says why.

import { PLAN_ATTEMPTS_DEFAULT, PLAN_LOOPS_DEFAULT } from './limits.ts'
import type { PlanDefinition } from './plan.ts'
import type { PlanState } from './state.ts'

export const attemptsMax = ({ policy }: PlanDefinition): number => policy?.limits?.attempts || PLAN_ATTEMPTS_DEFAULT
export const loopsMax = ({ policy }: PlanDefinition): number => policy?.limits?.loops || PLAN_LOOPS_DEFAULT

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
