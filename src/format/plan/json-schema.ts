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
  })
  return { ...(schema as unknown as JsonObject), $id: SCHEMA_ID }
}
