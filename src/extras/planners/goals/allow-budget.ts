// What a caller may let a drafting use, and whether it may run the project's commands before. Less than our own limits anybody may say; more only who may decide, as with the budget of a plan:
// an agent does not allow itself more.

import { keyText } from '../../../domain/budget/budget-text.ts'
import { CALLS_DEFAULT } from '../../../domain/budget/visit-caps.ts'
import { type Refusal, refuse } from '../../../domain/refusal.ts'
import type { Caller } from '../../../engine/roles.ts'
import type { DraftingBudget } from '../planner.ts'

const KEYS = [
  ['calls', 'calls'],
  ['tokens', 'tokens'],
  ['usd', 'cost'],
] as const

/** Whoever may run plans may have the tests run. */
export const refuseLook = ({ actor, rights }: Pick<Caller, 'actor' | 'rights'>): Refusal | null =>
  rights.has('operate')
    ? null
    : refuse('not-allowed', `${actor} may not run commands here; nothing was run`, 'leave out `look`')

/** Null when they may. */
export function refuseBudget(
  { actor, rights }: Pick<Caller, 'actor' | 'rights'>,
  budget: DraftingBudget,
): Refusal | null {
  if (rights.has('decide')) return null
  const over = KEYS.find(([key, of]) => (budget[key] ?? 0) > CALLS_DEFAULT[of])
  if (over === undefined) return null
  const [key, of] = over
  return refuse(
    'not-allowed',
    `${actor} may not allow a budget for drafting of ${keyText(of, budget[key] ?? 0)}, only ${keyText(of, CALLS_DEFAULT[of])}; nothing was sent`,
    'ask for less, or let somebody draft it who may decide',
  )
}
