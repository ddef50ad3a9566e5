// Tasks on the wire: create, change, evaluate. PlanStore fields keep their names; unknown fields of clients are stored and
// returned under `extra`.

import { z } from 'zod'
import * as part from './field-schemas.ts'
import { chosenId, clientTime, reference } from './plans.ts'
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
    .describe('Higher first; when not said, what comes first in the sequence.'),
  depends_on: needs.describe('Tasks it needs, by id or name.'),
  dependencies: needs.describe('The same as `depends_on`.'),
  labels: z.array(part.line).nullish(),
}

const newTask = z.looseObject({
  plan_id: reference.describe('Its plan, by id or name.'),
  id: chosenId.nullish(),
  name: part.line.nullish().describe('Unique in its plan; made from the description when not said.'),
  ...fields,
  status: word.taskStatus.nullish(),
})

const TASKS_AT_ONCE = 1_000
const many = z.array(newTask).min(1).max(TASKS_AT_ONCE)
/** The plan may be given once, beside the list of tasks. */
const inside = newTask.partial({ plan_id: true })
export type NewTask = z.output<typeof inside>
const ofOne = z.array(inside).min(1).max(TASKS_AT_ONCE)
const batch = z.strictObject({ plan_id: reference.optional(), tasks: ofOne })
const several = z
  .union([batch, many, newTask])
  .describe('One task, or several of one plan: then all of them are added, or none.')
export type NewTasks = z.output<typeof several>

const NO_TASKS = {
  path: '',
  message: 'must be a task, or a list of tasks',
  hint: 'send {"plan_id": …, "description": …}, a list of such, or {"plan_id": …, "tasks": […]}',
}

/** Its shape decides which of the three forms it is validated as. */
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
  started_at: clientTime.nullish(),
  completed_at: clientTime.nullish(),
  error: part.reason.nullish().describe('Why it failed.'),
  reason: part.reason.nullish().describe('Why it is skipped.'),
  token: part.line.optional().describe('Of the claim, when another actor made it.'),
  expected_revision: z.int().min(1).optional().describe('Refused when the plan has another by now.'),
})
export const taskPatch = wire(patch, 'TaskPatch')
export type TaskPatch = z.output<typeof patch>

const list = z.strictObject({
  plan_id: reference.optional().describe('Only of this plan: its UUID or name.'),
  agent_id: reference.optional().describe('Only what this agent is to do.'),
  status: word.taskStates.optional(),
  limit: part.limit,
  cursor: part.cursor,
})
export const listQuery = wire(list)
export type TaskList = z.output<typeof list>

// ── evaluations ──────────────────────────────────────────────────────────────────────────────────────────────────

const assessment = z.strictObject({
  score: z.number().optional(),
  passed: z.boolean().optional(),
  metrics: part.map.optional(),
  notes: part.text(10_000).optional(),
  evaluator: part.line.optional().describe('Who or what judged it, when it is not the caller.'),
})
export const newEvaluation = wire(
  assessment.refine(body => Object.keys(body).length > 0, {
    message: 'says nothing',
    params: { hint: 'give it a score, passed, metrics or notes' },
  }),
)
