// Queries for reports about a plan: audit, handoff, digest, contract.

import { z } from 'zod'
import { instant, nonEmpty, notePlace, reason } from './field-schemas.ts'
import { wireObject } from './wire.ts'

export const sinceQuery = wireObject({ since: instant.optional().describe('Only what happened then or later.') })

export const graphQuery = wireObject({
  as: z.enum(['mermaid', 'dot', 'tree', 'markdown', 'svg']).optional().describe('`mermaid` when not said.'),
})

export const newNote = wireObject({
  text: nonEmpty(10_000),
  task: nonEmpty(200).optional(),
  place: notePlace.optional().describe('A field of the task, or of the plan; a line of its text, or of the plan file.'),
})

export const haltBody = wireObject({ reason: reason.min(1).nullable() })
