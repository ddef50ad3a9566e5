// Memory for agents: read with `plan_read`, written with `plan_write`, and in the words of older clients. Everything in it is shown as data.

import type { PlanId, TaskName } from '../domain/id.ts'
import type { FoundMemory, Memory, SubmitOptions } from '../engine/engine.ts'
import type { CompatMemoryInput, PlanReadInput, PlanWriteInput } from '../format/wire/agent-tools.ts'
import { clean, cleanBlock, DATA_NOTE, withinBudget } from './plan-text.ts'
import { findPlanInHand, PlanNotNamed, Refused, type Room, ToolError, type Written } from './room.ts'

export async function memoryText(room: Room, { id, query, page, plan, max_tokens }: PlanReadInput): Promise<string> {
  const found = await room.engine.memory.recall({
    ...(id === undefined ? { text: query, before: page } : { keys: [id] }),
    plan: await planIfOne(room, plan),
  })
  if (found.refusal !== undefined) throw new Refused(found.refusal)
  const { items, next, note, by, model } = found
  const lines = items.flatMap(itemLines)
  const more = next === null ? [] : [`… more: plan_read {"what":"memory","page":"${next}"} with the same query`]
  const how = by === 'meaning' ? [`Found by meaning (${clean(model ?? '')}), nearest first.`] : []
  const shown = lines.length === 0 ? ['Nothing is remembered about this.'] : [DATA_NOTE, ...how, ...lines, ...more]
  return withinBudget([...shown, ...(note === undefined ? [] : [clean(note)])], max_tokens, 'ask with more max_tokens')
}

function itemLines({ key, scope, value, trust, source }: FoundMemory['items'][number]): readonly string[] {
  const from = [source.file ?? source.by, source.task].filter(word => word !== undefined).join(', ')
  const claims = source.claims === undefined ? '' : `, claims ${clean(JSON.stringify(source.claims))}`
  const mark = trust === 'untrusted' ? ', not trusted' : ''
  return [
    `- ${clean(key)} (${scope}, by ${clean(from)}${claims}${mark}):`,
    cleanBlock(typeof value === 'string' ? value : JSON.stringify(value)),
  ]
}

/** Of the project and the person there is memory without a plan. */
async function planIfOne(room: Room, plan: string | undefined): Promise<PlanId | undefined> {
  try {
    return (await findPlanInHand(room, plan)).plan
  } catch (error) {
    if (plan === undefined && error instanceof PlanNotNamed) return undefined
    throw error
  }
}

export async function remember(
  room: Room,
  plan: PlanId,
  { name, text, task, scope }: Pick<PlanWriteInput, 'name' | 'text' | 'task' | 'scope'>,
  submit: SubmitOptions,
): Promise<Written> {
  if (name === undefined || text === undefined)
    throw new ToolError('error: `name` or `text` is missing\nhint: name is the key, text what to remember under it')
  const done = await room.engine.memory.remember({
    ...{ key: name, value: text, plan, scope, submit },
    ...(task === undefined ? {} : { task: task as TaskName }),
  })
  return { plan, lines: rememberedLines(name, done, plan) }
}

function rememberedLines(
  key: string,
  done: Awaited<ReturnType<Memory['remember']>>,
  plan: PlanId | null,
): readonly string[] {
  if (!done.ok) throw new Refused(done.refusal, plan)
  if (done.status === 'kept') return [`ok: '${clean(key)}' is remembered in this plan`]
  return [
    `not remembered yet, proposed to a person: '${clean(key)}'`,
    `Look later: plan_read {"what":"answer","plan":"${done.name}","id":"${done.id}"}`,
  ]
}

export type CompatMemoryTool = 'create_memory' | 'recall_memory' | 'forget_memory'

export async function compatMemory(
  room: Room,
  tool: CompatMemoryTool,
  { id: key, content, query, scope }: CompatMemoryInput,
): Promise<string> {
  if (tool === 'recall_memory') return await memoryText(room, key === undefined ? { query } : { id: key })
  if (key === undefined) throw new ToolError('error: `id` is missing')
  const plan = await planIfOne(room, undefined)
  if (tool === 'create_memory') {
    const done = await room.engine.memory.remember({ key, value: content ?? '', plan, scope })
    return rememberedLines(key, done, plan ?? null).join('\n')
  }
  const done = await room.engine.memory.forget({ key, plan })
  if (!done.ok) throw new Refused(done.refusal, plan ?? null)
  return done.removed ? `ok: '${clean(key)}' is forgotten` : `nothing was remembered under '${clean(key)}'`
}
