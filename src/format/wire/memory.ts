// Memory, as it will be asked for.

import { z } from 'zod'
import { map } from './asking.ts'
import { wire } from './wire.ts'

export const memoryQuery = wire(
  z.strictObject({
    keys: z
      .union([z.string(), z.array(z.string())])
      .optional()
      .meta({ description: 'What is to be recalled.' }),
  }),
)
export const memoryBody = wire(map)
