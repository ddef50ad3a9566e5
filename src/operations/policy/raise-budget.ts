// Adds to the budget of a plan, group or task, in the units that people write.

import type { Amounts } from '../../domain/budget/amounts.ts'
import { PRICE_CURRENCY } from '../../domain/budget/amounts.ts'
import type { TaskName } from '../../domain/id.ts'
import type { Budget } from '../../domain/plan.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { Order } from '../../engine/engine.ts'

export type BudgetMore = Omit<Budget, 'exceeded' | 'large'>

export function raiseOrder(more: BudgetMore, task: TaskName | null): Order | Refusal {
  const { cost, ...rest } = more
  if (cost !== undefined && cost.currency !== PRICE_CURRENCY)
    return refuse(
      'invalid',
      `prices are known in ${PRICE_CURRENCY}, so ${cost.amount} ${cost.currency} cannot be added`,
      `write the amount in ${PRICE_CURRENCY}`,
    )
  const add: Amounts = { ...rest, ...(cost === undefined ? {} : { cost: cost.amount }) }
  return { type: 'raise', add, ...(task === null ? {} : { task }) }
}
