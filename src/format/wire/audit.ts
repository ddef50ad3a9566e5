// Queries for reports about a plan: audit, handoff, digest, contract.

import { z } from 'zod'
import { instant, notePlace, reason } from './field-schemas.ts'
import { wire } from './wire.ts'

export const sinceQuery = wire(
  z.strictObject({ since: instant.optional().meta({ description: 'Only what happened then or later.' }) }),
)

export const graphQuery = wire(
  z.strictObject({
    as: z
      .enum(['mermaid', 'dot', 'tree', 'markdown', 'svg'])
      .optional()
      .meta({ description: '`mermaid` when not said.' }),
  }),
)

export const newNote = wire(
  z.strictObject({
    text: z.string().min(1).max(10_000),
    task: z.string().min(1).max(200).optional(),
    place: notePlace.optional().meta({
      description: 'A field of the task, or of the plan; a line of its text, or of the plan file.',
    }),
  }),
)

export const haltBody = wire(z.strictObject({ reason: reason.min(1).nullable() }))
