// What waits for a person's decision in a plan, and the answers to it.

import { z } from 'zod'
import { EDIT_CHOICES } from '../../domain/event.ts'
import { lowerField } from '../plan/document-to-definition.ts'
import { field, LIST_MAX } from '../plan/schema-gates.ts'
import { document, instant, map, moved, page, reason, time } from './field-schemas.ts'
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
  unseen,
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
/** A list may name what can be in it. */
const isChoice = ({ type = 'text', choices }: z.infer<typeof field>): boolean =>
  choices === undefined || type !== 'text'
const NO_CHOICE = { message: 'is text, and the field has choices', params: { hint: 'add "type": "choice"' } }

export const newQuestion = wire(
  z.strictObject({
    text: z.string().min(1).max(10_000),
    form: z
      .array(field.refine(isChoice, { path: ['type'], ...NO_CHOICE }).transform(lowerField))
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
export const judgeBody = wire(z.strictObject({ rationale, hash, unseen }))
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
    unseen,
  }),
)
export const reviewed = wire(
  z.strictObject({ verdict: z.enum(['approved', 'rejected']), gates: z.array(z.string()), by: z.string(), ...moved }),
)

const gateHash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .optional()
  .meta({ description: 'Of what was seen; refused when something else is asked by now.' })

const gateShape = z.looseObject({
  gate: z.string().meta({ description: 'The task that asks.' }),
  plan_id: z.string(),
  task_id: z.string(),
  title: z.string().nullable(),
  asks: z.enum([
    'approval',
    'consent',
    'decision',
    'question',
    'recovery',
    'replan',
    'verdict',
    'unknown-outcome',
    'edits',
  ]),
  asked: z
    .looseObject({})
    .meta({ description: 'All of what is asked: what to show, the options, the form, the criteria.' }),
  answers: z.array(z.string()).meta({ description: 'The last words of the addresses that answer it.' }),
  since: time,
  hash: z.string().nullable().meta({ description: 'Of everything the answer will be bound to.' }),
  releases: z
    .strictObject({
      begins: z.array(z.string()).meta({ description: 'What begins, or can be claimed: it waits for nothing else.' }),
      waits: z
        .array(z.strictObject({ task: z.string(), for: z.array(z.string()) }))
        .meta({ description: 'What waits for other gates or tasks as well.' }),
      more: z.int().min(0).meta({ description: 'So many stand behind it that are not named.' }),
    })
    .optional()
    .meta({ description: 'Of a gate: what its answer sets going, as the plan stands now.' }),
})
export const gates = wire(page(gateShape))

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

export const decided = wire(
  z.strictObject({
    gate: z.string(),
    verdict: z.string(),
    by: z.string(),
    counts: z.boolean().meta({ description: 'False when others must approve as well.' }),
    task_state: z.string().meta({ description: 'How the task stands now.' }),
    asks: z
      .string()
      .nullable()
      .meta({ description: 'What it asks next: after its checks hold, perhaps for approval.' }),
    ...moved,
  }),
  'Decided',
)
