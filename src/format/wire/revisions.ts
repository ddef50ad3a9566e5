// Revisions on the wire: list, compare, create.

import { z } from 'zod'
import { document, nonEmpty, reason, whole } from './field-schemas.ts'
import { plannerChoice, unsafeWork } from './plans.ts'
import { wireObject } from './wire.ts'

export const diffQuery = wireObject({
  from: whole(1, 1_000_000).optional().describe('The one before `to` when not said.'),
  to: whole(1, 1_000_000).optional().describe('The last one when not said.'),
})

export const newRevision = wireObject({
  document,
  rationale: reason.optional().describe('Why; it is kept in the journal.'),
  expected_revision: z.int().min(1).optional().describe('Refused when the plan has another by now.'),
  merge: z.boolean().optional().describe('Keep what the document does not mention.'),
  dry_run: z.boolean().optional().describe('Only tells what would change.'),
  go_on: z
    .boolean()
    .optional()
    .describe('A plan that failed goes on with it: what is done stays done; what failed or changed runs again.'),
  unsafe: unsafeWork,
})

const COMMENTS_MAX = 200

export const redraftBody = wireObject({
  comments: z
    .array(
      z.strictObject({
        task: nonEmpty(300).nullish().describe('All of the draft when not said.'),
        text: nonEmpty(10_000),
        field: nonEmpty(100).optional(),
        line: z.int().min(1).max(1_000_000).optional(),
      }),
    )
    .min(1)
    .max(COMMENTS_MAX),
  ...plannerChoice,
})
