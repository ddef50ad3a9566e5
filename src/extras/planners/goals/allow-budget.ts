// The budget of a drafting, and whether it may run the project's commands first. Anyone may set less than the default limits; more needs
// the right to decide, as with the budget of a plan, so that an agent cannot raise its own.

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

export const refuseLook = ({ actor, rights }: Pick<Caller, 'actor' | 'rights'>): Refusal | null =>
  rights.has('operate')
    ? null
    : refuse('not-allowed', `${actor} may not run commands here; nothing was run`, 'leave out `look`')

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
    'ask for less, or let a person with the right to decide draft it',
  )
}
