// Forks and comparisons on the wire: a plan that goes on from another, two runs side by side, two checkpoints.

import { z } from 'zod'
import { json, moved } from './field-schemas.ts'
import { wire } from './wire.ts'

const reference = z.string().min(1).max(500)

export const forkBody = wire(
  z.strictObject({
    from: z.union([reference, z.int().min(1)]).meta({
      description: 'A task (where it had ended), `before:TASK`, a checkpoint, or the number of an entry.',
    }),
    name: z.string().min(1).max(100).optional().meta({ description: '`<plan>-fork`, numbered, when not said.' }),
    inputs: z
      .record(z.string(), json)
      .optional()
      .meta({ description: 'Other inputs of tasks that are open there, by `task.key`.' }),
    model: reference.optional().meta({ description: 'For open tasks that ask a model.' }),
    here: z.boolean().optional().meta({ description: 'Work in the workspace, instead of in a folder of its own.' }),
  }),
)

export const forked = wire(
  z.strictObject({
    ...moved,
    origin: z.string().meta({ description: 'The plan it was made from.' }),
    fork: z
      .strictObject({
        from: z.int().meta({ description: 'The entry of the other plan it goes on from.' }),
        ended: z.array(z.string()).meta({ description: 'Tasks brought along with what they left.' }),
        open: z.array(z.string()),
        works: z.looseObject({ in: z.enum(['workspace', 'folder', 'worktree']) }),
      })
      .nullable()
      .meta({ description: 'What it begins with; null when it was asked for before.' }),
  }),
  'Forked',
)

export const compareQuery = wire(z.strictObject({ with: reference.meta({ description: 'The other plan.' }) }))

const run = z.looseObject({ id: z.string(), name: z.string(), status: z.string() })
const taskRun = z.looseObject({ status: z.string(), attempts: z.int() }).nullable()
export const comparison = wire(
  z.strictObject({
    a: run,
    b: run,
    definition: z.looseObject({ same: z.boolean(), summary: z.string() }),
    tasks: z.array(
      z.strictObject({
        task: z.string(),
        renamed: z.string().nullable().meta({ description: 'Its name in the second plan, where that is another.' }),
        a: taskRun,
        b: taskRun,
        differs: z.array(z.string()).meta({ description: 'What differs; empty when it went the same way.' }),
        outputs: z.array(z.string()).meta({ description: 'The names of the outputs that differ.' }),
      }),
    ),
    files: z.array(z.strictObject({ path: z.string(), a: z.string().nullish(), b: z.string().nullish() })).meta({
      description: 'SHA-256 after the run; null where it was removed, absent where the run did not touch it.',
    }),
  }),
  'Comparison',
)

export const diffQuery = wire(
  z.strictObject({
    from: reference.meta({ description: 'A checkpoint, a task, or the number of an entry.' }),
    to: reference.optional().meta({ description: 'Another; now when not said.' }),
  }),
)

const entry = z.looseObject({ type: z.enum(['file', 'link', 'directory']) }).nullable()
export const checkpointDiff = wire(
  z.strictObject({
    plan_id: z.string(),
    from: z.string(),
    to: z.string().nullable().meta({ description: 'Null: as it is now.' }),
    basis: z.enum(['whole', 'written']).meta({
      description: '`whole`: all files of both were stored. `written`: only what the plan wrote between them is known.',
    }),
    changes: z.array(
      z.strictObject({
        path: z.string(),
        change: z.enum(['created', 'changed', 'deleted']),
        before: entry,
        after: entry,
      }),
    ),
    left: z.array(z.looseObject({ path: z.string(), reason: z.string() })).meta({ description: 'Not looked at.' }),
  }),
  'CheckpointDiff',
)
