// Goals on the wire: what somebody wants, under which other goal, and how far its plans and sub-goals have come.

import { z } from 'zod'
import * as part from './field-schemas.ts'
import { goalPlans, plannerChoice, reference } from './plans.ts'
import { wire } from './wire.ts'

const status = z.enum(['open', 'achieved', 'dropped'])
const fields = {
  title: part.line,
  parent_id: reference.nullish().meta({ description: 'The goal it is a part of.' }),
  priority: z.int().min(1).max(10).optional().meta({ description: 'From 1 to 10; 5 when not said.' }),
  success_criteria: z.array(part.line).max(100).optional(),
}

// What a planner found out about a goal in the workspace.

const rankedFile = z.strictObject({ path: z.string(), score: z.number(), reason: z.string() })
const found = z.looseObject({
  run: z.array(z.string()),
  from: z.string(),
  exists: z.boolean().meta({ description: 'What it names is there: the script, the target, the program.' }),
  missing: z.string().optional(),
})
const foundCommand = found.nullable()
const lookedCommand = z.looseObject({
  run: z.array(z.string()),
  purpose: z.enum(['test', 'lint', 'types', 'build']),
  status: z.enum(['passes', 'fails', 'unknown']),
  why: z.string().optional().meta({ description: 'Of an unknown one: why nothing can be said.' }),
  failed: z.int().optional().meta({ description: 'So many tests fail, of `total`.' }),
  total: z.int().optional(),
  places: z.array(z.strictObject({ file: z.string(), line: z.int().nullable() })),
  lines: z.array(z.string()).meta({ description: 'What it printed, cut.' }),
})
export const goalAnalysis = z
  .looseObject({
    languages: z.array(z.string()),
    package_managers: z.array(z.string()),
    files: z.array(rankedFile).meta({ description: 'Most likely to be changed first.' }),
    tests: z.array(rankedFile),
    commands: z.strictObject({
      ...{ test: foundCommand, lint: foundCommand, types: foundCommand, build: foundCommand },
      ci: z.array(found).meta({ description: 'What the continuous integration runs.' }),
    }),
    looked: z
      .strictObject({ commands: z.array(lookedCommand), ms: z.number(), none: z.string().optional() })
      .optional()
      .meta({ description: 'What the commands of the project did when they were run before the draft, with `look`.' }),
  })
  .meta({ description: 'What the planner found in the workspace.' })

export const newGoal = wire(
  z.strictObject({
    id: reference.optional().meta({ description: 'Made when not said; plans may have named it already.' }),
    ...fields,
  }),
)
const patch = z.strictObject({
  ...fields,
  title: part.line.optional(),
  status: status.optional(),
  reason: part.reason.optional(),
  expected_version: z.int().min(0).optional(),
})
export const goalPatch = wire(patch, 'GoalPatch')
export type GoalPatch = z.output<typeof patch>

export const listQuery = wire(
  z.strictObject({
    status: status.optional().meta({ description: 'Only those that stand so.' }),
    parent_id: reference.optional().meta({ description: 'Only the sub-goals of this one.' }),
    limit: part.limit,
    cursor: part.cursor,
  }),
)
export const plansQuery = wire(z.strictObject({ limit: part.limit, cursor: part.cursor }))

const own = {
  id: z.string(),
  title: z.string().nullable(),
  parent_id: z.string().nullable(),
  priority: z.int(),
  status,
  success_criteria: z.array(z.string()),
  version: z.int(),
  created_at: part.time.nullable(),
  updated_at: part.time.nullable(),
}
const item = z.strictObject(own)
export const goals = wire(part.page(item), 'GoalPage')
export type GoalItem = z.input<typeof item>

const one = z.strictObject({
  ...own,
  known: z.boolean().meta({ description: 'False when plans name it and nobody has set it.' }),
  children: z.array(item),
  plans: z.array(z.strictObject({ id: z.string(), name: z.string(), status: z.string(), state: z.string() })),
  progress: z.strictObject({
    ratio: z
      .number()
      .meta({ description: 'The mean of its plans and sub-goals, from 0 to 1; what was given up does not count.' }),
    plans: z.record(z.string(), z.int()).meta({ description: 'How many there are, by state, sub-goals included.' }),
    tasks: z.int(),
    done: z.int(),
    goals: z.int().meta({ description: 'Sub-goals below it, at any depth.' }),
    complete: z.boolean().meta({ description: 'All that belongs to it is done; false when nothing does.' }),
    counted: z.boolean().meta({ description: 'False when there were too many to look at all of them.' }),
  }),
})
export const goal = wire(one, 'Goal')

const { planner, model, budget } = plannerChoice
export const decompose = wire(z.strictObject({ planner, model, budget }))
const whole = one.extend({
  parts: z
    .array(
      z.strictObject({
        goal_id: z.string(),
        title: z.string(),
        plan_id: z.string(),
        name: z.string(),
        state: z.string(),
        made: z.boolean().meta({ description: 'False when it had this plan before.' }),
      }),
    )
    .meta({
      description: 'Its sub-goals in their order, or the goal itself when it is one piece of work, each with its plan.',
    }),
})
export const decomposed = wire(whole, 'DecomposedGoal')
export type DecomposedBody = z.input<typeof whole>
export type GoalBody = z.input<typeof one>
export { goalPlans }
