// The published JSON Schema of plan documents, for editors and other tools.

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
    // Examples describe the input form, but zod attaches those of transformed values to the output.
    override: ({ zodSchema, jsonSchema }) => {
      const { examples } = z.globalRegistry.get(zodSchema) ?? {}
      if (Array.isArray(examples)) jsonSchema.examples = examples
    },
  })
  return { ...(schema as unknown as JsonObject), $id: SCHEMA_ID }
}
