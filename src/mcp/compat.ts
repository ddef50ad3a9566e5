// `manage_plan`: one tool with the names and answers that older clients know (`planfold mcp --compat`). It corrects wrong answers
// of the original: unknown statuses are refused, an empty plan is never complete, and unknown ids are reported.

import type { PlanId, TaskName } from '../domain/id.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { criterionText } from '../domain/plan-rules/criterion-text.ts'
import { SATISFIES } from '../domain/status.ts'
import type { Card } from '../domain/views/board.ts'
import type { ManagePlanInput } from '../format/wire/agent-tools.ts'
import { standingText } from './answer-text.ts'
import { clean } from './plan-text.ts'
import { planWrite } from './plan-write.ts'
import { findPlan, findTask, type Room, ToolError } from './room.ts'

export async function managePlan(room: Room, input: ManagePlanInput): Promise<JsonObject> {
  const { engine } = room
  if (input.action === 'list_plans') return { plans: await planInfos(room) }
  if (input.action === 'compact_plans') return await compact(room)
  const name = must(input.plan_name, 'plan_name')
  if (input.action === 'add_steps') return await addSteps(room, name, input)
  const { plan } = await findPlan(room, name)
  switch (input.action) {
    case 'inspect':
      return { markdown: (await steps(room, plan)).map(markdown).join('\n') }
    case 'get_next_step': {
      const all = await steps(room, plan)
      const open = all.filter(({ status }) => status !== 'DONE')
      const waiting = new Set(
        ((await engine.ask({ type: 'summary', plan }))?.waiting ?? []).map(({ task }) => `${task}`),
      )
      const next = open.find(({ id }) => !waiting.has(id))
      if (next !== undefined) return { next_step: next as unknown as Json }
      if (open.length > 0) return { result: `Waiting for a person: ${open.map(({ id }) => id).join(', ')}.` }
      return { result: all.length === 0 ? 'The plan has no steps.' : 'Plan is complete.' }
    }
    case 'is_completed': {
      const all = await steps(room, plan)
      return { is_completed: all.length > 0 && all.every(({ status }) => status === 'DONE') }
    }
    case 'set_status': {
      const { task } = await findTask(room, plan, must(input.step_id, 'step_id'))
      const status = STATUSES[must(input.status, 'status').toUpperCase()]
      if (status === undefined)
        throw new ToolError(`error: '${clean(input.status ?? '')}' is not a status\nhint: DONE, TODO or IN_PROGRESS`)
      const summary = await engine.ask({ type: 'summary', plan })
      if (summary?.status === 'draft') await planWrite(room, { action: 'start', plan }, undefined)
      await planWrite(room, { action: 'status', plan, task, status }, undefined).catch(refusedHere)
      if (status === 'done' && !(await isDone(room, plan, task)))
        return { result: `Not DONE yet: ${await standingText(room, { plan, task }, status)}.` }
      return { result: `Step '${task}' in plan '${name}' set to '${input.status?.toUpperCase()}'.` }
    }
    case 'remove_steps': {
      const remove = must(input.step_ids_to_remove, 'step_ids_to_remove')
      await planWrite(room, { action: 'edit', plan, remove }, undefined)
      return {
        result: `Removed ${remove.length} steps from plan '${name}'.`,
        removed_count: remove.length,
        plan_name: name,
      }
    }
    case 'reorder_steps': {
      await planWrite(room, { action: 'edit', plan, order: must(input.new_step_order, 'new_step_order') }, undefined)
      return { result: `Reordered the steps of plan '${name}'.`, plan_name: name }
    }
    default:
      return input.action satisfies never
  }
}

function refusedHere(error: unknown): never {
  if (!(error instanceof ToolError) || !error.message.includes('is not accepted as done')) throw error
  throw new ToolError(`${error.message}\nor set it to TODO to give it back`)
}

async function isDone({ engine }: Room, plan: PlanId, task: TaskName): Promise<boolean> {
  const card = await engine.ask({ type: 'task', plan, task })
  return card !== null && statusOf(card) === 'DONE'
}

const STATUSES: { readonly [word: string]: 'done' | 'pending' | 'running' } = {
  DONE: 'done',
  TODO: 'pending',
  IN_PROGRESS: 'running',
}

function must<T>(value: T | undefined, field: string): T {
  if (value === undefined) throw new ToolError(`error: \`${field}\` is missing`)
  return value
}

interface Step {
  readonly id: string
  readonly status: 'DONE' | 'TODO'
  readonly description: string
  readonly acceptance_criteria: readonly string[]
}

async function steps({ engine }: Room, plan: PlanId): Promise<readonly Step[]> {
  const board = (await engine.ask({ type: 'board', plan })) ?? []
  const found = await engine.ask({ type: 'records', plan, tasks: board.map(({ name }) => name) })
  return (found?.tasks ?? []).map(({ card, definition }) => ({
    id: card.name,
    status: statusOf(card),
    description: definition.description ?? definition.title ?? '',
    acceptance_criteria: (definition.accept ?? []).map(criterionText),
  }))
}

const statusOf = ({ status }: Card): Step['status'] => (SATISFIES.has(status) ? 'DONE' : 'TODO')

function markdown({ id, status, description, acceptance_criteria: criteria }: Step, at: number): string {
  const list = criteria.map((one, number) => `${number + 1}. ${one}`)
  return [
    `## ${at + 1}. [${status}] ${id}`,
    '',
    description,
    '',
    ...(list.length === 0 ? [] : ['Acceptance Criteria:', ...list, '']),
  ].join('\n')
}

async function addSteps(room: Room, name: string, input: ManagePlanInput): Promise<JsonObject> {
  const tasks = must(input.steps_to_add, 'steps_to_add').map(({ id, description, acceptance_criteria, acceptance }) => {
    const accept = acceptance_criteria ?? acceptance
    return { id, description, accept }
  })
  const isThere = (await room.engine.ask({ type: 'find', reference: name })) !== null
  if (isThere) {
    const { plan } = await findPlan(room, name)
    const known = new Set(((await room.engine.ask({ type: 'board', plan })) ?? []).map(card => card.name as string))
    const twice = tasks.find(({ id }) => known.has(id))
    if (twice !== undefined)
      throw new ToolError(
        `error: plan '${name}' has a step '${twice.id}' already; nothing was added\nhint: give it another id`,
      )
    await planWrite(room, { action: 'edit', plan, tasks }, undefined)
  } else await planWrite(room, { action: 'create', name, tasks }, undefined)
  return { result: `Added ${tasks.length} steps to plan '${name}'.` }
}

async function planInfos({ engine }: Room): Promise<Json> {
  const plans: Json[] = []
  let cursor: string | undefined
  do {
    const page = await engine.ask({ type: 'plans', archived: false, cursor })
    for (const { name, tasks, done } of page.items)
      plans.push({
        name,
        status: tasks > 0 && done === tasks ? 'DONE' : 'TODO',
        total_tasks: tasks,
        completed_tasks: done,
      })
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
  return plans
}

async function compact({ engine }: Room): Promise<JsonObject> {
  const names: string[] = []
  const left: string[] = []
  let cursor: string | undefined
  do {
    const page = await engine.ask({ type: 'plans', status: 'completed', archived: false, cursor })
    for (const { id, name, tasks } of page.items) {
      if (tasks === 0) continue
      const done = await engine.submit(id, { type: 'archive' })
      if (done.ok) names.push(name)
      else left.push(name)
    }
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
  return { ...compactedText(names), ...(left.length === 0 ? {} : { left }) }
}

export const compactedText = (names: readonly string[]): JsonObject => ({
  result: `Compacted ${names.length} completed plans.`,
  compacted: names,
})
