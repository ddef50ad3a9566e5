// Small parts of the service on the wire: health, artifacts, memory, sign-in, tokens, metrics, API documents.

import { z } from 'zod'
import type { Sha256 } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import { MEMORY_SCOPES } from '../../domain/memory/memory-items.ts'
import { cursor, instant, limit, nonEmpty, yes } from './field-schemas.ts'
import { namedObject, wireObject } from './wire.ts'

const kinds = z
  .string()
  .transform(text => text.split(',').map(word => word.trim()))
  .pipe(z.array(z.enum(['plan', 'task', 'log'])).min(1))

export const searchQuery = wireObject({
  q: nonEmpty(500).describe('Words; each begins a word that is found.'),
  kinds: kinds.optional().describe('Of plan, task, log: those wanted, with commas.'),
  plan_id: z.string().max(200).optional().describe('Only in this plan: its UUID or name.'),
  archived: yes.describe('Also archived plans.'),
  limit,
  cursor,
})

export const stepsQuery = wireObject({
  by: z
    .enum(['plan', 'agent', 'capability', 'kind', 'hour', 'day'])
    .optional()
    .describe('What is summed up together; plans when not said.'),
  plan_id: z.string().max(200).optional().describe('Only of this plan: its UUID or name.'),
  agent_id: z.string().max(200).optional().describe('Only what this agent did.'),
  capability: z.string().max(200).optional().describe('Only work that needed this capability.'),
  kind: z.string().max(200).optional().describe('Only work of this kind.'),
  since: instant.optional().describe('Only what ended then or later.'),
  until: instant.optional().describe('Only what ended before.'),
  limit,
  cursor,
})

// Memory by key.

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
  limit,
  cursor,
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

export const forgetQuery = wireObject({
  key: key.describe('What is forgotten.'),
  scope: scope.describe('`plan` when a plan is named, else `project`.'),
  plan_id: planId.describe('Whose memory it is: its UUID or name.'),
})

// Signed-in user, sign-in codes, and tokens. A token itself is shown only once, when it is created.

const role = z.enum(['viewer', 'operator', 'approver', 'admin'])
export const code = wireObject({ code: nonEmpty(200) })

export const newToken = namedObject('NewToken', {
  name: nonEmpty(100).describe('Who acts with it; stands on every entry.'),
  role: role.default('viewer'),
  plans: z.array(z.string().max(200)).max(100).optional(),
  sessions: z.array(z.string().max(200)).max(100).optional(),
  expires_in_seconds: z.int().min(1).max(315_360_000).optional(),
})
