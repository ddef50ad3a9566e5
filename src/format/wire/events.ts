// What a stream of events takes: where to begin, under which names, with or without live progress.

import { z } from 'zod'
import { wire } from './wire.ts'

export const eventsQuery = wire(
  z.strictObject({
    after: z
      .string()
      .regex(/^\d{1,15}(\.\d{1,9})?$/, 'is no id of an event')
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
