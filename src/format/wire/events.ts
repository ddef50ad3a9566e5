// What a stream of events takes: where to begin, under which names, with or without live progress.

import { z } from 'zod'
import { wire } from './wire.ts'

export const eventsQuery = wire(
  z.strictObject({
    after: z
      .string()
      .refine(text => /^\d{1,15}(\.\d{1,9})?$/.test(text), {
        message: 'is no id of an event',
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
      .describe('`false`: without `task.output` and `plan.progress`, which have no ids.'),
  }),
  'EventsQuery',
)
