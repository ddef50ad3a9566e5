// Budgets on the wire: what is spent, reserved and left; and an order to add to it, in the units of the plan file.

import { z } from 'zod'
import { defined } from '../../domain/json.ts'
import * as value from '../plan/schema-values.ts'
import { wire } from './wire.ts'

/** What a drafting may use of a model, as `--budget` says it. */
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
export const draftingBudget = wire(z.strictObject({ budget: draftingLimits }))

export const budgetMore = wire(
  z.strictObject({
    task: z.string().min(1).max(200).optional().meta({ description: 'A group or task; the plan when absent.' }),
    cost: value.money.optional(),
    tokens: value.amount.optional(),
    calls: value.count(1_000_000).optional(),
    attempts: value.count(1_000_000).optional(),
    time: value.duration.optional(),
    output: value.size.optional(),
  }),
  'BudgetMore',
)
