// Converts an order from its wire form to the engine's. Tasks arrive as parts of a document and are parsed here, where the task
// names their expressions may use are known.

import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { announcedEvent } from '../../domain/views/announcement.ts'
import type { AnswerOf, Engine, Order, QueryType, Replay, TaskChanges } from '../../engine/engine.ts'
import type { WireOrder } from '../../format/wire/declarations.ts'
import { type DefinitionRead, hasAction, readTasks, writeTask } from '../../format/wire/definition.ts'
import type { Entry } from '../../stores/store.ts'
import { invalidRequest, type Problem } from '../problem.ts'

// Removes claim tokens from journal entries before they leave the service. A claim token proves ownership of a claim: with one,
// any reader of the journal could report in another's name. Only the answer to a claim contains it.

/** `hash` is that of the stored entry, which includes the token. */
export function withoutTokens(entry: Entry): Omit<Entry, 'command' | 'events'> & {
  readonly command: object
  readonly events: readonly object[]
} {
  const { command, events } = entry
  return { ...entry, command: commandOf(command), events: events.map(announcedEvent) }
}

export function answerWithoutTokens(type: QueryType, answer: AnswerOf<QueryType>): unknown {
  if (answer === null) return null
  if (type === 'entries') return (answer as readonly Entry[]).map(withoutTokens)
  return type === 'replay' ? replayWithoutTokens(answer as Replay) : answer
}

/** A replay contains both sides where the journal and the rules disagree. */
export function replayWithoutTokens(replay: Replay): Replay {
  const { fault } = replay
  if (fault === null || fault.type !== 'diverged') return replay
  const { expected, actual, ...rest } = fault
  if (/\btoken$/.test(fault.path)) return { ...replay, fault: rest }
  const shown = { expected, actual }
  const text = JSON.stringify(shown, (key, value) => (key === 'token' ? undefined : value))
  return { ...replay, fault: { ...rest, ...(JSON.parse(text) as typeof shown) } }
}

function commandOf(command: Entry['command']): object {
  if (!('token' in command)) return command
  const { token: _, ...rest } = command
  return rest
}

type Wired<T extends WireOrder['type']> = Extract<WireOrder, { readonly type: T }>

export async function orderFrom(engine: Engine, plan: string | null, asked: WireOrder): Promise<Order | Problem> {
  switch (asked.type) {
    case 'add':
      return await added(engine, plan, asked)
    case 'change':
      return await changed(engine, plan, asked)
    default:
      return asked
  }
}

async function added(engine: Engine, plan: string | null, { tasks, ...order }: Wired<'add'>): Promise<Order | Problem> {
  let read = readTasks(tasks)
  // Looks up the plan's tasks only if an expression names one.
  if (!read.ok) read = readTasks(tasks, namesOf(await definitionOf(engine, plan)))
  return read.ok ? { ...order, tasks: read.value } : misread(read, 'order')
}

/** Merges the change into the current task before parsing, so that keys which depend on others find them. */
async function changed(engine: Engine, plan: string | null, order: Wired<'change'>): Promise<Order | Problem> {
  const { type, task, set, unset = [], ...rest } = order
  const definition = await definitionOf(engine, plan)
  const known = definition?.tasks.find(({ id }) => id === task)
  const stands =
    known === undefined ? {} : writeTask(withoutFields(known, [...unset, ...(hasAction(set) ? ['action'] : [])]))
  const read = readTasks([{ ...stands, ...set, id: task }], namesOf(definition))
  if (!read.ok) return misread(read, 'order.set')
  const [after] = read.value as readonly [TaskDefinition]
  const result = readTasks([{ ...set, id: task }], namesOf(definition))
  const keys = result.ok ? Object.keys(result.value[0]!) : Object.keys(after)
  const changes: Record<string, unknown> = {}
  for (const key of keys)
    if (key !== 'id' && (key !== 'action' || hasAction(set))) changes[key] = after[key as keyof TaskDefinition]
  for (const key of unset) changes[key] = null
  return { ...rest, type, task, set: changes as TaskChanges }
}

function withoutFields(task: TaskDefinition, fields: readonly string[]): TaskDefinition {
  const left = Object.fromEntries(Object.entries(task).filter(([key]) => !fields.includes(key)))
  return { action: { type: 'external' }, ...left } as unknown as TaskDefinition
}

async function definitionOf(engine: Engine, plan: string | null): Promise<PlanDefinition | null> {
  const answer = plan === null ? null : await engine.ask({ type: 'definition', plan })
  return answer?.definition ?? null
}

const namesOf = (definition: PlanDefinition | null): readonly string[] => (definition?.tasks ?? []).map(({ id }) => id)

function misread(read: Extract<DefinitionRead<unknown>, { readonly ok: false }>, at: string): Problem {
  return invalidRequest(
    'body',
    read.faults.map(({ path, ...fault }) => ({ ...fault, path: path === '' ? at : `${at}.${path}` })),
  )
}
