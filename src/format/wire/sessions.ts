// Sessions on the wire, and the plans of a session in the vocabulary of the session task planner.

import { z } from 'zod'
import type { SessionWord } from './answers/fields.ts'
import { after, cursor, document, json, limit, whole } from './field-schemas.ts'
import { plannerChoice } from './plans.ts'
import { wire } from './wire.ts'

const id = z
  .string()
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._:@-]{0,126}[A-Za-z0-9])?$/)
  .meta({ description: 'Letters and digits, with dots, dashes, colons and the like between them.' })
const role = z.enum(['user', 'agent', 'system'])

export const sessionId = wire(id)
export const sessionQuery = wire(
  z.strictObject({
    status: z.enum(['open', 'closed']).optional().meta({ description: 'Only those that stand so.' }),
    limit,
    cursor,
  }),
)
export const newSession = wire(
  z.strictObject({ id: id.optional(), title: z.string().max(1_000).optional() }),
  'NewSession',
)

export const messageQuery = wire(
  z.strictObject({
    after,
    limit,
    cursor: whole(0, Number.MAX_SAFE_INTEGER).optional().meta({ description: '`next` of the page before.' }),
  }),
)
const messageSaid = z.strictObject({
  role: role.default('user'),
  text: z.string().min(1).max(200_000),
  data: json.optional(),
})
export const newMessage = wire(messageSaid, 'NewMessage')

// Plans as the session task planner describes them. Our own status is in `state` beside each of its words.

export const PLAN_WORDS = [
  'pending',
  'planning',
  'executing',
  'paused',
  'completed',
  'failed',
  'cancelled',
] as const satisfies readonly SessionWord[]

export const sessionPlanQuery = wire(z.strictObject({ limit, cursor }))

/** A description, or a document: under `document`, or as the body itself. */
export const newSessionPlan = wire(
  z.looseObject({
    description: z.string().max(100_000).optional(),
    auto_execute: z.boolean().optional(),
    name: z.string().max(100).optional(),
    ...plannerChoice,
    document: document.optional(),
    message: messageSaid.optional().meta({
      description: 'Added to the session in the same write: the plan and the message are there, or neither.',
    }),
  }),
  'NewSessionPlan',
)

export const historyQuery = wire(
  z.strictObject({
    page: whole(1, 1_000_000).optional().meta({ description: 'Counted from 1; a cursor goes before it.' }),
    limit,
    status: z
      .enum([...PLAN_WORDS, 'running', 'draft', 'active', 'blocked'])
      .optional()
      .meta({ description: 'Only those that stand so.' }),
    search: z
      .string()
      .max(500)
      .optional()
      .meta({ description: 'Words of the name, the title, the goal or the labels.' }),
    cursor,
  }),
)
