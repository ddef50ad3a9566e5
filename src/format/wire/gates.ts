// What waits for a person's decision in a plan, and the answers to it.

import { z } from 'zod'
import { document, instant, map, moved, page, reason, time } from './asking.ts'
import { wire } from './wire.ts'

const hash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .optional()
  .meta({ description: 'Of what was seen; refused when something else is asked by now.' })
const rationale = reason.optional().meta({ description: 'Why; it is kept in the journal.' })

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
    hash,
    until: instant.optional().meta({ description: 'An approval may be used so long.' }),
    document: document
      .optional()
      .meta({ description: 'The whole plan as it is approved; it becomes the next revision.' }),
  }),
)
export const decideBody = wire(z.strictObject({ rationale, hash }))
export const pushBackBody = wire(
  z.strictObject({
    rationale: z.string().min(1).max(10_000).meta({ description: 'What is to be changed.' }),
    hash,
    to: z.string().min(1).max(200).optional().meta({ description: 'The task that is done again.' }),
  }),
)
export const chooseBody = wire(
  z.strictObject({
    rationale,
    hash,
    option: z.string().min(1).max(200).meta({ description: 'Of `edits`: keep, take or merge.' }),
    choices: z
      .record(z.string().min(1).max(4096), z.enum(['keep', 'take', 'merge']))
      .optional()
      .meta({ description: 'Of `edits`: another choice for single paths.' }),
  }),
)
export const answerBody = wire(z.strictObject({ rationale, hash, answers: map }))

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
