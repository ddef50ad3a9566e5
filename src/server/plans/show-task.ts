// Task bodies of the service: one task, ready tasks, the order of a batch, and unused names.

import { createHash } from 'node:crypto'
import { isTaskName, isUuid, type PlanId, type TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import type { TaskRecord } from '../../engine/engine.ts'
import { fromLiteral } from '../../format/expression/template.ts'
import type { Task } from '../../format/wire/answers/tasks.ts'
import { taskWord } from '../../format/wire/status-words.ts'
import type { Fault } from '../../format/wire/wire.ts'
import type { Call } from '../request.ts'
import { iso, isoOrNull } from '../wire-names.ts'
import { clientTimes } from './show-plan.ts'

// Sorts the tasks of a request by their needs; they may be sent in any order.

export type Ordered =
  | { readonly ok: true; readonly tasks: readonly TaskDefinition[] }
  | { readonly ok: false; readonly duplicate: TaskName; readonly at: readonly [number, number] }
  /** Each needs the next; the first is also the last. */
  | { readonly ok: false; readonly cycle: readonly TaskName[] }

export function inOrder(tasks: readonly TaskDefinition[]): Ordered {
  const places = new Map<TaskName, number>()
  for (const [place, { id }] of tasks.entries()) {
    const first = places.get(id)
    if (first !== undefined) return { ok: false, duplicate: id, at: [first, place] }
    places.set(id, place)
  }
  const ordered: TaskDefinition[] = []
  const seen = new Set<TaskName>()
  for (const { id } of tasks) {
    // Iterative depth-first search, since a batch may be one long chain.
    const way = seen.has(id) ? [] : [walkOf(id)]
    seen.add(id)
    while (way.length > 0) {
      const { name, left } = way.at(-1)!
      const need = left.next()
      if (need.done === true) {
        ordered.push(tasks[places.get(name)!]!)
        way.pop()
      } else if (places.has(need.value)) {
        const from = way.findIndex(step => step.name === need.value)
        if (from !== -1) return { ok: false, cycle: [...way.slice(from).map(step => step.name), need.value] }
        if (seen.has(need.value)) continue
        seen.add(need.value)
        way.push(walkOf(need.value))
      }
    }
  }
  return { ok: true, tasks: ordered }

  function walkOf(name: TaskName): { readonly name: TaskName; readonly left: Iterator<TaskName> } {
    return { name, left: (tasks[places.get(name)!]!.needs ?? [])[Symbol.iterator]() }
  }
}

/** Does not check that the names exist; the plan does, when it changes. */
export async function resolveNeeds(
  { engine }: Pick<Call<unknown, unknown>, 'engine'>,
  plan: PlanId,
  words: string | readonly string[] | null | undefined,
  path: string,
): Promise<{ readonly needs: readonly TaskName[]; readonly faults: readonly Fault[] }> {
  const needs = new Set<TaskName>()
  const faults: Fault[] = []
  for (const word of words == null ? [] : typeof words === 'string' ? [words] : words) {
    const found = isUuid(word) ? await engine.ask({ type: 'find', reference: word }) : null
    if (found !== null && found.plan === plan && found.task !== null) needs.add(found.task)
    else if (isTaskName(word)) needs.add(word)
    else faults.push({ path, message: `no task of the plan is called '${word.slice(0, 100)}'`, hint: HINT })
  }
  return { needs: [...needs], faults }
}

const HINT = 'name tasks of the same plan, by id or name'

// The task body: PlanStore fields, our own, and unknown fields that a client sent.

type TaskRequest = Pick<Call<unknown, unknown>, 'engine'>

export async function showTask(
  call: TaskRequest,
  plan: PlanId,
  task: string,
): Promise<{ readonly body: Task; readonly version: number } | null> {
  const found = await showTasks(call, plan, [task])
  const body = found?.bodies[0]
  return found === null || body === undefined ? null : { body, version: found.version }
}

export async function showTasks(
  { engine }: TaskRequest,
  plan: PlanId,
  tasks: readonly string[],
): Promise<{ readonly bodies: readonly Task[]; readonly version: number } | null> {
  const found = await engine.ask({ type: 'records', plan, tasks })
  if (found === null) return null
  return { bodies: found.tasks.map(record => taskBody(record, { id: plan, name: found.name })), version: found.version }
}

export function taskBody({ card, definition }: TaskRecord, plan: { readonly id: PlanId; readonly name: string }): Task {
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
    input_data: fromLiteral(definition.inputs ?? input_data ?? {}) as Task['input_data'],
    output_data: (output_data ?? card.outputs ?? null) as Task['output_data'],
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
    extra: { ...extra, ...kept } as JsonObject as Task['extra'],
  }
}

// Six letters that make a name unique. With an idempotency key they are derived from it, so a repeat gets the same name;
// otherwise they are random. On a conflict they are generated again.

const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789'

type MarkRequest = Pick<Call<unknown, unknown>, 'rooms' | 'who' | 'once'>

/** `again`: number of earlier attempts. The first is generated without it, for compatibility. */
export function markOf({ rooms, who, once }: MarkRequest, part = 0, again = 0): string {
  const bytes =
    once === undefined
      ? rooms.random(6)
      : createHash('sha256')
          .update(JSON.stringify(again === 0 ? [who.actor, once, part] : [who.actor, once, part, again]))
          .digest()
  let mark = ''
  for (let at = 0; at < 6; at++) mark += LETTERS[bytes[at]! % LETTERS.length]
  return mark
}

/** Thirty bits collide rarely, and never three times in a row. A deterministic collision is reported in the end. */
export const DRAWS_MAX = 4

export function namesFor(
  call: MarkRequest,
  taken: Iterable<string>,
  round: number,
): (stem: string, part: number) => string {
  const used = new Set(taken)
  return (stem, part) => {
    let name = ''
    for (let tries = 0; tries < DRAWS_MAX; tries++) {
      name = `${stem}-${markOf(call, part, round + tries * DRAWS_MAX)}`
      if (!used.has(name)) break
    }
    used.add(name)
    return name
  }
}
