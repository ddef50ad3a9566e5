// What tasks left for others: named outputs kept in the content store.

import { z } from 'zod'
import { json, page } from './asking.ts'
import { wire } from './wire.ts'

export const artifacts = wire(
  page(
    z.strictObject({
      task: z.string(),
      output: z.string(),
      sha256: z.string(),
      bytes: z.int().nullable(),
      file: z.string().nullable().meta({ description: 'Where it stood in the workspace.' }),
      href: z.string().meta({ description: 'Where its bytes are.' }),
      declared: json.nullable().meta({ description: 'What the plan says about it, where it names it.' }),
    }),
  ),
)
