// The input schemas of the tools `plan_read` and `plan_write`. Models read their descriptions with every request, so every word
// costs; a test counts them.

import { z } from 'zod'
import { type Json, type JsonObject, wordList } from '../../domain/json.ts'
import { MEMORY_SCOPES } from '../../domain/memory/memory-items.ts'
import { nonEmpty } from './field-schemas.ts'

const TEXT_MAX = 100_000
const LIST_MAX = 1_000

const text = z.string().max(TEXT_MAX)
const name = nonEmpty(500)
const names = z.array(name).max(LIST_MAX)
const record = z.record(z.string(), z.unknown())
const maxTokens = z.int().min(100).max(20_000).optional()

export const READS = wordList('next plan task steps blocked changes completed list inbox answer search why memory')

export const planRead = z.strictObject({
  what: z
    .enum(READS)
    .optional()
    .describe(
      'next (default): your task, or what to claim. plan: whole plan. task: one task with inputs and checks. steps: what its agent did and why. blocked: why tasks wait. changes: events after `since`. completed: all done? list: plans. inbox: waiting for people. answer: to question `id`. search: `query`. why: who wrote `query`, FILE:LINE. memory: key `id`, or `query`',
    ),
  plan: name.optional().describe('name or id; optional if only one is open'),
  task: name.optional(),
  since: z.int().min(0).optional(),
  id: name.optional(),
  query: text.optional(),
  page: name.optional().describe('from the previous answer'),
  max_tokens: maxTokens,
})
export type PlanReadInput = z.infer<typeof planRead>

export const ACTIONS = wordList(
  'create edit replan start pause resume claim heartbeat report status tick skip retry ask note remember checkpoint rollback',
)
export type Action = (typeof ACTIONS)[number]

const taskDocument = z
  .looseObject({ id: name })
  .describe(
    '{id, title, description, needs: [ids], accept: [{check: "npm test"}; a plain text only a person can confirm], write: ["src/**"]}',
  )

/** Key names that models tend to use, and ours. */
const TASK_ALIASES: { readonly [alias: string]: string } = {
  acceptance_criteria: 'accept',
  acceptanceCriteria: 'accept',
  acceptance: 'accept',
  criteria: 'accept',
  depends_on: 'needs',
  dependsOn: 'needs',
  dependencies: 'needs',
  name: 'title',
  details: 'description',
}

/** Renames such keys unless ours is present too, and wraps a single criterion or need in a list. */
export function taskInOurWords(document: JsonObject): JsonObject {
  const entries = Object.entries(document).map(([key, value]): [string, Json] => {
    const own = Object.hasOwn(TASK_ALIASES, key) ? TASK_ALIASES[key]! : key
    const name = own !== key && Object.hasOwn(document, own) ? key : own
    const isOne = typeof value === 'string' && (name === 'accept' || name === 'needs')
    return [name, isOne ? [value] : value]
  })
  return Object.fromEntries(entries)
}

const field = z.strictObject({
  name,
  label: text.optional(),
  type: z.enum(['text', 'number', 'boolean', 'choice', 'list']).optional(),
  choices: z.array(text).max(100).optional(),
})

export const planWrite = z.strictObject({
  action: z
    .enum(ACTIONS)
    .describe(
      'create: from goal and tasks (without tasks one is drafted), document, or template. edit: tasks (added, or changed by id), remove, order. replan: drafts the rest of a started plan again, text says why; a person accepts it. claim: a task, or the next. report: status done or failed, outputs, text. status: sets that of any task. tick: one criterion, with text as evidence. ask: a person, text. note: text. remember: text under name; with `scope` a person is asked. checkpoint: text is its name. rollback: asks a person to undo `task`, text says why',
    ),
  plan: name.optional().describe('name or id; optional if only one is open'),
  task: name.optional(),
  goal: text.optional(),
  name: name.optional(),
  document: z.union([text, record]).optional().describe('a plan in any known format'),
  template: name.optional(),
  model: name.optional().describe('drafts the plan; costs money'),
  budget: z
    .strictObject({ calls: z.int().optional(), tokens: z.int().optional(), cost: name.optional() })
    .optional()
    .describe('of drafting; cost: 2 USD'),
  look: z.boolean().optional().describe('see what fails first (20 s)'),
  context: record.optional().describe('create: kept with the plan: {files, constraints, conversation: excerpt}'),
  values: record.optional(),
  start: z.boolean().optional(),
  worker: name.optional().describe('create, start: coding agent for the tasks'),
  tasks: z.array(taskDocument).max(LIST_MAX).optional(),
  remove: names.optional(),
  order: names.optional(),
  status: z.enum(['done', 'failed', 'running', 'skipped', 'pending']).optional(),
  outputs: record.optional(),
  outcome: name.optional(),
  not_mine: names.optional().describe('report: changes of others outside `write`'),
  criterion: text.optional(),
  scope: z.enum(['project', 'user']).optional(),
  text: text.optional(),
  fields: z.array(field).max(50).optional(),
  token: name.optional().describe('from claim'),
  preview: z.boolean().optional().describe('only show what would change'),
  expected_revision: z.int().min(0).optional(),
  key: name.optional().describe('same key = done once'),
  max_tokens: maxTokens,
})
export type PlanWriteInput = z.infer<typeof planWrite>

// The schema of `manage_plan`, for older clients.

const step = z.looseObject({
  id: name,
  description: text.optional(),
  acceptance_criteria: z.array(text).max(100).optional(),
  acceptance: z.array(text).max(100).optional(),
})

export const managePlan = z.object({
  action: z.enum([
    'inspect',
    'get_next_step',
    'set_status',
    'add_steps',
    'is_completed',
    'list_plans',
    'remove_steps',
    'compact_plans',
    'reorder_steps',
  ]),
  plan_name: name.optional(),
  step_id: name.optional(),
  status: z.string().max(100).optional().describe('DONE, TODO or IN_PROGRESS'),
  steps_to_add: z.array(step).max(LIST_MAX).optional(),
  step_ids_to_remove: names.optional(),
  new_step_order: names.optional(),
})
export type ManagePlanInput = z.infer<typeof managePlan>

// Of the tools `create_memory`, `recall_memory` and `forget_memory`, for the same clients.

export const compatMemory = z.object({
  id: name.optional(),
  content: text.optional().describe('to remember'),
  query: text.optional().describe('to recall'),
  scope: z.enum(MEMORY_SCOPES).optional(),
})
export type CompatMemoryInput = z.infer<typeof compatMemory>
