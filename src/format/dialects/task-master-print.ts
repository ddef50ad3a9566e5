// How Task Master writes a list of tasks: the words, the order of keys, and dependencies without what only follows from
// subtasks.

import type { TaskName } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import type { TaskStatus } from '../../domain/status.ts'
import { raiseTask } from '../raise.ts'
import {
  assemble,
  grouped,
  keptBy,
  type Layout,
  type Nearest,
  type Standing,
  sparse,
  statusWord,
  writtenNeeds,
} from './backlogs.ts'
import type { StatusOf } from './dialect.ts'
import { isList, isMap } from './source.ts'
import { statusWords } from './status-words.ts'

export const NAME = 'task-master'
/** Of which task a task is a subtask. No key of theirs looks like this. */
export const OF = '@of'

export const STATUS = statusWords<TaskStatus>({
  pending: 'pending',
  todo: 'pending',
  deferred: 'pending',
  'in-progress': 'running',
  review: 'waiting',
  blocked: 'blocked',
  done: 'completed',
  completed: 'completed',
  cancelled: 'cancelled',
})

export const PRIORITY: ReadonlyMap<string, number> = new Map([
  ['critical', 20],
  ['high', 10],
  ['medium', 0],
  ['low', -10],
])

/** What is written for a status Task Master has no word for. */
const NEAREST: Nearest = {
  ready: 'pending',
  failed: 'blocked',
  skipped: 'cancelled',
  abandoned: 'cancelled',
}

/** A task of the list as far as needs go; `of` is the task it is a subtask of. */
export interface Member {
  readonly name: TaskName
  readonly of: TaskName | null
  readonly hard: readonly TaskName[]
}

export function standings(members: readonly Member[]): readonly Standing[] {
  const children = grouped(members, member => member.of)
  const hard = new Map(members.map(member => [member.name, member.hard]))
  return members.map(member => ({
    name: member.name,
    hard: member.hard,
    soft: [
      ...(children.get(member.name) ?? []).map(({ name }) => name),
      ...(member.of === null ? [] : (hard.get(member.of) ?? [])),
    ],
  }))
}

/** How tasks that are needed are written in the list of one: siblings by their number, subtasks of others as `1.2`. */
export function dependencyIds(
  name: TaskName,
  hard: readonly TaskName[],
  of: ReadonlyMap<TaskName, TaskName | null>,
  ids: ReadonlyMap<TaskName, Json>,
): readonly Json[] {
  const parent = of.get(name) ?? null
  return hard.map(need => {
    const home = of.get(need) ?? null
    return home === null || home === parent ? (ids.get(need) ?? idFrom(need)) : need
  })
}

export interface Parts {
  readonly id: string
  readonly status: TaskStatus
  readonly dependencies: readonly Json[]
  /** Null for a subtask, which has none. */
  readonly subtasks: readonly Json[] | null
}

/** A task's record when nothing is remembered; `task` is in the words of the document. */
export function record(task: JsonObject, { id, status, dependencies, subtasks }: Parts): JsonObject {
  const { accept, priority } = task
  return sparse({
    id: idFrom(id),
    title: task.title ?? '',
    description: task.description,
    details: task.instruction,
    testStrategy: isList(accept) && accept.length === 1 && typeof accept[0] === 'string' ? accept[0] : undefined,
    priority: typeof priority === 'number' ? priorityWord(priority) : undefined,
    dependencies,
    status: statusWord(STATUS, NEAREST, status),
    subtasks: subtasks ?? undefined,
  })
}

export function listRecord(tasks: readonly Json[], goal: string | undefined, metadata: JsonObject): JsonObject {
  const described = goal === undefined ? metadata : { ...metadata, description: goal }
  return sparse({ tasks, metadata: Object.keys(described).length === 0 ? undefined : described })
}

export const TASK: Layout = {
  order: ['id', 'title', 'description', 'details', 'testStrategy', 'priority', 'dependencies', 'status', 'subtasks'],
  spare: { title: '', dependencies: [], status: 'pending', subtasks: [] },
}
export const LIST: Layout = { order: ['tasks', 'metadata'], spare: {} }
export const FILE: Layout = { order: ['master'], spare: {} }

export function printTasks(definition: PlanDefinition, status: StatusOf): string {
  const tasks = definition.tasks.filter(task => task.action.type !== 'verify')
  const names = new Set<TaskName>(tasks.map(task => task.id))
  const kept = new Map(tasks.map(task => [task.id, keptBy(NAME, task)]))
  const ids = new Map<TaskName, Json>(tasks.map(({ id }) => [id, kept.get(id)!.id ?? ownId(id, parentOf(id))]))
  const of = new Map(tasks.map(({ id }) => [id, parentOf(id)]))
  const children = grouped(tasks, task => of.get(task.id) ?? null)
  const byId = new Map(tasks.map(({ id }) => [`${parentOf(id) ?? ''}\n${ids.get(id)}`, id]))

  function parentOf(name: TaskName): TaskName | null {
    const of = kept.get(name)?.[OF]
    return typeof of === 'string' && names.has(of as TaskName) && kept.get(of as TaskName)?.[OF] === undefined
      ? (of as TaskName)
      : null
  }
  /** What the remembered dependencies mean today; null when they name something that is gone. */
  function meant(name: TaskName, remembered: Json | undefined): readonly TaskName[] | null {
    if (!isList(remembered)) return null
    const found = remembered.map(id => {
      const sibling = byId.get(`${parentOf(name) ?? ''}\n${id}`)
      const inside = /^(.+)\.([^.]+)$/.exec(String(id))
      const parent = inside === null ? undefined : byId.get(`\n${inside[1]}`)
      return (parent && byId.get(`${parent}\n${inside![2]}`)) ?? sibling ?? byId.get(`\n${id}`) ?? null
    })
    return found.includes(null) ? null : (found as TaskName[])
  }
  const { hard, moved } = writtenNeeds(
    tasks,
    new Map(tasks.map(({ id }) => [id, meant(id, kept.get(id)!.dependencies)])),
    (name, said) => {
      const parent = of.get(name) ?? null
      return [...(children.get(name) ?? []).map(({ id }) => id), ...(parent === null ? [] : (said.get(parent) ?? []))]
    },
  )

  function written(task: TaskDefinition): JsonObject {
    const said = raiseTask(task)
    const { [OF]: _, ...rest } = kept.get(task.id)!
    const subtasks = (children.get(task.id) ?? []).map(written)
    const values = record(said, {
      id: String(ids.get(task.id)),
      status: status(task.id),
      dependencies: dependencyIds(task.id, hard.get(task.id)!, of, ids),
      subtasks: subtasks.length > 0 || parentOf(task.id) === null ? subtasks : null,
    })
    const now = status(task.id)
    const still: { [key: string]: Json } = { ...rest, status: statusWord(STATUS, NEAREST, now, rest.status) }
    if (still.status === values.status) delete still.status
    if (moved.has(task.id)) delete still.dependencies
    if (values.priority !== undefined && PRIORITY.get(String(still.priority)) !== task.priority) delete still.priority
    for (const key of ['title', 'description', 'details', 'testStrategy'])
      if (values[key] !== undefined && values[key] !== '') delete still[key]
    if (subtasks.length > 0) delete still.subtasks
    return assemble(values, still, TASK)
  }

  const own = keptBy(NAME, definition)
  const listed = (children.get(null) ?? []).map(written)
  const list = isMap(own.list) ? own.list : {}
  const values = listRecord(listed, definition.goal, isMap(list.metadata) ? list.metadata : {})
  const { metadata: _, ...rest } = list
  const inner = assemble(values, values.metadata === undefined ? list : rest, LIST)
  const tag = typeof own.tag === 'string' ? own.tag : 'master'
  const file = own.bare === true ? inner : assemble({ [tag]: inner }, isMap(own.file) ? own.file : {}, FILE)
  const indent = typeof own.indent === 'string' || typeof own.indent === 'number' ? own.indent : 2
  return `${JSON.stringify(file, null, indent)}${own.newline === false ? '' : '\n'}`
}

function ownId(name: TaskName, of: TaskName | null): Json {
  return idFrom(of !== null && name.startsWith(`${of}.`) ? name.slice(of.length + 1) : name)
}

/** Task Master counts: a name that is a number is written as one. */
function idFrom(name: string): Json {
  return /^(0|[1-9]\d{0,14})$/.test(name) ? Number(name) : name
}

function priorityWord(priority: number): string {
  for (const [word, value] of PRIORITY) if (priority >= value) return word
  return 'low'
}
