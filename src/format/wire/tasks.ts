// Tasks on the wire: what adds some, what changes one, how one is shown; what is said of its work. The fields of the PlanStore keep
// their names; whatever a client sends beside them is kept and shown again under `extra`.

import { z } from 'zod'
import * as part from './field-schemas.ts'
import { chosenId, reference, told } from './plans.ts'
import * as word from './status-words.ts'
import { type Schema, wire } from './wire.ts'

const needs = z.union([reference, z.array(reference)]).nullish()

const fields = {
  agent_id: reference.nullish(),
  title: part.line.nullish(),
  description: part.text(100_000).nullish(),
  task_type: part.line.nullish(),
  input_data: part.map.nullish(),
  sequence_order: z.int().min(-1_000_000).max(1_000_000).nullish(),
  priority: z
    .int()
    .min(-1_000_000)
    .max(1_000_000)
    .nullish()
    .meta({ description: 'Higher first; when not said, what comes first in the sequence.' }),
  depends_on: needs.meta({ description: 'Tasks it needs, by id or name.' }),
  dependencies: needs.meta({ description: 'The same as `depends_on`.' }),
  labels: z.array(part.line).nullish(),
}

const newTask = z.looseObject({
  plan_id: reference.meta({ description: 'Its plan, by id or name.' }),
  id: chosenId.nullish(),
  name: part.line.nullish().meta({ description: 'Unique in its plan; made from the description when not said.' }),
  ...fields,
  status: word.taskStatus.nullish(),
})

const TASKS_AT_ONCE = 1_000
const many = z.array(newTask).min(1).max(TASKS_AT_ONCE)
/** Its plan may be said beside it. */
const inside = newTask.partial({ plan_id: true })
export type NewTask = z.output<typeof inside>
const ofOne = z.array(inside).min(1).max(TASKS_AT_ONCE)
const batch = z.strictObject({ plan_id: reference.optional(), tasks: ofOne })
const several = z
  .union([batch, many, newTask])
  .meta({ description: 'One task, or several of one plan: then all of them are added, or none.' })
export type NewTasks = z.output<typeof several>

const NO_TASKS = {
  path: '',
  message: 'must be a task, or a list of tasks',
  hint: 'send {"plan_id": …, "description": …}, a list of such, or {"plan_id": …, "tasks": […]}',
}

/** Which of the three it is shows in its shape, and is then told about by its own rules. */
export const newTasks: Schema<NewTasks> = {
  ...wire(several),
  read: value => {
    if (Array.isArray(value)) return wire(many).read(value)
    if (value === null || typeof value !== 'object') return { ok: false, faults: [NO_TASKS] }
    const isBatch = Object.hasOwn(value, 'tasks')
    return isBatch ? wire(batch).read(value) : wire(newTask).read(value)
  },
}

const patch = z.looseObject({
  ...fields,
  status: word.taskStatus.optional(),
  output_data: part.map.nullish(),
  started_at: told.nullish(),
  completed_at: told.nullish(),
  error: part.reason.nullish().meta({ description: 'Why it failed.' }),
  reason: part.reason.nullish().meta({ description: 'Why it is skipped.' }),
  token: part.line.optional().meta({ description: 'Of the claim, when another actor made it.' }),
  expected_revision: z.int().min(1).optional().meta({ description: 'Refused when the plan has another by now.' }),
})
export const taskPatch = wire(patch, 'TaskPatch')
export type TaskPatch = z.output<typeof patch>

const list = z.strictObject({
  plan_id: reference.optional().meta({ description: 'Only of this plan: its UUID or name.' }),
  agent_id: reference.optional().meta({ description: 'Only what this agent is to do.' }),
  status: word.taskStates.optional(),
  limit: part.limit,
  cursor: part.cursor,
})
export const listQuery = wire(list)
export type TaskList = z.output<typeof list>

// ── evaluations ──────────────────────────────────────────────────────────────────────────────────────────────────

const said = z.strictObject({
  score: z.number().optional(),
  passed: z.boolean().optional(),
  metrics: part.map.optional(),
  notes: part.text(10_000).optional(),
  evaluator: part.line.optional().meta({ description: 'Who or what judged it, when it is not the caller.' }),
})
export const newEvaluation = wire(
  said.refine(body => Object.keys(body).length > 0, {
    message: 'says nothing',
    params: { hint: 'give it a score, passed, metrics or notes' },
  }),
)
