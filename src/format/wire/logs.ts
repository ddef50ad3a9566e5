// The journal of a plan as it stands, what its tasks printed, and every attempt.

import { z } from 'zod'
import { after, cursor, limit, page, time } from './asking.ts'
import { wire } from './wire.ts'

export const LEVELS = ['debug', 'info', 'warning', 'error'] as const

const place = z
  .string()
  .refine(text => /^\d{1,15}$/.test(text), {
    message: 'is no cursor of this list',
    params: { hint: 'hand back `next` of the page before' },
  })
  .transform(Number)
  .optional()
  .meta({ description: '`next` of the page before.' })

export const entryQuery = wire(
  z.strictObject({
    cursor: place,
    after: after.meta({ description: 'Only entries behind this version; instead of `cursor`.' }),
    limit,
  }),
)
const next = z.string().nullable().meta({ description: 'Hand it back as `cursor`; null at the end.' })
export const entries = wire(
  z.strictObject({
    items: z.array(
      z.strictObject({
        position: z.int(),
        plan_id: z.string(),
        version: z.int(),
        actor: z.string(),
        at: time,
        fence: z.int().nullable(),
        hash: z.string(),
        command: z.looseObject({ type: z.string() }).meta({ description: 'What was asked, as the journal holds it.' }),
        events: z
          .array(z.looseObject({ type: z.string() }))
          .meta({ description: 'What then happened, as the journal holds it.' }),
        told: z.array(z.string()).meta({ description: 'The same in sentences.' }),
      }),
    ),
    next,
  }),
)

export const logQuery = wire(
  z.strictObject({
    cursor: place,
    after: after.meta({ description: 'Only what comes behind this `seq`; instead of `cursor`.' }),
    limit,
    level: z.enum(LEVELS).optional().meta({
      description:
        'Only this level: what was printed is `info`, what went to stderr `warning`, what the engine says `debug`.',
    }),
    task: z.string().min(1).max(200).optional().meta({ description: 'Only of this task.' }),
  }),
)
export const logs = wire(
  z.strictObject({
    items: z.array(
      z.strictObject({
        seq: z.int(),
        plan_id: z.string(),
        task: z.string(),
        visit: z.int(),
        attempt: z.int(),
        level: z.enum(LEVELS),
        stream: z.enum(['stdout', 'stderr', 'engine']),
        at: time,
        text: z.string(),
      }),
    ),
    next,
  }),
)

export const attemptQuery = wire(z.strictObject({ limit, cursor }))
export const attempts = wire(
  page(
    z.strictObject({
      task: z.string(),
      visit: z.int(),
      attempt: z.int(),
      status: z.enum(['running', 'succeeded', 'failed', 'lost']),
      started_at: time,
      ended_at: time.nullable(),
      duration_ms: z.number().nullable(),
      exit: z.int().nullable(),
      failure_class: z.string().nullable(),
    }),
  ),
)
