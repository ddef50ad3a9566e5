// Sessions and their messages, as they are sent and told.

import { z } from 'zod'
import { after, cursor, json, limit, page, time, whole } from './asking.ts'
import { wire } from './wire.ts'

const id = z
  .string()
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._:@-]{0,126}[A-Za-z0-9])?$/)
  .meta({ description: 'Letters and digits, with dots, dashes, colons and the like between them.' })
const role = z.enum(['user', 'agent', 'system'])

const sessionShape = z.strictObject({
  id: z.string(),
  title: z.string(),
  status: z.enum(['open', 'closed']),
  messages: z.int(),
  version: z.int(),
  created_at: time,
  updated_at: time,
})

export const sessionId = wire(id)
export const session = wire(sessionShape, 'Session')
export const sessions = wire(page(sessionShape))
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

const movedPlan = { plan_id: z.string(), name: z.string() }
export const sessionMoved = wire(
  z.strictObject({
    session_id: z.string(),
    status: z.enum(['paused', 'resumed']),
    plans: z.array(z.strictObject({ ...movedPlan, version: z.int() })).meta({ description: 'Those it was done to.' }),
    refused: z
      .array(z.strictObject({ ...movedPlan, detail: z.string(), hint: z.string().nullable() }))
      .meta({ description: 'Those it could not be done to; the others do not wait for them.' }),
  }),
  'SessionMoved',
)

const messageShape = z.strictObject({
  id: z.int().meta({ description: 'Rises with every message of the session; hand it back as `after`.' }),
  session_id: z.string(),
  role,
  text: z.string(),
  data: json.optional(),
  plan_id: z.string().optional().meta({ description: 'The plan that was made with it.' }),
  by: z.string(),
  at: time,
})
export const message = wire(messageShape, 'Message')
export const messages = wire(page(messageShape))
export const messageQuery = wire(
  z.strictObject({
    after,
    limit,
    cursor: whole(0, Number.MAX_SAFE_INTEGER).optional().meta({ description: '`next` of the page before.' }),
  }),
)
export const messageSaid = z.strictObject({
  role: role.default('user'),
  text: z.string().min(1).max(200_000),
  data: json.optional(),
})
export const newMessage = wire(messageSaid, 'NewMessage')
