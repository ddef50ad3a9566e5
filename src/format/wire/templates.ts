// Templates on the wire: list, show, save from a plan, instantiate.

import { z } from 'zod'
import * as part from './field-schemas.ts'
import { reference } from './plans.ts'
import { wire } from './wire.ts'

export const newTemplate = wire(
  z.strictObject({
    plan_id: reference.meta({ description: 'The plan it is saved from, by id or name.' }),
    name: z.string().min(1).max(50),
    parameters: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: 'Name to the value that stands for it in the plan.' }),
    replace: z.boolean().optional(),
  }),
)

export const fromTemplate = wire(
  z.strictObject({
    values: part.map.optional(),
    name: reference.optional().meta({ description: 'Of the plan.' }),
    goal_id: reference.nullish(),
    agent_id: reference.nullish(),
    session_id: reference.nullish(),
    start: z.boolean().optional(),
  }),
)
