// Sessions on the wire, and the plans of a session in the words of the task planner they come from.

import { z } from 'zod'
import { after, cursor, document, json, limit, map, page, time, whole } from './field-schemas.ts'
import { goalAnalysis } from './goals.ts'
import { plannerChoice, surroundings } from './plans.ts'
import { planState, taskState } from './planstore-fields.ts'
import { wire } from './wire.ts'

const id = z
  .string()
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._:@-]{0,126}[A-Za-z0-9])?$/)
  .meta({ description: 'Letters and digits, with dots, dashes, colons and the like between them.' })
const role = z.enum(['user', 'agent', 'system'])

const sessionShape = z.strictObject({
  id: z.string(),
  title: z.string(),
  status: z.enum(['open', 'closed']),
  messages: z.int(),
  version: z.int(),
  created_at: time,
  updated_at: time,
})

export const sessionId = wire(id)
export const session = wire(sessionShape, 'Session')
export const sessions = wire(page(sessionShape))
export const sessionQuery = wire(
  z.strictObject({
    status: z.enum(['open', 'closed']).optional().meta({ description: 'Only those that stand so.' }),
    limit,
    cursor,
  }),
)
export const newSession = wire(
  z.strictObject({ id: id.optional(), title: z.string().max(1_000).optional() }),
  'NewSession',
)

const movedPlan = { plan_id: z.string(), name: z.string() }
export const sessionMoved = wire(
  z.strictObject({
    session_id: z.string(),
    status: z.enum(['paused', 'resumed']),
    plans: z.array(z.strictObject({ ...movedPlan, version: z.int() })).meta({ description: 'Those it was done to.' }),
    refused: z
      .array(z.strictObject({ ...movedPlan, detail: z.string(), hint: z.string().nullable() }))
      .meta({ description: 'Those it could not be done to; the others do not wait for them.' }),
  }),
  'SessionMoved',
)

const messageShape = z.strictObject({
  id: z.int().meta({ description: 'Rises with every message of the session; hand it back as `after`.' }),
  session_id: z.string(),
  role,
  text: z.string(),
  data: json.optional(),
  plan_id: z.string().optional().meta({ description: 'The plan that was made with it.' }),
  by: z.string(),
  at: time,
})
export const message = wire(messageShape, 'Message')
export const messages = wire(page(messageShape))
export const messageQuery = wire(
  z.strictObject({
    after,
    limit,
    cursor: whole(0, Number.MAX_SAFE_INTEGER).optional().meta({ description: '`next` of the page before.' }),
  }),
)
const messageSaid = z.strictObject({
  role: role.default('user'),
  text: z.string().min(1).max(200_000),
  data: json.optional(),
})
export const newMessage = wire(messageSaid, 'NewMessage')

// Plans as the task planner of sessions tells them: steps with tools and dependencies, executions, checkpoints, histories. The
// canonical word stands beside every word of that dialect, in `state`.

export const PLAN_WORDS = ['pending', 'planning', 'executing', 'paused', 'completed', 'failed', 'cancelled'] as const
const STEP_WORDS = ['pending', 'running', 'completed', 'failed', 'skipped', 'retrying', 'cancelled'] as const

const stepShape = z.strictObject({
  id: z.string().meta({ description: 'The name of the task in its plan.' }),
  task_id: z.string(),
  title: z.string().nullable(),
  description: z.string(),
  tool: z.string().nullable(),
  params: map,
  dependencies: z.array(z.string()),
  retryable: z.boolean(),
  max_retries: z.int(),
  status: z.enum(STEP_WORDS),
  state: taskState,
  result: z
    .strictObject({
      success: z.boolean(),
      output: json,
      error: z.string().nullable(),
      retries: z.int(),
      duration_ms: z.number().nullable(),
    })
    .nullable(),
  start_time: time.nullable(),
  end_time: time.nullable(),
})

const planShape = z.strictObject({
  id: z.string(),
  name: z.string(),
  session_id: z.string().nullable(),
  description: z.string(),
  status: z.enum(PLAN_WORDS),
  state: planState,
  reason: z.string().nullable(),
  steps: z.array(stepShape),
  current_step: z.int().meta({ description: 'How many steps have ended.' }),
  created_at: time,
  updated_at: time,
  started_at: time.nullable(),
  completed_at: time.nullable(),
  cloned_from: z.string().nullable(),
  revision: z.int(),
  version: z.int(),
})

export const sessionPlan = wire(planShape, 'SessionPlan')
export const sessionPlanList = wire(z.array(planShape))
export const sessionPlanPage = wire(page(planShape))
export const sessionPlanQuery = wire(z.strictObject({ limit, cursor }))

/** A description, or a whole document: under `document`, or the body itself. */
export const newSessionPlan = wire(
  z.looseObject({
    description: z.string().max(100_000).optional(),
    auto_execute: z.boolean().optional(),
    name: z.string().max(100).optional(),
    ...plannerChoice,
    document: document.optional(),
    message: messageSaid.optional().meta({
      description: 'Added to the session in the same write: the plan and the message are there, or neither.',
    }),
  }),
  'NewSessionPlan',
)
export const madeSessionPlan = wire(
  planShape.extend({
    planner: z
      .string()
      .nullable()
      .meta({ description: 'Who made steps of the description; null when a document says them.' }),
    analysis: goalAnalysis.optional(),
    planned: z.string().meta({ description: 'How the steps came about.' }),
    auto_execute: z.boolean(),
    replayed: z.literal(true).optional(),
  }),
)

export const historyQuery = wire(
  z.strictObject({
    page: whole(1, 1_000_000).optional().meta({ description: 'Counted from 1; a cursor goes before it.' }),
    limit,
    status: z
      .enum([...PLAN_WORDS, 'running', 'draft', 'active', 'blocked'])
      .optional()
      .meta({ description: 'Only those that stand so.' }),
    search: z
      .string()
      .max(500)
      .optional()
      .meta({ description: 'Words of the name, the title, the goal or the labels.' }),
    cursor,
  }),
)
export const history = wire(
  z.strictObject({
    plans: z.array(
      z.strictObject({
        id: z.string(),
        name: z.string(),
        description: z.string(),
        status: z.enum(PLAN_WORDS),
        state: planState,
        created_at: time,
        updated_at: time,
        completed_at: time.nullable(),
        step_count: z.int(),
        completed_steps: z.int(),
        duration: z.number().nullable().meta({ description: 'In milliseconds; null before it was started.' }),
      }),
    ),
    page: z.int().nullable().meta({ description: 'Null when a cursor was used.' }),
    limit: z.int(),
    total: z.int().nullable().meta({ description: 'Null when a cursor was used: counting is for pages.' }),
    total_pages: z.int().nullable(),
    next: z.string().nullable(),
  }),
)

const executionShape = z.strictObject({
  plan_id: z.string(),
  step_id: z.string(),
  visit: z.int(),
  attempt: z.int(),
  status: z.enum(['running', 'success', 'failed', 'lost']),
  started_at: time,
  completed_at: time.nullable(),
  duration_ms: z.number().nullable(),
  retries: z.int(),
  exit: z.int().nullable(),
  error_class: z.string().nullable(),
})
const metricsShape = z.strictObject({
  total_steps: z.int(),
  completed_steps: z.int(),
  failed_steps: z.int(),
  skipped_steps: z.int(),
  total_attempts: z.int(),
  total_retries: z.int(),
  total_duration_ms: z.number(),
  avg_step_duration_ms: z.number(),
  success_rate: z
    .number()
    .nullable()
    .meta({ description: 'Attempts that succeeded, of all that ended; one that was lost did not succeed.' }),
  tools_used: z.array(z.string()),
})
const statusShape = z.strictObject({
  plan_id: z.string(),
  name: z.string(),
  status: z.enum(PLAN_WORDS),
  state: planState,
  reason: z.string().nullable(),
  description: z.string(),
  created_at: time,
  updated_at: time,
  started_at: time.nullable(),
  completed_at: time.nullable(),
  progress: z.number(),
  running: z.array(z.string()),
  waiting: z.array(z.strictObject({ task: z.string(), asks: z.string(), since: time })),
  executions: z.array(executionShape),
  metrics: metricsShape,
  version: z.int(),
})
export const planStatus = wire(statusShape)

const checkpointShape = z.strictObject({
  id: z.string(),
  plan_id: z.string(),
  step_id: z.string().nullable(),
  timestamp: time,
  version: z.int().meta({ description: 'The entry of the journal it stands behind.' }),
  why: z.enum(['after', 'asked', 'task', 'every', 'risky']),
  paths: z.int().nullable(),
  has_files: z.boolean().meta({ description: 'Are all files of then stored?' }),
  git_head: z.string().nullable(),
  description: z.string(),
})
export const checkpointList = wire(z.array(checkpointShape))
export const checkpointPage = wire(page(checkpointShape))

const gitOperationShape = z.looseObject({ type: z.string(), at: time, task: z.string().optional() })
export const gitOperationList = wire(z.array(gitOperationShape))
export const gitOperationPage = wire(page(gitOperationShape))

export const analysis = wire(
  z.looseObject({
    plan_id: z.string(),
    total_steps: z.int(),
    max_parallelism: z.int(),
    critical_path: z.array(z.string()),
    parallel_groups: z.array(z.array(z.string())),
    estimated_speedup: z.number(),
    findings: z.array(z.looseObject({ code: z.string(), severity: z.string(), message: z.string() })),
    surroundings,
  }),
  'Analysis',
)

export const fullPlan = wire(
  z.strictObject({
    plan: planShape,
    executions: z.array(executionShape),
    metrics: metricsShape,
    checkpoints: z.array(checkpointShape),
    stats: z.strictObject({
      total_duration: z.number(),
      success_rate: z.number().nullable(),
      execution_count: z.int(),
    }),
    modified_files: z.array(z.strictObject({ path: z.string(), change: z.enum(['created', 'changed', 'deleted']) })),
    git_operations: z.array(gitOperationShape),
  }),
)
