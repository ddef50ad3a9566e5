// Forks and comparisons on the wire: forks, two runs, two checkpoints.

import { z } from 'zod'
import { json } from './field-schemas.ts'
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

export const compareQuery = wire(z.strictObject({ with: reference.meta({ description: 'The other plan.' }) }))

export const diffQuery = wire(
  z.strictObject({
    from: reference.meta({ description: 'A checkpoint, a task, or the number of an entry.' }),
    to: reference.optional().meta({ description: 'Another; now when not said.' }),
  }),
)
