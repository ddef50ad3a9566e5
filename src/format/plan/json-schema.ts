// The published JSON Schema of the plan document, for editors and other tools.

import { z } from 'zod'
import type { JsonObject } from '../../domain/json.ts'
import { plan } from './schema.ts'

export const SCHEMA_ID = 'urn:planfold:schema:plan:1'

export function planJsonSchema(): JsonObject {
  const schema = z.toJSONSchema(plan, {
    io: 'input',
    target: 'draft-2020-12',
    unrepresentable: 'any',
    reused: 'inline',
    // Examples are of what is written, but zod takes those of whatever is changed when it is read for the result.
    override: ({ zodSchema, jsonSchema }) => {
      const { examples } = z.globalRegistry.get(zodSchema) ?? {}
      if (Array.isArray(examples)) jsonSchema.examples = examples
    },
  })
  return { ...(schema as unknown as JsonObject), $id: SCHEMA_ID }
}
