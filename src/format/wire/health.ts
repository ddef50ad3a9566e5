// What the service says of itself.

import { z } from 'zod'
import { wire } from './wire.ts'

export const health = wire(z.strictObject({ status: z.literal('ok') }))
export const readiness = wire(z.strictObject({ status: z.enum(['ready', 'stopping']) }))
export const version = wire(
  z.strictObject({ name: z.literal('planfold'), version: z.string(), api: z.literal(1) }),
  'Version',
)
