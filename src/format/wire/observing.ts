// Looking at many plans at once: what words are found where, and what steps took, tried and used.

import { z } from 'zod'
import { cursor, instant, limit, time, yes } from './asking.ts'
import { wire } from './wire.ts'

const kinds = z
  .string()
  .transform(text => text.split(',').map(word => word.trim()))
  .pipe(z.array(z.enum(['plan', 'task', 'log'])).min(1))

export const searchQuery = wire(
  z.strictObject({
    q: z.string().min(1).max(500).meta({ description: 'Words; each begins a word that is found.' }),
    kinds: kinds.optional().meta({ description: 'Of plan, task, log: those wanted, with commas.' }),
    plan_id: z.string().max(200).optional().meta({ description: 'Only in this plan: its UUID or name.' }),
    archived: yes.meta({ description: 'Also archived plans.' }),
    limit,
    cursor,
  }),
)

export const searchPage = wire(
  z.strictObject({
    items: z.array(
      z.strictObject({
        kind: z.enum(['plan', 'task', 'log']),
        plan_id: z.string(),
        plan_name: z.string(),
        task: z.string().nullable(),
        snippet: z.string(),
        matches: z.array(z.tuple([z.int(), z.int()])),
        at: time,
        log: z
          .strictObject({
            seq: z.int(),
            visit: z.int(),
            attempt: z.int(),
            stream: z.enum(['stdout', 'stderr', 'engine']),
          })
          .nullable(),
      }),
    ),
    next: z.string().nullable(),
    complete: z.boolean(),
  }),
  'SearchPage',
)

export const stepsQuery = wire(
  z.strictObject({
    by: z
      .enum(['plan', 'agent', 'capability', 'kind', 'hour', 'day'])
      .optional()
      .meta({ description: 'What is summed up together; plans when not said.' }),
    plan_id: z.string().max(200).optional().meta({ description: 'Only of this plan: its UUID or name.' }),
    agent_id: z.string().max(200).optional().meta({ description: 'Only what this agent did.' }),
    capability: z.string().max(200).optional().meta({ description: 'Only work that needed this capability.' }),
    kind: z.string().max(200).optional().meta({ description: 'Only work of this kind.' }),
    since: instant.optional().meta({ description: 'Only what ended then or later.' }),
    until: instant.optional().meta({ description: 'Only what ended before.' }),
    limit,
    cursor,
  }),
)

const count = z.int().min(0)
export const stepsPage = wire(
  z.strictObject({
    items: z.array(
      z.strictObject({
        group: z.string().nullable(),
        attempts: count,
        succeeded: count,
        failed: count,
        lost: count,
        retries: count,
        success_rate: z.number().min(0).max(1),
        duration_ms: z.strictObject({ sum: z.number(), p50: z.number(), p95: z.number(), max: z.number() }),
        files: count,
        bytes: count,
        tokens: z.strictObject({ input: z.number(), output: z.number(), total: z.number() }).nullable(),
        cost: z.number().nullable(),
        tools: z.array(z.strictObject({ name: z.string(), steps: count })),
      }),
    ),
    next: z.string().nullable(),
    complete: z.boolean(),
  }),
  'StepsPage',
)
