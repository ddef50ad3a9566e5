// Gates, inbox, questions, proposals and reviews on the wire.

import { z } from 'zod'
import { EDIT_CHOICES } from '../../domain/event.ts'
import { field } from '../actions/gate-action.ts'
import { LIST_MAX } from '../plan/schema-gates.ts'
import { document, instant, map, reason } from './field-schemas.ts'
import { plannerChoice } from './plans.ts'
import { wire } from './wire.ts'

const rationale = reason.optional().meta({ description: 'Why; it is kept in the journal.' })
const hash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .optional()
  .meta({ description: 'Of what was seen; refused when it is something else by now.' })
const unseen = z
  .literal(true)
  .optional()
  .meta({ description: 'Approved without having seen it. An approval has this or `hash`; the journal keeps which.' })

// ── inbox ────────────────────────────────────────────────────────────────────────────────────────────────────────

export const inboxQuery = wire(
  z.strictObject({
    plan_id: z.string().min(1).max(200).optional().meta({ description: 'Only of this plan: its UUID or name.' }),
    for: z.string().min(1).max(200).optional().meta({ description: 'Only what is theirs, by name or by role.' }),
  }),
)
const answered = z.strictObject({
  answer: z.string().min(1).max(100).meta({ description: 'One of its answers, or the id of an option.' }),
  rationale,
  hash,
  unseen,
  option: z.string().min(1).max(200).optional(),
  answers: map.optional().meta({ description: 'The fields of a form.' }),
  to: z.string().min(1).max(200).optional().meta({ description: 'Of push-back: the task that is done again.' }),
  outputs: map.optional().meta({ description: 'Of done: what was made.' }),
  outcome: z.string().min(1).max(200).optional(),
})
export const inboxAnswer = wire(answered, 'InboxAnswer')
export type InboxAnswerBody = z.output<typeof answered>

// ── questions ────────────────────────────────────────────────────────────────────────────────────────────────────

/** A list field may restrict its items. */
const isChoice = ({ type = 'text', choices }: z.infer<typeof field>): boolean =>
  choices === undefined || type !== 'text'
const NO_CHOICE = { message: 'is text, and the field has choices', params: { hint: 'add "type": "choice"' } }

export const newQuestion = wire(
  z.strictObject({
    text: z.string().min(1).max(10_000),
    form: z
      .array(field.refine(isChoice, { path: ['type'], ...NO_CHOICE }))
      .min(1)
      .max(LIST_MAX)
      .optional()
      .meta({ description: 'One field for each answer; one text called `answer` when not said.' }),
    task: z.string().min(1).max(200).optional().meta({ description: 'The task it is about.' }),
  }),
)
export const questionAnswer = wire(z.strictObject({ answers: map }))

// ── proposals ────────────────────────────────────────────────────────────────────────────────────────────────────

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
const { template: _, ...replanner } = plannerChoice
export const replanBody = wire(
  z.strictObject({
    reason: reason.optional().meta({ description: 'What should be different, or what was learnt.' }),
    ...replanner,
  }),
)
export const judgeBody = wire(z.strictObject({ rationale, hash, unseen }))
export const declineBody = wire(z.strictObject({ rationale: z.string().min(1).max(10_000), hash }))

// ── reviews ──────────────────────────────────────────────────────────────────────────────────────────────────────

export const reviewBody = wire(
  z.strictObject({
    verdict: z.enum(['approve', 'reject']),
    rationale,
    hash: hash.meta({ description: 'Of the review as it was seen.' }),
    unseen,
  }),
)

const gateHash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .optional()
  .meta({ description: 'Of what was seen; refused when something else is asked by now.' })

export const approveBody = wire(
  z.strictObject({
    rationale,
    hash: gateHash,
    unseen,
    until: instant.optional().meta({ description: 'An approval may be used so long.' }),
    document: document
      .optional()
      .meta({ description: 'The whole plan as it is approved; it becomes the next revision.' }),
  }),
)
export const decideBody = wire(z.strictObject({ rationale, hash: gateHash }))
export const pushBackBody = wire(
  z.strictObject({
    rationale: z.string().min(1).max(10_000).meta({ description: 'What is to be changed.' }),
    hash: gateHash,
    to: z.string().min(1).max(200).optional().meta({ description: 'The task that is done again.' }),
  }),
)
export const chooseBody = wire(
  z.strictObject({
    rationale,
    hash: gateHash,
    option: z.string().min(1).max(200).meta({ description: 'Of `edits`: keep, take or merge.' }),
    choices: z
      .record(z.string().min(1).max(4096), z.enum(EDIT_CHOICES))
      .optional()
      .meta({ description: 'Of `edits`: another choice for single paths.' }),
  }),
)
export const answerBody = wire(z.strictObject({ rationale, hash: gateHash, answers: map }))
