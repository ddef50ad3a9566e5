// Limits for a plan that keeps failing: circuit breakers per capability, and caps for the whole plan.

import type { Millis } from '../id.ts'
import { BREAKER_DEFAULT, PLAN_ATTEMPTS_DEFAULT, PLAN_LOOPS_DEFAULT, TASKS_MAX } from '../limits.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import { hasLayers, policyOf } from '../policy/policy-in-state.ts'
import type { FailureClass } from '../result.ts'
import type { PlanState, TaskState } from '../state/state.ts'

// Circuit breakers, one for each capability that tasks name. After so many consecutive transient or resource failures, no task that needs
// the capability begins for a while; then one may try, and its result decides.
//
//   closed ── failures in a row ──► open until a time ── it passes ──► half open: one may try ── success ──► closed
//                                     ▲                                      │
//                                     └───────────────── failure ────────────┘
//
// `policy.breaker` sets the count and the time.

export const breakerOf = ({ policy }: PlanDefinition): { readonly failures: number; readonly cooldownMs: number } =>
  policy?.breaker ?? BREAKER_DEFAULT

/** Does the failure concern the capability itself, not what it was asked? */
export const countsForBreaker = (kind: FailureClass): boolean => kind === 'transient' || kind === 'resource'

/** The breakers after one more attempt. Returns the same object when nothing changed. */
export function breakersAfter(
  breakers: PlanState['breakers'],
  { capabilities }: TaskDefinition,
  trouble: boolean,
): PlanState['breakers'] {
  if (capabilities === undefined) return breakers
  let after = breakers
  for (const capability of new Set(capabilities)) {
    const known = after.find(one => one.capability === capability)
    if (trouble) {
      const others = after.filter(one => one !== known)
      after = [...others, { capability, failures: (known?.failures ?? 0) + 1, until: known?.until ?? null }]
    } else if (known !== undefined && known.until === null) after = after.filter(one => one !== known)
  }
  return after
}

/** The breaker that delays a task: the one that is open longest, or that another task is trying; null for none. */
export function blockingBreaker(
  state: PlanState,
  { definition: { capabilities } }: TaskState,
  now: Millis,
  isTried: (capability: string) => boolean,
): { readonly capability: string; readonly until: Millis } | null {
  if (state.breakers.length === 0 || capabilities === undefined) return null
  let held: { capability: string; until: Millis } | null = null
  for (const { capability, until } of state.breakers) {
    if (until === null || !capabilities.includes(capability) || (until <= now && !isTried(capability))) continue
    if (held === null || until > held.until) held = { capability, until }
  }
  return held
}

export const isTriedIn = (tasks: Iterable<TaskState>, capability: string): boolean => {
  for (const { definition } of tasks) if (definition.capabilities?.includes(capability) === true) return true
  return false
}

// Limits for a whole plan, so that endless loops end with a reason.

export const attemptsMax = ({ policy }: PlanDefinition): number => policy?.limits?.attempts || PLAN_ATTEMPTS_DEFAULT
export const loopsMax = ({ policy }: PlanDefinition): number => policy?.limits?.loops || PLAN_LOOPS_DEFAULT

export const tasksMax = ({ policy }: PlanDefinition): number => Math.min(policy?.limits?.tasks || TASKS_MAX, TASKS_MAX)

export const tasksHint = ({ policy }: PlanDefinition): string =>
  policy?.limits?.tasks === undefined ? 'split it into several plans' : 'raise policy.limits.tasks, or do less'

/** Why no further attempt may begin; null when one may. */
export function attemptsUsedUp(state: PlanState): string | null {
  const { attempts, definition } = state
  const max = Math.min(attemptsMax(definition), around(state, 'attempts'))
  if (attempts < max) return null
  return `the plan has used all of its ${max} attempts (policy.limits.attempts)`
}

/** Why no task may be reopened automatically; null when one may. */
export function loopsUsedUp(state: PlanState): string | null {
  const { loops, definition } = state
  const max = Math.min(loopsMax(definition), around(state, 'loops'))
  if (loops < max) return null
  return `the plan has used all of its ${max} loops (policy.limits.loops)`
}

/** The limit of the policy layers around the plan. */
const around = (state: PlanState, key: 'attempts' | 'loops'): number =>
  hasLayers(state) ? (policyOf(state).limits[key] ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
