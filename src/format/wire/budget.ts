// Budgets on the wire: what is spent, reserved and left; and an order to add to it, in the units of the plan file.

import { z } from 'zod'
import * as value from '../plan/schema-values.ts'
import { wire } from './wire.ts'

const amounts = z.strictObject({
  cost: z.number().optional().meta({ description: 'US dollars.' }),
  tokens: z.number().optional(),
  calls: z.number().optional(),
  attempts: z.number().optional(),
  time_ms: z.number().optional(),
  output_bytes: z.number().optional(),
})

export const budget = wire(
  z.strictObject({
    plan_id: z.string(),
    name: z.string(),
    status: z.string(),
    kept: z.boolean().meta({ description: 'What the plan spends is counted.' }),
    blocks: z.array(
      z.strictObject({
        task: z.string().nullable().meta({ description: 'The group or task; null for the plan.' }),
        exceeded: z.enum(['ask', 'fail']),
        lines: z.array(
          z.strictObject({
            key: z.enum(['cost', 'tokens', 'calls', 'attempts', 'timeMs', 'outputBytes']),
            cap: z.number(),
            added: z.number(),
            spent: z.number(),
            reserved: z.number(),
            left: z.number(),
          }),
        ),
        foreign: z.string().nullable(),
      }),
    ),
    used: amounts.nullable(),
    assumed: amounts.optional().meta({ description: 'Of `used`: calls of models whose end nobody saw.' }),
    unpriced_calls: z.int(),
    large_above: z.number(),
    asked: z.looseObject({ id: z.string(), text: z.string() }).nullable(),
    forecast: z.strictObject({
      tasks: z.int(),
      unknown: z.int(),
      samples: z.int(),
      rest: amounts.nullable(),
    }),
  }),
  'Budget',
)

/** What a drafting may use of a model, as `--budget` says it. */
export const draftingLimits = z
  .strictObject({
    cost: value.dollars.optional(),
    tokens: value.amount.optional(),
    calls: value.count(1_000_000).optional(),
  })
  .transform(({ cost, tokens, calls }) => ({
    ...(cost === undefined ? {} : { usd: cost.amount }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(calls === undefined ? {} : { calls }),
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
