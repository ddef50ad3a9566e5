// The OpenAPI document as one of the service's answers; what is in it is held to its own specification elsewhere.

import { z } from 'zod'
import { wire } from './wire.ts'

export const openApiDocument = wire(
  z.looseObject({ openapi: z.literal('3.1.0'), paths: z.record(z.string(), z.unknown()) }),
)
