// Plans on the wire: create, change, show. PlanStore fields keep their names; unknown fields of clients are stored and returned
// under `extra`.

import { z } from 'zod'
import { EDIT_CHOICES } from '../../domain/event.ts'
import { planJsonSchema } from '../plan/json-schema.ts'
import { isReadableId } from '../text/slug.ts'
import { draftingLimits } from './budget.ts'
import * as part from './field-schemas.ts'
import { nonEmpty, reason } from './field-schemas.ts'
import * as word from './status-words.ts'
import { anyOf, wire, wireObject } from './wire.ts'

const why = reason.optional().describe('Why; it is kept in the journal.')

export const pauseBody = wireObject({
  reason: why,
  force: z.boolean().optional().describe('Also ends what may not be run again; it then asks what became of it.'),
})
export const cancelBody = wireObject({
  reason: why,
  force: z.boolean().optional().describe('Here and now: nothing is undone first.'),
})
export const cloneBody = wireObject({
  name: nonEmpty(100).optional(),
  description: z.string().max(100_000).optional().describe('Another goal than that of the first.'),
  session_id: nonEmpty(128).optional(),
})

export const unsafeWork = z
  .enum(['repeat', 'keep'])
  .optional()
  .describe(
    'Of a plan that failed: do again (`repeat`), or leave done (`keep`), completed work that is unsafe to repeat and would run again because it changed or what it needs runs again. Refused when there is such work and nothing is said.',
  )
export const executeBody = wireObject({ unsafe: unsafeWork })

const choice = z.enum(EDIT_CHOICES)
const rollback = z.strictObject({
  checkpoint_id: nonEmpty(300).optional().describe('A checkpoint by its name.'),
  to: z
    .union([nonEmpty(300), z.int().min(0)])
    .optional()
    .describe('A checkpoint, or the number of an entry. Before the first task, when neither is said.'),
  undo: z.boolean().optional().describe('Takes back the last rollback instead.'),
  files: z.array(nonEmpty(4_096)).min(1).max(1_000).optional().describe('Only these paths.'),
  tasks: z.array(z.string().min(1)).min(1).max(1_000).optional().describe('Only what these tasks wrote.'),
  files_only: z.boolean().optional(),
  keep_git: z.boolean().optional(),
  include_unclaimed: z
    .boolean()
    .optional()
    .describe(
      'Also paths that no task declares and that changed while a task without a scope ran. Otherwise they stay.',
    ),
  force: z.boolean().optional(),
  choices: z.record(z.string(), choice).optional().describe('Path by path, where somebody has worked since.'),
  every: choice.optional().describe('For all other such paths.'),
  dry_run: z.boolean().optional().describe('Only tells what would happen.'),
  wait_seconds: z.number().min(0).max(25).optional().describe('Waits so long for its end.'),
})
export const rollbackBody = wire(rollback, 'Rollback')
export type RollbackBody = z.output<typeof rollback>

export const newCheckpoint = wireObject({ name: nonEmpty(100).optional() })

export const reference = nonEmpty(200)
/** The client's own time stamp, stored as text, so that one without a zone is accepted. */
export const clientTime = z
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

/** A name chosen by a client. Ids are generated here, so text that cannot be a name is refused. */
export const chosenId = z
  .string()
  .refine((text: string): boolean => isReadableId(text), { ...NOT_CHOSEN })
  .describe('A readable word, which becomes the name. Ids themselves (UUIDs) are made by the service.')

/** The PlanStore body, whose fields distinguish it from a plan document. */
const storePlan = z.looseObject({
  goal_id: reference.nullish(),
  agent_id: reference.nullish(),
  plan_type: part.line.nullish().describe('`sequential` when not said, or `parallel`.'),
  steps: z.array(part.json).nullish().describe('The outline, kept word for word.'),
  session_id: reference.nullish(),
  conversation_id: reference.nullish().describe('The same as `session_id`.'),
  id: chosenId.nullish(),
  name: part.line.nullish(),
  plan_name: part.line.nullish().describe('The same as `name`.'),
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
  .describe('A plan of nodes, with artifacts and gates.')

const named = nonEmpty(200).optional()
export const plannerChoice = {
  planner: named.describe('heuristic (asks no model), model or template.'),
  model: named.describe('PROVIDER/NAME; naming one is consent to ask it.'),
  template: named.describe('The template to fill from the goal.'),
  budget: draftingLimits
    .optional()
    .describe(
      'What the model may use in all, in place of 20 calls, 400k tokens and 2 USD; more than that needs the right to decide. The settings of the service hold all the same.',
    ),
  look: z
    .boolean()
    .optional()
    .describe(
      'Run the tests, lint, type check and build before, each at most once, on a copy in the sandbox, for at most 20 s in all; the draft is built on what fails. The checks that a model drafts are tried in the same way, for as long again. Not for templates; needs the right to operate.',
    ),
}
const goalAlone = z
  .looseObject({
    goal: z.string().min(1),
    worker: named.describe('The coding agent that works the tasks; one of GET /agents.'),
    ...plannerChoice,
  })
  .describe('Only a goal: a planner makes the tasks.')

/** Any JSON; its shape decides which form it is validated as. */
const anyPlan = wire(z.union([part.map, z.array(part.json)]), 'NewPlan')

/** Documents each accepted form; validation picks one by shape. */
export const planBody: typeof anyPlan = {
  ...anyPlan,
  describe: () =>
    anyOf({
      description:
        'A document of Planfold, a plan of the PlanStore, a plan of nodes, only a goal, or any other format that is known: docs/formats/dialects.md.',
      examples: [{ planfold: 1, name: 'hello', tasks: [{ id: 'greet', run: 'echo hello' }] }],
      named: {
        PlanDocument: planJsonSchema(),
        PlanStorePlan: planOfStore.describe(),
        PlanOfNodes: wire(nodes).describe(),
        PlanOfGoal: wire(goalAlone).describe(),
      },
      others: [anyPlan.describe()],
    }),
}

const make = z.strictObject({
  start: part.yes.describe('Start it at once.'),
  session_id: reference.optional().describe('The session it belongs to.'),
  goal_id: reference.optional().describe('The goal it is for.'),
  agent_id: reference.optional().describe('Who is to carry it out.'),
  name: reference.optional().describe('Instead of the one it says; numbered when it is taken.'),
  from: reference.optional().describe('Read it as this format, whatever it looks like.'),
  dry_run: part.yes.describe('Only check it and tell what would be made.'),
})
export const makeQuery = wire(make)
export type MakeQuery = z.output<typeof make>

export const listQuery = wireObject({
  goal_id: reference.optional().describe('Only those for this goal.'),
  agent_id: reference.optional().describe('Only those this agent is to carry out.'),
  session_id: reference.optional().describe('Only those of this session.'),
  conversation_id: reference.optional().describe('The same as `session_id`.'),
  status: word.planStatus.optional(),
  q: part.line.optional().describe('Words of its name, title, goal or labels.'),
  archived: part.yes.describe('Only those that were deleted.'),
  since: part.instant.optional().describe('Only those that changed then or later.'),
  until: part.instant.optional().describe('Only those that were made before.'),
  waiting: part.yes.describe('Only those in which something waits for a person.'),
  sort: z
    .enum(['newest', 'updated', 'name', 'cost'])
    .optional()
    .describe('`newest` first when not said; `updated`: changed last first; `cost`: what cost most first.'),
  limit: part.limit,
  cursor: part.cursor,
})
export const oneQuery = wireObject({
  as: reference.optional().describe('Print it in this format instead; `html` is a report of how it went.'),
})
export const deleteQuery = wireObject({
  purge: part.yes.describe('Also take its history away; needs the right to administer.'),
})

const patch = z.looseObject({
  status: word.planStatus.optional(),
  current_step: z.int().min(0).nullish(),
  started_at: clientTime.nullish(),
  completed_at: clientTime.nullish(),
  title: part.line.nullish(),
  description: part.text(100_000).nullish(),
  owner: part.line.nullish(),
  labels: z.array(part.line).nullish(),
  plan_type: part.line.nullish(),
  steps: z.array(part.json).nullish(),
  reason: part.reason.nullish().describe('Why its status changes.'),
  expected_revision: z.int().min(1).optional().describe('Refused when the plan has another by now.'),
})
export const planPatch = wire(patch, 'PlanPatch')
export type PlanPatch = z.output<typeof patch>

export const manyPlans = wireObject({ ids: z.array(reference).min(1).max(1_000) })
export const newOrder = wireObject({
  order: z.array(reference).min(1).describe('Tasks by id or name; those left out follow as they stood.'),
  expected_revision: z.int().min(1).optional(),
})
