// How a plan came to say what it says: its revisions, what differs between them, and making the next one.

import { z } from 'zod'
import { document, moved, page, reason, time, whole } from './field-schemas.ts'
import { plannerChoice, unsafeWork } from './plans.ts'
import { wire } from './wire.ts'

const fields = {
  revision: z.int(),
  hash: z.string(),
  verified: z.boolean().meta({ description: 'Is it the hash of the definition that stands beside it?' }),
  by: z.string(),
  at: time,
  version: z.int().meta({ description: 'The entry of the journal it stands in.' }),
  rationale: z.string().nullable(),
  tasks: z.int(),
  format: z.string().nullable().meta({ description: 'The format it was written in, when its text was kept.' }),
}
export const revisions = wire(
  page(z.strictObject({ ...fields, summary: z.string().meta({ description: 'What changed since the one before.' }) })),
)
export const revision = wire(
  z.strictObject({
    ...fields,
    plan_id: z.string(),
    document: z.looseObject({}).meta({ description: 'The plan as a document of Planfold.' }),
    text: z.string().nullable().meta({ description: 'The text it was read from, word for word.' }),
  }),
  'Revision',
)

export const diffQuery = wire(
  z.strictObject({
    from: whole(1, 1_000_000).optional().meta({ description: 'The one before `to` when not said.' }),
    to: whole(1, 1_000_000).optional().meta({ description: 'The last one when not said.' }),
  }),
)
const changes = {
  summary: z.string(),
  diff: z.looseObject({}).meta({ description: 'What it means, task by task and key by key.' }),
}
export const diff = wire(
  z.strictObject({
    plan_id: z.string(),
    from: z.int(),
    to: z.int(),
    ...changes,
    text: z.string().meta({ description: 'The same for people, as plain text.' }),
  }),
  'Diff',
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
const told = {
  ...changes,
  notes: z.array(z.looseObject({ code: z.string(), message: z.string() })),
  fates: z
    .array(z.looseObject({ task: z.string(), fate: z.string(), why: z.string() }))
    .meta({ description: 'What becomes of every task.' }),
}
export const revised = wire(
  z.strictObject({ revision: z.int(), changed: z.boolean(), dry_run: z.boolean(), ...told, ...moved }),
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
export const redraft = wire(
  z.strictObject({
    plan_id: z.string(),
    name: z.string(),
    revision: z.int().meta({ description: 'The one it was made from: send it as `expected_revision`.' }),
    changed: z.boolean(),
    ...changes,
    document: z.string().meta({ description: 'The whole next draft, for POST /plans/PLAN/revisions.' }),
    rationale: z.string(),
    unfollowed: z
      .array(z.strictObject({ task: z.string().nullable(), text: z.string(), why: z.string() }))
      .meta({ description: 'Comments that were not applied.' }),
  }),
  'Redraft',
)
