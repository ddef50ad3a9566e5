// Small parts of the service on the wire: health, artifacts, sign-in, tokens, metrics, API documents.

import { z } from 'zod'
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
