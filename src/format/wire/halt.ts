// The kill switch as it travels.

import { z } from 'zod'
import { wire } from './wire.ts'

const halt = z.strictObject({ by: z.string(), at: z.number(), reason: z.string() })

export const haltBody = wire(z.strictObject({ reason: z.string().min(1).max(1_000) }))
export const haltAnswer = wire(z.strictObject({ halt: halt.nullable() }))
export const liftAnswer = wire(z.strictObject({ lifted: halt.nullable() }))
export const haltedAnswer = wire(
  z.strictObject({
    ...halt.shape,
    paused: z.array(z.string()),
    already: z.array(z.string()),
    left: z.array(z.strictObject({ name: z.string(), why: z.string() })),
  }),
  'Halted',
)
