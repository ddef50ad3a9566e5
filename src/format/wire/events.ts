// Entries, events and logs on the wire.

import { z } from 'zod'
import { after, cursor, limit, nonEmpty, whole, yes } from './field-schemas.ts'
import { namedObject, wire, wireObject } from './wire.ts'

export const LEVELS = ['debug', 'info', 'warning', 'error'] as const

const place = z
  .string()
  .refine(text => /^\d{1,15}$/.test(text), {
    message: 'is not a cursor of this list',
    params: { hint: 'hand back `next` of the page before' },
  })
  .transform(Number)
  .optional()
  .describe('`next` of the page before.')

const before = whole(1, Number.MAX_SAFE_INTEGER).optional()

export const entryQuery = wireObject({
  cursor: place,
  after: after.describe('Only entries behind this version; instead of `cursor`.'),
  before: before.describe('Only entries before this version, the newest first; instead of `cursor`.'),
  order: z.enum(['oldest', 'newest']).optional().describe('Which come first; `oldest` when not said.'),
  command: yes.describe('`false`: without what was asked, which may be a whole plan.'),
  limit,
})

export const logQuery = wireObject({
  cursor: place,
  after: after.describe('Only what comes behind this `seq`; instead of `cursor`.'),
  before: before.describe('The last that was printed before this `seq`, in order.'),
  tail: whole(1, 1_000).optional().describe('The last that was printed, so many pieces, in order.'),
  limit,
  level: z
    .enum(LEVELS)
    .optional()
    .describe(
      'Only this level: what was printed is `info`, what went to stderr `warning`, what the engine says `debug`.',
    ),
  task: nonEmpty(200).optional().describe('Only of this task.'),
})

export const attemptQuery = wireObject({ limit, cursor })

// Parameters of event streams: start, names, live progress.

const stream = z.strictObject({
  after: z
    .string()
    .refine(text => /^\d{1,15}(\.\d{1,9})?$/.test(text), {
      message: 'is not an event id',
      params: { hint: 'use the id of the last event you saw, for instance 12 or 12.3; 0 is the beginning' },
    })
    .optional()
    .describe(
      'Begin behind this id; 0 is the beginning. A Last-Event-ID header goes before it. Without either: from now on.',
    ),
  names: z
    .enum(['dotted', 'underscore'])
    .default('dotted')
    .describe('`underscore`: under the names of sessions, plans and steps, such as `plan_step_update`.'),
  progress: z
    .enum(['true', 'false'])
    .default('true')
    .describe('`false`: without `task.output`, `plan.progress` and `inbox.changed`, which have no ids.'),
})
export const eventsQuery = wire(stream, 'EventsQuery')

const PLANS_MAX = 100
export const allEventsQuery = namedObject('AllEventsQuery', {
  ...stream.shape,
  plan_id: nonEmpty(20_000)
    .transform(text => text.split(',').filter(one => one !== ''))
    .refine(plans => plans.length > 0 && plans.length <= PLANS_MAX, {
      message: `must name 1 to ${PLANS_MAX} plans`,
      params: { hint: 'write ids or names with commas between them; leave it out for all plans' },
    })
    .optional()
    .describe('Only of these plans: ids or names, with commas between them.'),
})

export const entriesQuery = wireObject({
  after: whole(0, Number.MAX_SAFE_INTEGER).describe('The position behind which to begin; 0 for all there is.'),
  plan: nonEmpty(200).optional().describe('Only this one: its UUID or name.'),
})
