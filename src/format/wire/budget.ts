// Budgets on the wire: usage, and an order to raise them, in the units of a plan file.

import { z } from 'zod'
import { defined } from '../../domain/json.ts'
import * as value from '../plan/schema-values.ts'
import { nonEmpty } from './field-schemas.ts'
import { namedObject, wireObject } from './wire.ts'

/** Model budget of one drafting, as with `--budget`. */
export const draftingLimits = z
  .strictObject({
    cost: value.dollars.optional(),
    tokens: value.amount.optional(),
    calls: value.count(1_000_000).optional(),
  })
  .transform(({ cost, tokens, calls }) => ({
    ...(cost === undefined ? {} : { usd: cost.amount }),
    ...defined({ tokens, calls }),
  }))
export const draftingBudget = wireObject({ budget: draftingLimits })

export const budgetMore = namedObject('BudgetMore', {
  task: nonEmpty(200).optional().describe('A group or task; the plan when absent.'),
  cost: value.money.optional(),
  tokens: value.amount.optional(),
  calls: value.count(1_000_000).optional(),
  attempts: value.count(1_000_000).optional(),
  time: value.duration.optional(),
  output: value.size.optional(),
})
