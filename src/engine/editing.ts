// Orders of clients that keep a plan here task by task, made into commands: additions to a draft, revisions made from the definition
// as it stands, annotations, evaluations, and the last word about a plan.

import { changedIn, outlinedBy, type TaskChanges } from '../domain/changed-task.ts'
import type { Command } from '../domain/command.ts'
import { isOpenTo } from '../domain/decisions/drafting.ts'
import type { PlanId, TaskName } from '../domain/id.ts'
import { keepItems } from '../domain/items.ts'
import type { PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import { type Refusal, refuse } from '../domain/refusal.ts'
import { withSequence } from '../domain/sequence.ts'
import type { PlanState } from '../domain/state.ts'
import { suggest } from '../domain/suggest.ts'
import { revisionHash } from '../format/hash.ts'
import { queueEdit, type Stamp } from './edit-queue.ts'
import type { KeepingOrder, RevisingOrder } from './editing-orders.ts'
import type { Objection, Submitted } from './engine.ts'
import type { Rooms } from './rooms.ts'
import { startOf } from './starting-order.ts'
import { noPlan, submitted, type Writing, write } from './submitting.ts'

type OrderOf<T> = Extract<RevisingOrder, { readonly type: T }>

export async function keep(rooms: Rooms, plan: PlanId, order: KeepingOrder, writing: Writing): Promise<Submitted> {
  const by: string = writing.actor
  switch (order.type) {
    case 'annotate':
      return await write(rooms, plan, { ...order, by }, writing)
    case 'evaluate':
      return await write(
        rooms,
        plan,
        { ...order, id: Buffer.from(rooms.random(12)).toString('base64url'), by },
        writing,
      )
    case 'finish': {
      const state = await rooms.store.state(plan)
      const start = state?.status === 'draft' ? { start: await startOf(rooms, plan) } : {}
      return await write(rooms, plan, { ...order, by, ...start }, writing)
    }
    default:
      return order satisfies never
  }
}

/**
 * Worked out inside the transaction, from the plan as it stands there: whoever else writes meanwhile is no reason to refuse it. A
 * plan that has begun is stamped with how the workspace stands, and so its changes queue (edit-queue.ts).
 */
export async function edit(
  rooms: Rooms,
  plan: PlanId,
  order: RevisingOrder,
  writing: Writing,
  objection: Objection = NO_OBJECTION,
): Promise<Submitted> {
  const state = await rooms.store.state(plan)
  if (state === null) return noPlan(plan)
  const written = async (stamp: Stamp | null): Promise<Submitted> =>
    submitted(await rooms.store.updateFrom(plan, now => objection(now) ?? commandFor(now, order, stamp), writing))
  if (state.status === 'draft') {
    const made = await written(null)
    if (made.ok || made.refusal !== HAS_BEGUN) return made
  }
  return await queueEdit(rooms, plan, written)
}

const NO_OBJECTION: Objection = () => null
/** Answered to nobody: a draft was started in the very moment. */
const HAS_BEGUN = refuse('conflict', 'the plan has begun')

/** Without a stamp only a draft can be changed. */
function commandFor(state: PlanState, order: RevisingOrder, stamp: Stamp | null): Command | Refusal {
  if (order.type === 'add' && isOpenTo(state, order.tasks)) return { type: 'add', tasks: order.tasks }
  if (stamp === null && state.status !== 'draft') return HAS_BEGUN
  const edited = editedBy(state, order)
  if ('code' in edited) return edited
  const definition = keepItems(state.definition, edited)
  const { expectedRevision } = order
  return {
    type: 'revise',
    definition,
    hash: revisionHash(definition),
    rationale: order.rationale ?? wordsOf(order),
    ...(expectedRevision === undefined ? {} : { expectedRevision }),
    ...stamp,
  }
}

function editedBy(state: PlanState, order: RevisingOrder): PlanDefinition | Refusal {
  const { definition } = state
  switch (order.type) {
    case 'add':
      return { ...definition, tasks: [...definition.tasks, ...order.tasks] }
    case 'change':
      return changed(definition, order)
    case 'remove':
      return without(definition, order)
    case 'reorder':
      return reordered(definition, order)
    case 'outline':
      return outlined(definition, order)
    default:
      return order satisfies never
  }
}

/** The list of a draft that is not sealed goes on growing: what is made of it has a list of its own. */
function outlined(definition: PlanDefinition, order: OrderOf<'outline'>): PlanDefinition {
  const tasks = [...definition.tasks]
  return outlinedBy({ ...definition, tasks }, order)
}

function changed(definition: PlanDefinition, order: OrderOf<'change'>): PlanDefinition | Refusal {
  const { task: name, set, extra } = order
  const strange = Object.keys(set).find(key => !Object.hasOwn(FIELDS, key))
  if (strange !== undefined) {
    const near = suggest(strange, Object.keys(FIELDS))
    const hint = near === null ? 'see the format of plans' : `did you mean '${near}'?`
    return refuse('invalid', `'${strange.slice(0, 60)}' is nothing of a task that can be changed`, hint)
  }
  const tasks = changedIn(definition.tasks, name, set, extra)
  return tasks === null ? unknown(definition, name) : { ...definition, tasks }
}

function without(definition: PlanDefinition, { tasks: gone }: OrderOf<'remove'>): PlanDefinition | Refusal {
  const names = new Set<TaskName>(gone)
  for (const name of names) if (!definition.tasks.some(({ id }) => id === name)) return unknown(definition, name)
  const tasks = definition.tasks.filter(({ id }) => !names.has(id))
  for (const task of tasks) {
    const need = task.needs?.find(name => names.has(name))
    if (need !== undefined)
      return refuse(
        'not-ready',
        `'${task.id}' needs '${need}', which would be gone`,
        `remove '${task.id}' as well, or change what it needs first`,
      )
  }
  return { ...definition, tasks }
}

function reordered(definition: PlanDefinition, { order }: OrderOf<'reorder'>): PlanDefinition | Refusal {
  const byName = new Map(definition.tasks.map(task => [task.id, task]))
  const first: TaskDefinition[] = []
  for (const name of order) {
    const task = byName.get(name)
    if (task === undefined) {
      const isTwice = definition.tasks.some(({ id }) => id === name)
      return isTwice
        ? refuse('duplicate', `'${name}' is in the order twice`, 'name each task once')
        : unknown(definition, name)
    }
    byName.delete(name)
    first.push(task)
  }
  // Lists follow the numbers of the tasks, so these follow the order.
  const tasks = [...first, ...byName.values()].map((task, index) => withSequence(task, index + 1))
  return { ...definition, tasks }
}

function unknown(definition: PlanDefinition, name: TaskName): Refusal {
  const near = suggest(
    name,
    definition.tasks.map(({ id }) => id),
  )
  return refuse(
    'not-found',
    `the plan has no task '${name}' of its own`,
    near === null
      ? 'see `planfold show`; tasks that were made of others are changed with those'
      : `did you mean '${near}'?`,
  )
}

function wordsOf(order: RevisingOrder): string {
  switch (order.type) {
    case 'add':
      return `added ${named(order.tasks.map(({ id }) => id))}`
    case 'change':
      return `changed ${Object.keys({ ...order.set, ...order.extra }).join(', ') || 'nothing'} of ${order.task}`
    case 'remove':
      return `removed ${named(order.tasks)}`
    case 'reorder':
      return 'put its tasks in another order'
    case 'outline':
      return `changed ${Object.keys({ ...order.set, ...order.extra }).join(', ') || 'nothing'} of the plan`
    default:
      return order satisfies never
  }
}

const named = (tasks: readonly TaskName[]): string =>
  tasks.length <= 3 ? tasks.join(', ') : `${tasks.slice(0, 2).join(', ')} and ${tasks.length - 2} more`

const FIELDS: Readonly<Record<keyof TaskChanges, true>> = {
  title: true,
  description: true,
  kind: true,
  rationale: true,
  action: true,
  instruction: true,
  needs: true,
  optional: true,
  when: true,
  timeoutMs: true,
  retry: true,
  priority: true,
  inputs: true,
  outputs: true,
  write: true,
  read: true,
  network: true,
  env: true,
  cwd: true,
  effect: true,
  probe: true,
  expect: true,
  accept: true,
  preconditions: true,
  postconditions: true,
  effects: true,
  recover: true,
  timeboxMs: true,
  failureModes: true,
  compensate: true,
  on: true,
  visits: true,
  assumptions: true,
  risks: true,
  rollback: true,
  owner: true,
  assignee: true,
  labels: true,
  milestone: true,
  deadline: true,
  estimateMs: true,
  budget: true,
  capabilities: true,
  forEach: true,
  matrix: true,
  extra: true,
}
