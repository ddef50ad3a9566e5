// What a page or another face shows of a plan, each with one call.

import { z } from 'zod'
import { map } from './field-schemas.ts'
import { wire } from './wire.ts'

export const state = wire(
  z.strictObject({
    plan_id: z.string(),
    name: z.string(),
    version: z.int().meta({ description: 'How many entries of the journal are in it.' }),
    position: z.int().meta({ description: 'Of the last of them: events and entries behind it are new.' }),
    fold: map.meta({
      description:
        'The state as Planfold keeps it between runs: of each task only what differs from one that has not begun. Opened by `unpackFold`.',
    }),
    definition: map.meta({ description: 'As it stands in the journal.' }),
  }),
  'PlanState',
)
