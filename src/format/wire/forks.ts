// Forks and comparisons on the wire: forks, two runs, two checkpoints.

import { z } from 'zod'
import { json, nonEmpty } from './field-schemas.ts'
import { wireObject } from './wire.ts'

const reference = nonEmpty(500)

export const forkBody = wireObject({
  from: z
    .union([reference, z.int().min(1)])
    .describe('A task (where it had ended), `before:TASK`, a checkpoint, or the number of an entry.'),
  name: nonEmpty(100).optional().describe('`<plan>-fork`, numbered, when not said.'),
  inputs: z.record(z.string(), json).optional().describe('Other inputs of tasks that are open there, by `task.key`.'),
  model: reference.optional().describe('For open tasks that ask a model.'),
  here: z.boolean().optional().describe('Work in the workspace, instead of in a folder of its own.'),
})

export const compareQuery = wireObject({ with: reference.describe('The other plan.') })

export const diffQuery = wireObject({
  from: reference.describe('A checkpoint, a task, or the number of an entry.'),
  to: reference.optional().describe('Another; now when not said.'),
})
