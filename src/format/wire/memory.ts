// Memory by key on the wire.

import { z } from 'zod'
import type { Sha256 } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import { MEMORY_SCOPES } from '../../domain/memory/memory-items.ts'
import { nonEmpty, whole } from './field-schemas.ts'
import { namedObject, wireObject } from './wire.ts'

const words = z
  .string()
  .max(20_000)
  .transform(text => text.split(',').map(word => word.trim()))
const scope = z.enum(MEMORY_SCOPES).optional()
const planId = z.string().max(200).optional()
const key = nonEmpty(500)

export const memoryQuery = wireObject({
  keys: words
    .optional()
    .describe('These keys, with commas; each of the plan, the project and the caller, in this order.'),
  q: nonEmpty(2_000).optional().describe('What is looked for.'),
  plan_id: planId.describe('Also what this plan remembers: its UUID or name.'),
  scope: scope.describe('Only of `plan`, `project` or `user`.'),
  limit: whole(1, 100).default(20).describe('How many at most; 20 when it is not said.'),
  cursor: z.string().max(200).optional().describe('From `next` of the page before.'),
})

export const memoryBody = namedObject('NewMemory', {
  key,
  value: z.json().transform(value => value as Json),
  scope: scope.describe('`plan` when a plan is named, else `project`.'),
  plan_id: planId,
  task: z.string().max(500).optional().describe('Of the plan: where it comes from.'),
  artifact: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .transform(text => text as Sha256)
    .optional()
    .describe('The hash of the contents it was taken from.'),
  expires_in_seconds: z.int().min(1).max(3_153_600_000).optional(),
})

export const forgetQuery = wireObject({ key, scope, plan_id: planId })
