// Plans on the wire: what makes one, what changes one, how one is shown. The fields of the PlanStore keep their names; whatever a
// client sends beside them is kept and shown again under `extra`.

import { z } from 'zod'
import { EDIT_CHOICES } from '../../domain/event.ts'
import { isReadable } from '../dialects/planstore/plan-steps-words.ts'
import { planJsonSchema } from '../plan/json-schema.ts'
import { draftingLimits } from './budget.ts'
import * as part from './field-schemas.ts'
import { map, moved, reason, time } from './field-schemas.ts'
import * as word from './planstore-fields.ts'
import { anyOf, wire } from './wire.ts'

// What is done to a plan as a whole: carried out, held, ended, copied, taken back.

const why = reason.optional().meta({ description: 'Why; it is kept in the journal.' })

export const pauseBody = wire(
  z.strictObject({
    reason: why,
    force: z
      .boolean()
      .optional()
      .meta({ description: 'Also ends what may not be run again; it then asks what became of it.' }),
  }),
)
export const cancelBody = wire(
  z.strictObject({
    reason: why,
    force: z.boolean().optional().meta({ description: 'Here and now: nothing is undone first.' }),
  }),
)
export const cloneBody = wire(
  z.strictObject({
    name: z.string().min(1).max(100).optional(),
    description: z.string().max(100_000).optional().meta({ description: 'Another goal than that of the first.' }),
    session_id: z.string().min(1).max(128).optional(),
  }),
)

export const unsafeWork = z.enum(['repeat', 'keep']).optional().meta({
  description:
    'Of a plan that failed: do again (`repeat`), or leave done (`keep`), completed work that is unsafe to repeat and would run again because it changed or what it needs runs again. Refused when there is such work and nothing is said.',
})
export const executeBody = wire(z.strictObject({ unsafe: unsafeWork }))
export const executed = wire(
  z.strictObject({
    status: z.literal('execution_started'),
    attached: z.boolean().meta({ description: 'It was under way already; nothing was started twice.' }),
    message: z.string().optional(),
    went_on: z
      .strictObject({
        stay_done: z.int(),
        run_again: z.array(z.string()),
        added: z.array(z.string()),
        not_run_yet: z.int(),
      })
      .optional()
      .meta({ description: 'It had failed and goes on: what becomes of its tasks.' }),
    ...moved,
  }),
)
export const verbDone = wire(
  z.strictObject({
    status: z
      .enum(['paused', 'resumed', 'cancelling', 'cancelled'])
      .meta({ description: '`cancelling`: what it has begun is ended, and undone, first.' }),
    ...moved,
  }),
)

const choice = z.enum(EDIT_CHOICES)
const rollback = z.strictObject({
  checkpoint_id: z.string().min(1).max(300).optional().meta({ description: 'A checkpoint by its name.' }),
  to: z
    .union([z.string().min(1).max(300), z.int().min(0)])
    .optional()
    .meta({ description: 'A checkpoint, or the number of an entry. Before the first task, when neither is said.' }),
  undo: z.boolean().optional().meta({ description: 'Takes back the last rollback instead.' }),
  files: z.array(z.string().min(1).max(4_096)).min(1).max(1_000).optional().meta({ description: 'Only these paths.' }),
  tasks: z.array(z.string().min(1)).min(1).max(1_000).optional().meta({ description: 'Only what these tasks wrote.' }),
  files_only: z.boolean().optional(),
  keep_git: z.boolean().optional(),
  include_unclaimed: z.boolean().optional().meta({
    description:
      'Also paths that no task declares and that changed while a task without a scope ran. Otherwise they stay.',
  }),
  force: z.boolean().optional(),
  choices: z
    .record(z.string(), choice)
    .optional()
    .meta({ description: 'Path by path, where somebody has worked since.' }),
  every: choice.optional().meta({ description: 'For all other such paths.' }),
  dry_run: z.boolean().optional().meta({ description: 'Only tells what would happen.' }),
  wait_seconds: z.number().min(0).max(25).optional().meta({ description: 'Waits so long for its end.' }),
})
export const rollbackBody = wire(rollback, 'Rollback')
export type RollbackBody = z.output<typeof rollback>
const filePreview = z.looseObject({ path: z.string(), will: z.enum(['restore', 'create', 'delete', 'chmod', 'leave']) })
export const rolledBack = wire(
  z.union([
    z.strictObject({
      status: z.enum(['rollback_started', 'rollback_completed', 'rollback_stopped']),
      checkpoint_id: z.string().nullable(),
      to: z.int(),
      outcome: map.nullable().meta({ description: 'What was changed, once it has ended.' }),
      ...moved,
    }),
    z.strictObject({
      status: z.literal('dry_run'),
      plan_id: z.string(),
      name: z.string(),
      checkpoint_id: z.string().nullable(),
      to: z.int(),
      files: z.array(filePreview),
      conflicts: z.array(filePreview).meta({ description: 'Somebody has worked there since, and nobody chose.' }),
      choices: z.array(choice),
      tasks: z.array(z.looseObject({ task: z.string(), status: z.string() })),
      compensate: z.array(z.string()),
      stays: z.array(z.looseObject({ task: z.string(), why: z.string() })),
      decisions_lost: z
        .array(z.looseObject({ task: z.string(), verdict: z.string() }))
        .meta({ description: 'Decisions of people about tasks that will run again; they are asked again.' }),
      git: z.array(z.looseObject({})),
      kept: z.array(z.looseObject({ path: z.string(), sha256: z.string() })),
    }),
  ]),
)

export const newCheckpoint = wire(z.strictObject({ name: z.string().min(1).max(100).optional() }))
export const madeCheckpoint = wire(z.strictObject({ id: z.string(), at: time, ...moved }))

export const reference = z.string().min(1).max(200)
/** As the client wrote it; one without a zone is kept all the same. */
export const told = z
  .string()
  .max(40)
  .refine(text => /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/.test(text) && isDate(text), {
    message: 'is not a time',
    params: { hint: 'write it like 2026-01-24T10:00:00Z' },
  })
const isDate = (text: string): boolean => !Number.isNaN(Date.parse(text.slice(0, 10)))

export const NOT_CHOSEN = {
  message: 'cannot be chosen: ids are made by the service',
  params: { hint: "leave it out; to find it by a word of your own, send that as 'name'" },
}

/** What a client calls what it makes. Ids themselves are made here, so what could never be one is refused. */
export const chosenId = z
  .string()
  .refine((text: string): boolean => isReadable(text), { ...NOT_CHOSEN })
  .meta({ description: 'A readable word, which becomes the name. Ids themselves (UUIDs) are made by the service.' })

/** The body of the PlanStore, by which a plan is told from a document. */
const storePlan = z.looseObject({
  goal_id: reference.nullish(),
  agent_id: reference.nullish(),
  plan_type: part.line.nullish().meta({ description: '`sequential` when not said, or `parallel`.' }),
  steps: z.array(part.json).nullish().meta({ description: 'The outline, kept word for word.' }),
  session_id: reference.nullish(),
  conversation_id: reference.nullish().meta({ description: 'The same as `session_id`.' }),
  id: chosenId.nullish(),
  name: part.line.nullish(),
  plan_name: part.line.nullish().meta({ description: 'The same as `name`.' }),
  title: part.line.nullish(),
  description: part.text(100_000).nullish(),
  owner: part.line.nullish(),
  labels: z.array(part.line).nullish(),
  status: word.planStatus.nullish(),
  current_step: z.int().min(0).nullish(),
})
export const planOfStore = wire(storePlan, 'PlanStorePlan')
export type PlanOfStore = z.output<typeof storePlan>

const nodes = z
  .looseObject({ title: part.line.optional(), nodes: z.array(part.map), edges: z.array(part.json).optional() })
  .meta({ description: 'A plan of nodes, with artifacts and gates.' })

const named = z.string().min(1).max(200).optional()
/** Who drafts a plan for a goal. */
export const plannerChoice = {
  planner: named.meta({ description: 'heuristic (asks no model), model or template.' }),
  model: named.meta({ description: 'PROVIDER/NAME; naming one is consent to ask it.' }),
  template: named.meta({ description: 'The template to fill from the goal.' }),
  budget: draftingLimits.optional().meta({
    description:
      'What the model may use in all, in place of 20 calls, 400k tokens and 2 USD; more than that needs the right to decide. The settings of the service hold all the same.',
  }),
}
const goalAlone = z
  .looseObject({
    goal: z.string().min(1),
    worker: named.meta({ description: 'The coding agent that works the tasks; one of GET /agents.' }),
    ...plannerChoice,
    look: z.boolean().optional().meta({
      description:
        'Run the tests, lint, type check and build before, each at most once, on a copy in the sandbox, for at most 20 s in all; the draft is built on what fails. Only for the planner heuristic; needs the right to operate.',
    }),
  })
  .meta({ description: 'Only a goal: a planner makes the tasks.' })

/** Anything: which of the forms it is is seen by its shape, and then read by that form's own rules. */
const anyPlan = wire(z.union([part.map, z.array(part.json)]), 'NewPlan')

/** The forms that are told apart, as each is read; the others that are known stand last. */
export const planBody: typeof anyPlan = {
  ...anyPlan,
  describe: side =>
    anyOf({
      description:
        'A document of Planfold, a plan of the PlanStore, a plan of nodes, only a goal, or any other format that is known: docs/formats/dialects.md.',
      examples: [{ planfold: 1, name: 'hello', tasks: [{ id: 'greet', run: 'echo hello' }] }],
      named: {
        PlanDocument: planJsonSchema(),
        PlanStorePlan: planOfStore.describe(side),
        PlanOfNodes: wire(nodes).describe(side),
        PlanOfGoal: wire(goalAlone).describe(side),
      },
      others: [anyPlan.describe(side)],
    }),
}

const make = z.strictObject({
  start: part.yes.meta({ description: 'Start it at once.' }),
  session_id: reference.optional().meta({ description: 'The session it belongs to.' }),
  goal_id: reference.optional().meta({ description: 'The goal it is for.' }),
  agent_id: reference.optional().meta({ description: 'Who is to carry it out.' }),
  name: reference.optional().meta({ description: 'Instead of the one it says; numbered when it is taken.' }),
  from: reference.optional().meta({ description: 'Read it as this format, whatever it looks like.' }),
  dry_run: part.yes.meta({ description: 'Only check it and tell what would be made.' }),
})
export const makeQuery = wire(make)
export type MakeQuery = z.output<typeof make>

export const listQuery = wire(
  z.strictObject({
    goal_id: reference.optional().meta({ description: 'Only those for this goal.' }),
    agent_id: reference.optional().meta({ description: 'Only those this agent is to carry out.' }),
    session_id: reference.optional().meta({ description: 'Only those of this session.' }),
    conversation_id: reference.optional().meta({ description: 'The same as `session_id`.' }),
    status: word.planStatus.optional(),
    q: part.line.optional().meta({ description: 'Words of its name, title, goal or labels.' }),
    archived: part.yes.meta({ description: 'Only those that were deleted.' }),
    since: part.instant.optional().meta({ description: 'Only those that changed then or later.' }),
    until: part.instant.optional().meta({ description: 'Only those that were made before.' }),
    waiting: part.yes.meta({ description: 'Only those in which something waits for a person.' }),
    sort: z.enum(['newest', 'updated', 'name', 'cost']).optional().meta({
      description: '`newest` first when not said; `updated`: changed last first; `cost`: what cost most first.',
    }),
    limit: part.limit,
    cursor: part.cursor,
  }),
)
export const oneQuery = wire(
  z.strictObject({
    as: reference
      .optional()
      .meta({ description: 'Print it in this format instead; `html` is a report of how it went.' }),
  }),
)
export const deleteQuery = wire(
  z.strictObject({
    purge: part.yes.meta({ description: 'Also take its history away; needs the right to administer.' }),
  }),
)

const patch = z.looseObject({
  status: word.planStatus.optional(),
  current_step: z.int().min(0).nullish(),
  started_at: told.nullish(),
  completed_at: told.nullish(),
  title: part.line.nullish(),
  description: part.text(100_000).nullish(),
  owner: part.line.nullish(),
  labels: z.array(part.line).nullish(),
  plan_type: part.line.nullish(),
  steps: z.array(part.json).nullish(),
  reason: part.reason.nullish().meta({ description: 'Why its status changes.' }),
  expected_revision: z.int().min(1).optional().meta({ description: 'Refused when the plan has another by now.' }),
})
export const planPatch = wire(patch, 'PlanPatch')
export type PlanPatch = z.output<typeof patch>

export const manyPlans = wire(z.strictObject({ ids: z.array(reference).min(1).max(1_000) }))
export const newOrder = wire(
  z.strictObject({
    order: z.array(reference).min(1).meta({ description: 'Tasks by id or name; those left out follow as they stood.' }),
    expected_revision: z.int().min(1).optional(),
  }),
)

// ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────

const own = {
  id: z.string(),
  name: z.string(),
  title: z.string().nullable(),
  goal_id: z.string().nullable(),
  agent_id: z.string().nullable(),
  session_id: z.string().nullable(),
  status: word.planWords.meta({ description: 'In the words of the PlanStore.' }),
  state: word.planState.meta({ description: 'In the words of Planfold.' }),
  revision: z.int(),
  version: z.int().meta({ description: 'Counts what happened to it; its ETag.' }),
  archived: z.boolean(),
  created_at: part.time,
  updated_at: part.time,
  started_at: part.time.nullable(),
  completed_at: part.time.nullable(),
}

/** What the row of a plan tells by itself. */
const shortProgress = z.strictObject({
  total: z.int(),
  done: z.int().meta({ description: 'Completed or skipped.' }),
  ratio: z.number(),
})
const progress = z.strictObject({
  ...shortProgress.shape,
  ended: z.int(),
  counts: z.record(z.string(), z.int()),
})

const one = z.strictObject({
  ...own,
  description: z.string().nullable(),
  owner: z.string().nullable(),
  labels: z.array(z.string()),
  plan_type: z.string().meta({
    description: 'Of a plan that does not say: `sequential` when each task needs the one before it, else `parallel`.',
  }),
  steps: z.array(part.json).meta({
    description: 'The outline as it was sent; of a plan that was sent as a list of steps, its tasks in that format.',
  }),
  current_step: z.int(),
  client: z
    .strictObject({ started_at: z.string().nullable(), completed_at: z.string().nullable() })
    .meta({ description: 'What clients said; the times beside it are ours.' }),
  reason: z.string().nullable(),
  shortage: z
    .strictObject({
      kind: z.enum(['disk-full', 'open-files', 'processes', 'unavailable']),
      code: z.string().meta({ description: 'As the operating system says it, such as ENOSPC.' }),
      message: z.string(),
      hint: z.string(),
    })
    .optional()
    .meta({
      description: 'It is paused because the engine lacks this; no task failed by it, and it goes on by itself.',
    }),
  origin: z.string().nullable().meta({ description: 'The plan it was made from.' }),
  progress,
  extra: part.map.meta({ description: 'Whatever else was sent.' }),
})
export const plan = wire(one, 'Plan')
export type PlanBody = z.input<typeof one>

const warning = z.strictObject({
  message: z.string(),
  hint: z.string().optional(),
  path: z.string().optional(),
  line: z.int(),
  column: z.int(),
})
const made = z.strictObject({
  ...one.shape,
  replayed: z.literal(true).optional(),
  warnings: z.array(warning).optional(),
})
export const planMade = wire(made, 'PlanMade')

export const surroundings = z
  .array(
    z.strictObject({
      severity: z.enum(['error', 'warning']).meta({ description: 'error: it will not start.' }),
      task: z.string().optional(),
      message: z.string(),
      hint: z.string().optional(),
    }),
  )
  .meta({ description: 'What policies, secrets and databases around the service will refuse, or ask about.' })

const checked = z.strictObject({
  status: z.literal('dry_run'),
  name: z.string(),
  name_taken: z.boolean().meta({ description: 'It would be numbered.' }),
  title: z.string().nullable(),
  tasks: z.int(),
  start: z.boolean().meta({ description: 'It would be started at once.' }),
  warnings: z.array(warning),
  surroundings,
  document: part.map.meta({ description: 'What would be made, in the canonical format.' }),
})
export const planChecked = wire(checked, 'PlanChecked')
export type PlanChecked = z.input<typeof checked>

const item = z.strictObject({
  ...own,
  description: z.string().nullable(),
  tasks: z.int(),
  done: z.int(),
  progress: shortProgress.meta({ description: 'The first of what the plan itself tells of its progress.' }),
})
export type PlanItem = z.input<typeof item>
export const goalPlans = wire(part.page(item), 'GoalPlans')

const overview = z.strictObject({
  ...item.shape,
  counts: z.record(z.string(), z.int()).meta({ description: 'How many tasks stand how, in the words of Planfold.' }),
  running: z.int(),
  failed: z.int().meta({ description: 'Tasks that failed or were given up.' }),
  waiting: z
    .int()
    .nullable()
    .meta({ description: 'How many items of it are in the inbox; null when its journal is damaged.' }),
  tokens: z.number().nullable().meta({ description: 'What ended attempts used; null when none tells.' }),
  cost: z.number().nullable().meta({ description: 'In dollars, or as agents said.' }),
})
export const plans = wire(
  z.strictObject({
    ...part.page(overview).shape,
    total: z.int().meta({ description: 'How many match, on all pages.' }),
    states: z.record(z.string(), z.int()).meta({
      description: 'How many match in each state, in the words of Planfold, whatever `status` and `waiting` ask for.',
    }),
    complete: z.boolean().meta({ description: 'False when tokens and cost may lack what happened last.' }),
  }),
  'PlanPage',
)
export type OverviewItem = z.input<typeof overview>

export const archivedPlans = wire(
  z.strictObject({
    archived: z.array(z.string()),
    missing: z.array(z.string()).meta({ description: 'There is no such plan.' }),
    refused: z.array(z.strictObject({ id: z.string(), detail: z.string(), hint: z.string().nullable() })),
  }),
  'PlansArchived',
)

export const planOrdered = wire(
  z.strictObject({ plan_id: z.string(), revision: z.int(), version: z.int(), order: z.array(z.string()) }),
)

const numbers = {
  attempts: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  lost: z.int(),
  retries: z.int(),
  success_rate: z
    .number()
    .nullable()
    .meta({ description: 'Attempts that succeeded, of all that ended; one that was lost did not succeed.' }),
  duration_ms: z.int(),
}
export const planMetrics = wire(
  z.strictObject({
    plan_id: z.string(),
    progress,
    ...numbers,
    elapsed_ms: z.number().nullable(),
    reported: z
      .strictObject({
        files_modified: z.array(z.string()),
        tests_added: z.number(),
        lines_changed: z.number(),
        coverage: z.number().nullable().meta({ description: 'As it was said last.' }),
        artifacts: z.array(z.string()),
      })
      .nullable()
      .meta({
        description: 'What completed tasks say in their `output_data`. Said, not measured; null when none says any.',
      }),
    kinds: z.array(z.strictObject({ kind: z.string().nullable(), ...numbers })),
  }),
  'PlanMetrics',
)
