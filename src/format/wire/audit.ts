// A plan looked at by whoever must answer for it, takes it over, or wants to know how it stands: views of the journal.

import { z } from 'zod'
import { instant, notePlace, page, reason, time } from './field-schemas.ts'
import { planState, taskState } from './planstore-fields.ts'
import { wire } from './wire.ts'

const ofPlan = { plan_id: z.string(), name: z.string() }

export const sinceQuery = wire(
  z.strictObject({ since: instant.optional().meta({ description: 'Only what happened then or later.' }) }),
)
const faulty = z.looseObject({ version: z.int(), message: z.string() }).nullable()

export const audit = wire(
  z.strictObject({
    ...ofPlan,
    entries: z.int().meta({ description: 'How many entries the chain proves.' }),
    head: z.string().meta({ description: 'The hash of the last of them.' }),
    fault: faulty.meta({ description: 'Where the chain is broken; behind it nothing is told.' }),
    lines: z.array(
      z.strictObject({
        version: z.int(),
        at: time,
        actor: z.string(),
        hash: z.string(),
        kind: z.string(),
        type: z.string(),
        task: z.string().nullable(),
        text: z.string(),
        facts: z.looseObject({}),
      }),
    ),
  }),
  'AuditTrail',
)
export const handoff = wire(
  z.looseObject({
    ...ofPlan,
    status: planState,
    readme: z.string(),
    postmortem: z.string(),
    tasks: z.array(z.looseObject({})),
  }),
  'Handoff',
)
export const digest = wire(
  z.looseObject({
    ...ofPlan,
    status: planState,
    entries: z.int(),
    completed: z.array(z.looseObject({ task: z.string() })),
    failed: z.array(z.looseObject({ task: z.string(), message: z.string() })),
    waiting: z.array(z.looseObject({})),
  }),
  'Digest',
)
export const contract = wire(
  z.strictObject({
    ...ofPlan,
    status: planState,
    revision: z.int(),
    hash: z.string(),
    counts: z.strictObject({ holds: z.int(), broken: z.int(), open: z.int() }),
    lines: z.array(
      z.looseObject({ task: z.string(), part: z.string(), criterion: z.string(), holds: z.boolean().nullable() }),
    ),
  }),
  'Contract',
)
export const replay = wire(
  z.looseObject({ ...ofPlan, ok: z.boolean(), entries: z.int(), trace: z.string(), head: z.string(), fault: faulty }),
  'Replay',
)

export const graphQuery = wire(
  z.strictObject({
    as: z
      .enum(['mermaid', 'dot', 'tree', 'markdown', 'svg'])
      .optional()
      .meta({ description: '`mermaid` when not said.' }),
  }),
)
export const board = wire(
  page(
    z.looseObject({
      id: z.string(),
      name: z.string(),
      title: z.string().nullable(),
      action: z.string(),
      status: taskState,
      needs: z.array(z.string()),
      reason: z.string().nullable(),
    }),
  ),
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
export const note = wire(
  z.strictObject({
    ...ofPlan,
    text: z.string(),
    task: z.string().nullable(),
    place: notePlace.nullable(),
    by: z.string(),
    version: z.int(),
  }),
)

const halt = { by: z.string(), at: time, reason: z.string().nullable() }
export const halted = wire(z.strictObject({ halted: z.boolean(), halt: z.strictObject(halt).nullable() }), 'Halt')
export const haltBody = wire(z.strictObject({ reason: reason.min(1).nullable() }))
export const haltDone = wire(
  z.strictObject({
    ...halt,
    paused: z.array(z.string()),
    already: z.array(z.string()),
    left: z.array(z.strictObject({ name: z.string(), why: z.string() })),
  }),
)
export const lifted = wire(z.strictObject({ lifted: z.strictObject(halt).nullable() }))
