// Page views on the wire, one request each.

import { z } from 'zod'
import { whole } from './field-schemas.ts'
import { wire } from './wire.ts'

const count = whole(1, Number.MAX_SAFE_INTEGER).exactOptional()
export const taskPageQuery = wire(
  z.strictObject({
    visit: count.meta({ description: 'The changes of this visit.' }),
    attempt: count.meta({
      description: 'The changes of this attempt; of the last that changed files when none is said.',
    }),
  }),
)
