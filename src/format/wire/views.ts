// What a page or another face shows of a plan, each with one call.

import { z } from 'zod'
import { json, map, time, whole } from './field-schemas.ts'
import { wire } from './wire.ts'

export const state = wire(
  z.strictObject({
    plan_id: z.string(),
    name: z.string(),
    version: z.int().meta({ description: 'How many entries of the journal are in it.' }),
    position: z.int().meta({ description: 'Of the last of them: events and entries behind it are new.' }),
    fold: map.meta({
      description:
        'The state as Planfold keeps it between runs: of each task only what differs from one that has not begun. Opened by `unpackFold`.',
    }),
    definition: map.meta({ description: 'As it stands in the journal.' }),
  }),
  'PlanState',
)

const count = whole(1, Number.MAX_SAFE_INTEGER).exactOptional()
export const taskPageQuery = wire(
  z.strictObject({
    visit: count.meta({ description: 'The changes of this visit.' }),
    attempt: count.meta({
      description: 'The changes of this attempt; of the last that changed files when none is said.',
    }),
  }),
)

const decision = z.strictObject({
  verdict: z.string(),
  by: z.string(),
  at: time,
  rationale: z.string(),
  option: z.string().nullable(),
  entry: z.int(),
})
const used = {
  tokens: z.number().nullable(),
  input_tokens: z.number().nullable(),
  output_tokens: z.number().nullable(),
  cost: z.number().nullable().meta({ description: 'In dollars, or as an agent said.' }),
  reported: z.boolean().meta({ description: 'Whoever did it says so; nobody counted.' }),
}
const verdict = z.looseObject({ criterion: z.string(), holds: z.boolean().nullable() })
const attempt = z.strictObject({
  visit: z.int(),
  attempt: z.int(),
  status: z.enum(['running', 'succeeded', 'failed', 'lost']),
  started_at: time,
  ended_at: time.nullable(),
  duration_ms: z.number().nullable(),
  by: z.string().nullable().meta({ description: 'Who had claimed it; null when the engine carried it out.' }),
  exit: z.int().nullable(),
  outcome: z.string().nullable(),
  failure: z.looseObject({ message: z.string() }).nullable(),
  lost: z.string().nullable().meta({ description: 'Why nobody knows how it ended.' }),
  verdicts: z.array(verdict),
  outputs: map.nullable(),
  log: z.strictObject({ sha256: z.string(), bytes: z.int() }).nullable(),
  changes: z.string().nullable(),
  paths: z.int().nullable().meta({ description: 'How many paths it wrote; null when nobody looked.' }),
  beside: z.array(z.string()).meta({
    description: 'What appeared or changed beside its write scope while it ran, in sentences; nobody can tell by whom.',
  }),
  used: z.strictObject(used).nullable(),
  network: z
    .array(z.looseObject({ host: z.string(), port: z.int(), allowed: z.boolean(), why: z.string(), count: z.int() }))
    .meta({ description: 'What its commands asked the network for, and what the proxy answered.' }),
  entry: z.int().meta({ description: 'Of the journal: where it ended, or began while it has not.' }),
})
const file = z.strictObject({
  path: z.string(),
  change: z.enum(['created', 'changed', 'deleted']),
  before: z.int().nullable().meta({ description: 'Bytes; null where there was no file.' }),
  after: z.int().nullable(),
  patch: z.array(z.string()).nullable().meta({ description: 'The lines that differ, in the unified form.' }),
  why: z.string().nullable().meta({ description: 'Why there is no patch.' }),
})

export const taskPage = wire(
  z.strictObject({
    plan_id: z.string(),
    name: z.string().meta({ description: 'Of the plan.' }),
    version: z.int(),
    task: z.looseObject({ id: z.string(), name: z.string(), status: z.string() }),
    definition: map.meta({ description: 'As a plan file would say it; a task of a group as it was expanded.' }),
    needed_by: z.array(z.string()),
    why: z.string().meta({ description: 'Why it stands where it stands.' }),
    attempts: z.array(attempt),
    decisions: z.array(decision),
    criteria: z
      .array(z.looseObject({ part: z.string(), criterion: z.string(), holds: z.boolean().nullable() }))
      .meta({ description: 'Each criterion, and how it was judged last.' }),
    used: z.strictObject(used).meta({ description: 'Of all attempts; null for what none of them tells.' }),
    preview: z.string().nullable().meta({ description: 'What would run; null for what has ended.' }),
    log: z.strictObject({
      items: z.array(z.looseObject({ seq: z.int(), stream: z.string(), at: time, text: z.string() })),
      cut: z.boolean().meta({ description: 'More was printed before that: GET …/logs?before=…' }),
    }),
    changes: z
      .strictObject({
        visit: z.int(),
        attempt: z.int(),
        files: z.array(file),
        more: z.int().meta({ description: 'So many more files it changed.' }),
      })
      .nullable()
      .meta({ description: 'Null when no attempt changed files, and for viewers.' }),
  }),
  'TaskPage',
)

const span = z.strictObject({ text: z.string(), tone: z.enum(['dim', 'bold', 'red', 'yellow']).nullable() })
export const gatePage = wire(
  z.looseObject({
    gate: z.string(),
    plan_id: z.string(),
    task_id: z.string(),
    name: z.string().meta({ description: 'Of the plan.' }),
    title: z.string().nullable(),
    open: z.boolean().meta({ description: 'It waits for an answer. What is asked is told only then.' }),
    state: z.string(),
    question: z.string().optional().meta({ description: 'In a sentence.' }),
    asks: z.string().optional(),
    asked: json.optional(),
    answers: z.array(z.string()).optional(),
    agree: z
      .strictObject({
        role: z.string().nullable().meta({ description: 'Who may answer; null for anybody who decides.' }),
        count: z.int().meta({ description: 'So many must approve.' }),
        given: z.array(z.strictObject({ by: z.string(), rationale: z.string() })),
        told: z.string().nullable(),
      })
      .optional(),
    definition: map,
    decisions: z.array(decision).meta({ description: 'What was decided there so far, oldest first.' }),
    consent: z
      .strictObject({
        hash: z.string().meta({ description: 'Of what is shown; an approval can be bound to it.' }),
        text: z.string().meta({ description: 'All of it, as every face says it.' }),
        lines: z.array(z.array(span)).meta({ description: 'The same, with what is set apart.' }),
        shown: z.looseObject({ type: z.enum(['task', 'gate']) }).meta({ description: 'What it is made from.' }),
        files: z
          .array(
            z.strictObject({
              sha256: z.string(),
              lines: z.array(z.string()).nullable(),
              why: z.string().nullable().meta({ description: 'Why there are no lines.' }),
            }),
          )
          .meta({ description: 'The files that the commands name, as they would be run.' }),
        changes: z.array(
          z.strictObject({
            path: z.string(),
            before: z.string().nullable(),
            now: z.string().nullable(),
            patch: z.array(z.string()).nullable(),
            why: z.string().nullable(),
          }),
        ),
      })
      .nullable(),
    hidden: z.boolean().meta({ description: 'Viewers do not see what is stored: `consent` is null for them.' }),
  }),
  'GatePage',
)
