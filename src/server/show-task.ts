// A task as the service shows it: the fields of the PlanStore, our own beside them, and whatever a client sent that nobody else has
// a word for.

import type { PlanId } from '../domain/id.ts'
import type { JsonObject } from '../domain/json.ts'
import type { TaskRecord } from '../engine/engine.ts'
import { fromLiteral } from '../format/template.ts'
import { taskWord } from '../format/wire/store-words.ts'
import type { TaskBody } from '../format/wire/tasks.ts'
import type { Call } from './call.ts'
import { iso, isoOrNull } from './on-wire.ts'
import { clientTimes } from './show-plan.ts'

type Asking = Pick<Call<unknown, unknown>, 'rooms'>

/** Null when there is none. `version` is that of its plan. */
export async function showTask(
  call: Asking,
  plan: PlanId,
  task: string,
): Promise<{ readonly body: TaskBody; readonly version: number } | null> {
  const found = await showTasks(call, plan, [task])
  const body = found?.bodies[0]
  return found === null || body === undefined ? null : { body, version: found.version }
}

/** Those that are there, in this order; null when there is no such plan. */
export async function showTasks(
  { rooms }: Asking,
  plan: PlanId,
  tasks: readonly string[],
): Promise<{ readonly bodies: readonly TaskBody[]; readonly version: number } | null> {
  const found = await rooms.engine.ask({ type: 'records', plan, tasks })
  if (found === null) return null
  return { bodies: found.tasks.map(record => taskBody(record, { id: plan, name: found.name })), version: found.version }
}

export function taskBody(
  { card, definition }: TaskRecord,
  plan: { readonly id: PlanId; readonly name: string },
): TaskBody {
  const { sequence_order: _, input_data, ...extra } = definition.extra ?? {}
  const { client, output_data, ...kept } = card.annotations
  return {
    id: card.id,
    name: card.name,
    plan_id: plan.id,
    plan_name: plan.name,
    agent_id: definition.assignee ?? null,
    title: card.title,
    description: definition.description ?? null,
    task_type: card.kind,
    action: card.action,
    input_data: fromLiteral(definition.inputs ?? input_data ?? {}) as TaskBody['input_data'],
    output_data: (output_data ?? card.outputs ?? null) as TaskBody['output_data'],
    status: taskWord(card.status),
    state: card.status,
    sequence_order: card.sequence,
    depends_on: [...card.needs],
    priority: definition.priority ?? 0,
    labels: [...(definition.labels ?? [])],
    optional: card.optional,
    claimed_by: card.claimedBy,
    reason: card.reason,
    visit: card.visit,
    attempt: card.attempt,
    created_at: iso(card.addedAt),
    started_at: isoOrNull(card.startedAt),
    completed_at: isoOrNull(card.endedAt),
    client: clientTimes(client),
    extra: { ...extra, ...kept } as JsonObject as TaskBody['extra'],
  }
}
