// From where, and of which plan, entries are wanted.

import { z } from 'zod'
import { whole } from './asking.ts'
import { wire } from './wire.ts'

export const entriesQuery = wire(
  z.strictObject({
    after: whole(0, Number.MAX_SAFE_INTEGER).meta({
      description: 'The position behind which to begin; 0 for all there is.',
    }),
    plan: z.string().min(1).max(200).optional().meta({ description: 'Only this one: its UUID or name.' }),
  }),
)
