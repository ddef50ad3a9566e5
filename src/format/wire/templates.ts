// Templates on the wire: list, show, save from a plan, instantiate.

import { z } from 'zod'
import * as part from './field-schemas.ts'
import { reference } from './plans.ts'
import { wireObject } from './wire.ts'

export const newTemplate = wireObject({
  plan_id: reference.describe('The plan it is saved from, by id or name.'),
  name: part.nonEmpty(50),
  parameters: z.record(z.string(), z.string()).optional().describe('Name to the value that stands for it in the plan.'),
  replace: z.boolean().optional(),
})

export const fromTemplate = wireObject({
  values: part.map.optional(),
  name: reference.optional().describe('Of the plan.'),
  goal_id: reference.nullish(),
  agent_id: reference.nullish(),
  session_id: reference.nullish(),
  start: z.boolean().optional(),
})
