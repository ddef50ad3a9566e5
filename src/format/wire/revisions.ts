// Revisions on the wire: list, compare, create.

import { z } from 'zod'
import { document, reason, whole } from './field-schemas.ts'
import { plannerChoice, unsafeWork } from './plans.ts'
import { wire } from './wire.ts'

export const diffQuery = wire(
  z.strictObject({
    from: whole(1, 1_000_000).optional().meta({ description: 'The one before `to` when not said.' }),
    to: whole(1, 1_000_000).optional().meta({ description: 'The last one when not said.' }),
  }),
)

export const newRevision = wire(
  z.strictObject({
    document,
    rationale: reason.optional().meta({ description: 'Why; it is kept in the journal.' }),
    expected_revision: z.int().min(1).optional().meta({ description: 'Refused when the plan has another by now.' }),
    merge: z.boolean().optional().meta({ description: 'Keep what the document does not mention.' }),
    dry_run: z.boolean().optional().meta({ description: 'Only tells what would change.' }),
    go_on: z.boolean().optional().meta({
      description: 'A plan that failed goes on with it: what is done stays done; what failed or changed runs again.',
    }),
    unsafe: unsafeWork,
  }),
)

const COMMENTS_MAX = 200

export const redraftBody = wire(
  z.strictObject({
    comments: z
      .array(
        z.strictObject({
          task: z.string().min(1).max(300).nullish().meta({ description: 'All of the draft when not said.' }),
          text: z.string().min(1).max(10_000),
          field: z.string().min(1).max(100).optional(),
          line: z.int().min(1).max(1_000_000).optional(),
        }),
      )
      .min(1)
      .max(COMMENTS_MAX),
    ...plannerChoice,
  }),
)
