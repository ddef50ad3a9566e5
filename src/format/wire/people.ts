// What waits for people and what they say to it: the inbox, questions, proposals, reviews.

import { z } from 'zod'
import { lowerField } from '../lower-judgement.ts'
import { field, LIST_MAX } from '../schema-judgement.ts'
import { document, map, moved, page, reason, time } from './asking.ts'
import { wire } from './wire.ts'

const rationale = reason.optional().meta({ description: 'Why; it is kept in the journal.' })
const hash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .optional()
  .meta({ description: 'Of what was seen; refused when it is something else by now.' })

// ── inbox ────────────────────────────────────────────────────────────────────────────────────────────────────────

const itemShape = z.looseObject({
  id: z.string(),
  plan_id: z.string(),
  name: z.string().meta({ description: 'Of the plan.' }),
  task: z.string().nullable(),
  title: z.string().nullable(),
  since: time,
  asks: z.string().meta({ description: 'What kind of answer it wants.' }),
  asked: z.looseObject({}),
  hash: z.string().nullable(),
  answers: z.array(z.strictObject({ answer: z.string(), means: z.string() })),
})
export const inboxQuery = wire(
  z.strictObject({
    plan_id: z.string().min(1).max(200).optional().meta({ description: 'Only of this plan: its UUID or name.' }),
    for: z.string().min(1).max(200).optional().meta({ description: 'Only what is theirs, by name or by role.' }),
  }),
)
export const inbox = wire(
  z.strictObject({
    items: z.array(itemShape),
    next: z.null(),
    unreadable: z
      .array(z.strictObject({ plan_id: z.string(), name: z.string(), why: z.string() }))
      .meta({ description: 'Plans whose journal is damaged: what waits there is not known.' }),
  }),
  'Inbox',
)
const answered = z.strictObject({
  answer: z.string().min(1).max(100).meta({ description: 'One of its answers, or the id of an option.' }),
  rationale,
  hash,
  option: z.string().min(1).max(200).optional(),
  answers: map.optional().meta({ description: 'The fields of a form.' }),
  to: z.string().min(1).max(200).optional().meta({ description: 'Of push-back: the task that is done again.' }),
  outputs: map.optional().meta({ description: 'Of done: what was made.' }),
  outcome: z.string().min(1).max(200).optional(),
})
export const inboxAnswer = wire(answered, 'InboxAnswer')
export type InboxAnswerBody = z.output<typeof answered>
export const inboxAnswered = wire(
  z.strictObject({
    id: z.string(),
    answer: z.string(),
    told: z.array(z.string()).meta({ description: 'What then happened, in sentences.' }),
    claim: z.strictObject({ task: z.string(), token: z.string(), expires_in_seconds: z.number() }).optional(),
    ...moved,
  }),
)

// ── questions ────────────────────────────────────────────────────────────────────────────────────────────────────

const questionShape = z.strictObject({
  id: z.string(),
  plan_id: z.string(),
  text: z.string(),
  form: z.array(z.looseObject({ name: z.string(), type: z.string() })),
  task: z.string().nullable(),
  by: z.string(),
  since: time,
  answer: z.strictObject({ answers: map, by: z.string(), at: time }).nullable(),
})
export const question = wire(questionShape, 'Question')
export const questions = wire(page(questionShape))
export const newQuestion = wire(
  z.strictObject({
    text: z.string().min(1).max(10_000),
    form: z
      .array(field.transform(lowerField))
      .min(1)
      .max(LIST_MAX)
      .optional()
      .meta({ description: 'One field for each answer; one text called `answer` when not said.' }),
    task: z.string().min(1).max(200).optional().meta({ description: 'The task it is about.' }),
  }),
)
export const questionAnswer = wire(z.strictObject({ answers: map }))

// ── proposals ────────────────────────────────────────────────────────────────────────────────────────────────────

const proposalFields = {
  id: z.string(),
  plan_id: z.string(),
  on: z.int().meta({ description: 'The revision it was made for.' }),
  hash: z.string(),
  rationale: z.string(),
  cause: z.string().nullable(),
  task: z.string().nullable(),
  by: z.string(),
  since: time,
  fate: z.looseObject({ status: z.enum(['waiting', 'accepted', 'declined', 'void']) }),
}
const changes = {
  summary: z.string(),
  diff: z.looseObject({}).meta({ description: 'What it means, task by task and key by key.' }),
}
export const proposals = wire(page(z.strictObject(proposalFields)))
export const proposal = wire(z.strictObject({ ...proposalFields, ...changes, document: z.looseObject({}) }), 'Proposal')
export const newProposal = wire(
  z.strictObject({
    document,
    rationale: z.string().min(1).max(10_000),
    cause: reason.optional().meta({ description: 'What was observed.' }),
    task: z.string().min(1).max(200).optional(),
    expected_revision: z.int().min(1).optional(),
    merge: z.boolean().optional().meta({ description: 'Keep what the document does not mention.' }),
  }),
)
export const proposed = wire(
  z.strictObject({
    id: z.string().nullable().meta({ description: 'Null when it changes nothing.' }),
    accepted: z.boolean().meta({ description: 'The policy of the plan took it by itself.' }),
    revision: z.int().nullable(),
    ...changes,
    ...moved,
  }),
)
export const judgeBody = wire(z.strictObject({ rationale, hash }))
export const declineBody = wire(z.strictObject({ rationale: z.string().min(1).max(10_000), hash }))
export const judged = wire(
  z.strictObject({ id: z.string(), verdict: z.enum(['accepted', 'declined']), by: z.string(), ...moved }),
)

// ── reviews ──────────────────────────────────────────────────────────────────────────────────────────────────────

export const reviews = wire(
  page(
    z.strictObject({
      hash: z.string().meta({ description: 'Of exactly these questions.' }),
      since: time,
      closes_at: time.nullable(),
      closed: z.boolean(),
      items: z.array(itemShape),
    }),
  ),
)
export const reviewBody = wire(
  z.strictObject({
    verdict: z.enum(['approve', 'reject']),
    rationale,
    hash: hash.meta({ description: 'Of the review as it was seen.' }),
  }),
)
export const reviewed = wire(
  z.strictObject({ verdict: z.enum(['approved', 'rejected']), gates: z.array(z.string()), by: z.string(), ...moved }),
)
