// Sessions on the wire, and the plans of a session in the vocabulary of the session task planner.

import { z } from 'zod'
import { wordList } from '../../domain/json.ts'
import type { SessionWord } from './answers/fields.ts'
import { after, cursor, document, json, limit, nonEmpty, whole } from './field-schemas.ts'
import { plannerChoice } from './plans.ts'
import { namedObject, wire, wireObject } from './wire.ts'

const id = z
  .string()
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._:@-]{0,126}[A-Za-z0-9])?$/)
  .describe('Letters and digits, with dots, dashes, colons and the like between them.')
const role = z.enum(['user', 'agent', 'system'])

export const sessionId = wire(id)
export const sessionQuery = wireObject({
  status: z.enum(['open', 'closed']).optional().describe('Only those that stand so.'),
  limit,
  cursor,
})
export const newSession = namedObject('NewSession', { id: id.optional(), title: z.string().max(1_000).optional() })

export const messageQuery = wireObject({
  after,
  limit,
  cursor: whole(0, Number.MAX_SAFE_INTEGER).optional().describe('`next` of the page before.'),
})
const messageSaid = z.strictObject({
  role: role.default('user'),
  text: nonEmpty(200_000),
  data: json.optional(),
})
export const newMessage = wire(messageSaid, 'NewMessage')

// Plans as the session task planner describes them. Our own status is in `state` beside each of its words.

export const PLAN_WORDS = wordList(
  'pending planning executing paused completed failed cancelled',
) satisfies readonly SessionWord[]

export const sessionPlanQuery = wireObject({ limit, cursor })

/** A description, or a document: under `document`, or as the body itself. */
export const newSessionPlan = wire(
  z.looseObject({
    description: z.string().max(100_000).optional(),
    auto_execute: z.boolean().optional(),
    name: z.string().max(100).optional(),
    ...plannerChoice,
    document: document.optional(),
    message: messageSaid
      .optional()
      .describe('Added to the session in the same write: the plan and the message are there, or neither.'),
  }),
  'NewSessionPlan',
)

export const historyQuery = wireObject({
  page: whole(1, 1_000_000).optional().describe('Counted from 1; a cursor goes before it.'),
  limit,
  status: z
    .enum([...PLAN_WORDS, 'running', 'draft', 'active', 'blocked'])
    .optional()
    .describe('Only those that stand so.'),
  search: z.string().max(500).optional().describe('Words of the name, the title, the goal or the labels.'),
  cursor,
})
