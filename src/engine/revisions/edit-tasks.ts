// Revisions that clients build task by task. For a started plan they are queued and written in batches: orders that arrive while a batch is
// written form the next one, so that many writers share one stamp of the workspace and one commit. None is refused for being slower: each
// order is applied to the result of the one before it, inside the transaction.
//
//   empty ─order→ batch of one: stamp ─→ written, one commit ─→ the orders that came meanwhile are the next batch ─→ … ─→ empty

import type { Command, CommandOf } from '../../domain/command.ts'
import { advise, quoted } from '../../domain/hint.ts'
import type { Actor, PlanId, TaskName } from '../../domain/id.ts'
import { numberOf, suggest } from '../../domain/phrases.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { keepItems } from '../../domain/plan-rules/for-each.ts'
import { WRITTEN } from '../../domain/plan-rules/task-fields.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { WorkspaceStamp } from '../../domain/result.ts'
import { isOpenTo } from '../../domain/revisions/add-tasks.ts'
import { changedIn, outlinedBy } from '../../domain/revisions/merge.ts'
import { isUnsealed, type PlanState, withSequence } from '../../domain/state/state.ts'
import { definitionHash, revisionHash } from '../../format/plan/hash.ts'
import type { Store } from '../../stores/store.ts'
import type { RevisingOrder, Submitted } from '../orders.ts'
import type { Rooms } from '../rooms.ts'
import { noPlan, type Objection, submitted, type Writing, write, writerOf } from '../write-order.ts'
import { stampOf } from './drift.ts'

type Stamp = { readonly stamp?: WorkspaceStamp }

/** Must reach the store before its first await: orders of one batch then share a commit. */
type Write = (stamp: Stamp) => Promise<Submitted>

interface Waiting {
  readonly write: Write
  readonly resolve: (submitted: Submitted) => void
  readonly reject: (error: unknown) => void
}

/** Bounds how long a batch blocks other transactions. */
const BATCH_MAX = 32

const queues = new WeakMap<Store, Map<PlanId, Waiting[]>>()

function queueEdit(rooms: Rooms, plan: PlanId, write: Write): Promise<Submitted> {
  const plans = queues.get(rooms.store) ?? new Map<PlanId, Waiting[]>()
  queues.set(rooms.store, plans)
  return new Promise((resolve, reject) => {
    const waiting = plans.get(plan)
    if (waiting !== undefined) {
      waiting.push({ write, resolve, reject })
      return
    }
    const begun: Waiting[] = [{ write, resolve, reject }]
    plans.set(plan, begun)
    void writeBatches(rooms, plan, begun, () => plans.delete(plan))
  })
}

/** Never rejects; errors go to the orders concerned. */
async function writeBatches(rooms: Rooms, plan: PlanId, waiting: Waiting[], emptied: () => void): Promise<void> {
  while (waiting.length > 0) {
    const batch = waiting.splice(0, BATCH_MAX)
    try {
      const stamp = await stampOf(rooms, plan, 'begun')
      await Promise.all(batch.map(({ write, resolve, reject }) => write(stamp).then(resolve, reject)))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  // Synchronous with the check of the queue, so that no order is added in between.
  emptied()
}

type OrderOf<T> = Extract<RevisingOrder, { readonly type: T }>

/** Applied inside the transaction to the current definition. A started plan gets a stamp, so its revisions are queued. */
export async function edit(
  rooms: Rooms,
  plan: PlanId,
  order: RevisingOrder,
  { objection = NO_OBJECTION, ...options }: Writing,
): Promise<Submitted> {
  const writer = writerOf(options)
  const state = await rooms.store.state(plan)
  if (state === null) return noPlan(plan)
  const workOut = (now: PlanState, stamp: Stamp | null): Command | Refusal => {
    const command = commandFor(now, order, stamp)
    return 'code' in command ? command : (objection(now, command) ?? { ...command, writer })
  }
  const written = async (stamp: Stamp | null): Promise<Submitted> =>
    submitted(await rooms.store.updateFrom(plan, now => workOut(now, stamp), options))
  if (state.status === 'draft') {
    const made = await written(null)
    if (made.ok || made.refusal !== HAS_BEGUN) return made
  }
  return await queueEdit(rooms, plan, written)
}

const NO_OBJECTION: Objection = () => null
/** Internal: the draft was started at this very moment. */
const HAS_BEGUN = refuse('conflict', 'the plan has begun')

/** Without a stamp only a draft can be changed. */
function commandFor(
  state: PlanState,
  order: RevisingOrder,
  stamp: Stamp | null,
): CommandOf<'add' | 'revise'> | Refusal {
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
    expectedRevision,
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

/** The list of an unsealed draft keeps growing, so the result gets its own. */
function outlined(definition: PlanDefinition, order: OrderOf<'outline'>): PlanDefinition {
  const tasks = [...definition.tasks]
  return outlinedBy({ ...definition, tasks }, order)
}

function changed(definition: PlanDefinition, order: OrderOf<'change'>): PlanDefinition | Refusal {
  const { task: name, set, extra } = order
  const strange = Object.keys(set).find(key => !CHANGEABLE.includes(key))
  if (strange !== undefined) {
    const near = suggest(strange, CHANGEABLE)
    const hint = near === null ? 'see the format of plans' : `did you mean '${near}'?`
    return refuse('invalid', `'${strange.slice(0, 60)}' is not a field of a task that can be changed`, hint)
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
  // Lists follow the numbers of the tasks, so these must follow the order.
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
      ? advise`see ${quoted('show')}; tasks that were made of others are changed with those`
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
      return 'reordered its tasks'
    case 'outline':
      return `changed ${Object.keys({ ...order.set, ...order.extra }).join(', ') || 'nothing'} of the plan`
    default:
      return order satisfies never
  }
}

const named = (tasks: readonly TaskName[]): string =>
  tasks.length <= 3 ? tasks.join(', ') : `${tasks.slice(0, 2).join(', ')} and ${tasks.length - 2} more`

const CHANGEABLE: readonly string[] = WRITTEN.map(({ name }) => name).filter(name => name !== 'id')

// Sealing a draft whose tasks were added one by one: a revision with the same definition gives it the hash that everything later refers to.

const TRIES_MAX = 20

/** Seals if necessary, again if tasks were added in between. An expected version means the one before sealing. */
export async function sealed(
  rooms: Rooms,
  plan: PlanId,
  writing: Writing,
  then: (writing: Writing) => Promise<Submitted>,
): Promise<Submitted> {
  const { actor, expectedVersion } = writing
  for (let tries = 1; ; tries++) {
    const state = await rooms.store.state(plan)
    let version = expectedVersion
    // Any other expected version is refused as usual.
    if (state !== null && isOpen(state) && (expectedVersion ?? state.version) === state.version) {
      const made = await seal(rooms, state, actor)
      if (!made.ok && (!isOvertaken(made) || expectedVersion !== undefined || tries >= TRIES_MAX)) return made
      if (!made.ok) continue
      if (expectedVersion !== undefined) version = made.version
    }
    const done = await then(version === undefined ? writing : { ...writing, expectedVersion: version })
    if (!isOvertaken(done) || expectedVersion !== undefined || tries >= TRIES_MAX) return done
    const after = await rooms.store.state(plan)
    if (after === null || !isOpen(after)) return done
  }
}

const isOpen = (state: PlanState): boolean => isUnsealed(state) && state.status === 'draft' && !state.archived

async function seal(rooms: Rooms, state: PlanState, actor: Actor): Promise<Submitted> {
  const { id, version } = state
  // The list of an unsealed draft keeps growing.
  const definition = { ...state.definition, tasks: [...state.definition.tasks] }
  const rationale = `${numberOf(definition.tasks.length, 'task')}, added one by one`
  const command = { type: 'revise', definition, hash: definitionHash(definition), rationale } as const
  return await write(rooms, id, command, { actor, expectedVersion: version })
}

const isOvertaken = (answer: Submitted): boolean => !answer.ok && answer.refusal.code === 'conflict'
