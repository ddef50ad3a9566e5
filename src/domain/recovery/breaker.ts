// What stops a plan that keeps failing: breakers around a dependency, and caps over the whole plan.

import type { Millis } from '../id.ts'
import { BREAKER_DEFAULT, PLAN_ATTEMPTS_DEFAULT, PLAN_LOOPS_DEFAULT, TASKS_MAX } from '../limits.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import { hasLayers, policyOf } from '../policy/policy-in-state.ts'
import type { FailureClass } from '../result.ts'
import type { PlanState, TaskState } from '../state/state.ts'

// Circuit breakers, one for each capability that tasks name. So many failures in a row that may pass by themselves, and nothing
// that needs the capability begins for a while; then one may try, and its end decides.
//
//   closed ── failures in a row ──► open until a time ── it passes ──► half open: one may try ── success ──► closed
//                                     ▲                                      │
//                                     └───────────────── failure ────────────┘
//
// `policy.breaker` says how many and how long.

export const breakerOf = ({ policy }: PlanDefinition): { readonly failures: number; readonly cooldownMs: number } =>
  policy?.breaker ?? BREAKER_DEFAULT

/** A failure that tells of the capability, not of what it was asked. */
export const countsForBreaker = (kind: FailureClass): boolean => kind === 'transient' || kind === 'resource'

/** The breakers after one more attempt that needed these capabilities. Shared when nothing changed. */
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

/** What keeps a task from beginning: the breaker that is open longest, or is being tried by another; null when none does. */
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

/** Does somebody who runs right now need it? */
export const isTriedIn = (tasks: Iterable<TaskState>, capability: string): boolean => {
  for (const { definition } of tasks) if (definition.capabilities?.includes(capability) === true) return true
  return false
}

// Caps over a whole plan, whatever its tasks say: a plan that goes round and round ends, and says why.

export const attemptsMax = ({ policy }: PlanDefinition): number => policy?.limits?.attempts || PLAN_ATTEMPTS_DEFAULT
export const loopsMax = ({ policy }: PlanDefinition): number => policy?.limits?.loops || PLAN_LOOPS_DEFAULT

/** How many tasks it may have; a plan may say less than what any plan may have. */
export const tasksMax = ({ policy }: PlanDefinition): number => Math.min(policy?.limits?.tasks || TASKS_MAX, TASKS_MAX)

/** What to do about too many. */
export const tasksHint = ({ policy }: PlanDefinition): string =>
  policy?.limits?.tasks === undefined ? 'split it into several plans' : 'raise policy.limits.tasks, or do less'

/** Why no further attempt may begin; null when one may. */
export function attemptsUsedUp(state: PlanState): string | null {
  const { attempts, definition } = state
  const max = Math.min(attemptsMax(definition), around(state, 'attempts'))
  if (attempts < max) return null
  return `the plan has used all of its ${max} attempts (policy.limits.attempts)`
}

/** Why no task may be opened again by itself; null when one may. */
export function loopsUsedUp(state: PlanState): string | null {
  const { loops, definition } = state
  const max = Math.min(loopsMax(definition), around(state, 'loops'))
  if (loops < max) return null
  return `the plan has used all of its ${max} loops (policy.limits.loops)`
}

/** What the layers around the plan leave it. */
const around = (state: PlanState, key: 'attempts' | 'loops'): number =>
  hasLayers(state) ? (policyOf(state).limits[key] ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
