// Goals on the wire.

import { z } from 'zod'
import * as part from './field-schemas.ts'
import { plannerChoice, reference } from './plans.ts'
import { wire, wireObject } from './wire.ts'

const status = z.enum(['open', 'achieved', 'dropped'])
const fields = {
  title: part.line,
  parent_id: reference.nullish().describe('The goal it is a part of.'),
  priority: z.int().min(1).max(10).optional().describe('From 1 to 10; 5 when not said.'),
  success_criteria: z.array(part.line).max(100).optional(),
}

export const newGoal = wireObject({
  id: reference.optional().describe('Made when not said; plans may have named it already.'),
  ...fields,
})
const patch = z.strictObject({
  ...fields,
  title: part.line.optional(),
  status: status.optional(),
  reason: part.reason.optional(),
  expected_version: z.int().min(0).optional(),
})
export const goalPatch = wire(patch, 'GoalPatch')
export type GoalPatch = z.output<typeof patch>

export const listQuery = wireObject({
  status: status.optional().describe('Only those that stand so.'),
  parent_id: reference.optional().describe('Only the sub-goals of this one.'),
  limit: part.limit,
  cursor: part.cursor,
})
export const plansQuery = wireObject({ limit: part.limit, cursor: part.cursor })

const { planner, model, budget } = plannerChoice
export const decompose = wireObject({ planner, model, budget })
