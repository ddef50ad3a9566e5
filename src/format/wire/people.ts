// Gates, inbox, questions, proposals and reviews on the wire.

import { z } from 'zod'
import { EDIT_CHOICES } from '../../domain/event.ts'
import { field } from '../actions/gate-action.ts'
import { LIST_MAX } from '../plan/schema-gates.ts'
import { document, instant, map, nonEmpty, reason } from './field-schemas.ts'
import { plannerChoice } from './plans.ts'
import { wire, wireObject } from './wire.ts'

const rationale = reason.optional().describe('Why; it is kept in the journal.')
const hash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .optional()
  .describe('Of what was seen; refused when it is something else by now.')
const unseen = z
  .literal(true)
  .optional()
  .describe('Approved without having seen it. An approval has this or `hash`; the journal keeps which.')

// ── inbox ────────────────────────────────────────────────────────────────────────────────────────────────────────

export const inboxQuery = wireObject({
  plan_id: nonEmpty(200).optional().describe('Only of this plan: its UUID or name.'),
  for: nonEmpty(200).optional().describe('Only what is theirs, by name or by role.'),
})
const answered = z.strictObject({
  answer: nonEmpty(100).describe('One of its answers, or the id of an option.'),
  rationale,
  hash,
  unseen,
  option: nonEmpty(200).optional(),
  answers: map.optional().describe('The fields of a form.'),
  to: nonEmpty(200).optional().describe('Of push-back: the task that is done again.'),
  outputs: map.optional().describe('Of done: what was made.'),
  outcome: nonEmpty(200).optional(),
})
export const inboxAnswer = wire(answered, 'InboxAnswer')
export type InboxAnswerBody = z.output<typeof answered>

// ── questions ────────────────────────────────────────────────────────────────────────────────────────────────────

/** A list field may restrict its items. */
const isChoice = ({ type = 'text', choices }: z.infer<typeof field>): boolean =>
  choices === undefined || type !== 'text'
const NO_CHOICE = { message: 'is text, and the field has choices', params: { hint: 'add "type": "choice"' } }

export const newQuestion = wireObject({
  text: nonEmpty(10_000),
  form: z
    .array(field.refine(isChoice, { path: ['type'], ...NO_CHOICE }))
    .min(1)
    .max(LIST_MAX)
    .optional()
    .describe('One field for each answer; one text called `answer` when not said.'),
  task: nonEmpty(200).optional().describe('The task it is about.'),
})
export const questionAnswer = wireObject({ answers: map })

// ── proposals ────────────────────────────────────────────────────────────────────────────────────────────────────

export const newProposal = wireObject({
  document,
  rationale: nonEmpty(10_000),
  cause: reason.optional().describe('What was observed.'),
  task: nonEmpty(200).optional(),
  expected_revision: z.int().min(1).optional(),
  merge: z.boolean().optional().describe('Keep what the document does not mention.'),
})
const { template: _, ...replanner } = plannerChoice
export const replanBody = wireObject({
  reason: reason.optional().describe('What should be different, or what was learnt.'),
  ...replanner,
})
export const judgeBody = wireObject({ rationale, hash, unseen })
export const declineBody = wireObject({ rationale: nonEmpty(10_000), hash })

// ── reviews ──────────────────────────────────────────────────────────────────────────────────────────────────────

export const reviewBody = wireObject({
  verdict: z.enum(['approve', 'reject']),
  rationale,
  hash: hash.describe('Of the review as it was seen.'),
  unseen,
})

const gateHash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .optional()
  .describe('Of what was seen; refused when something else is asked by now.')

export const approveBody = wireObject({
  rationale,
  hash: gateHash,
  unseen,
  until: instant.optional().describe('An approval may be used so long.'),
  document: document.optional().describe('The whole plan as it is approved; it becomes the next revision.'),
})
export const decideBody = wireObject({ rationale, hash: gateHash })
export const pushBackBody = wireObject({
  rationale: nonEmpty(10_000).describe('What is to be changed.'),
  hash: gateHash,
  to: nonEmpty(200).optional().describe('The task that is done again.'),
})
export const chooseBody = wireObject({
  rationale,
  hash: gateHash,
  option: nonEmpty(200).describe('Of `edits`: keep, take or merge.'),
  choices: z
    .record(nonEmpty(4096), z.enum(EDIT_CHOICES))
    .optional()
    .describe('Of `edits`: another choice for single paths.'),
})
export const answerBody = wireObject({ rationale, hash: gateHash, answers: map })
