// Task Master's `tasks.json`: a list of numbered tasks with subtasks, either bare (`{tasks: […]}`) or under a tag
// (`{master: {tasks: […], metadata}}`). A subtask becomes a task of its own, `1.2`; its parent needs it, and it waits for
// whatever its parent waits for. One tag is the plan; others are kept as they are.

import type { TaskName } from '../../../domain/id.ts'
import { defined, isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import { raiseTask } from '../../../format/plan/definition-to-document.ts'
import type { Dialect, Reading, StatusOf } from '../../../format/plan/dialect.ts'
import { endedStatus } from '../../../format/plan/dialect.ts'
import type { Path } from '../../../format/text/diagnostic.ts'
import { isList, type Source } from '../../../format/text/source.ts'
import { statusWords } from '../../../format/text/status-words.ts'
import { DocumentBuilder, Names } from '../document-builder.ts'
import {
  assemble,
  grouped,
  keepsake,
  keptBy,
  type Layout,
  type Nearest,
  nonEmpty,
  printed,
  type Standing,
  settleNeeds,
  statusWord,
  textOf,
  writtenNeeds,
} from './backlogs.ts'

// How Task Master writes tasks: status words, key order, and dependencies. Written are only the dependencies that are stated (`hard`);
// those that follow from a task having subtasks (`soft`) are not.

const NAME = 'task-master'
/** The key under which a subtask's parent is kept. Task Master has no key that looks like this. */
const OF = '@of'

const STATUS = statusWords<TaskStatus>({
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

const PRIORITY: ReadonlyMap<string, number> = new Map([
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
interface Member {
  readonly name: TaskName
  readonly of: TaskName | null
  readonly hard: readonly TaskName[]
}

function standings(members: readonly Member[]): readonly Standing[] {
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
function dependencyIds(
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

interface Parts {
  readonly id: string
  readonly status: TaskStatus
  readonly dependencies: readonly Json[]
  /** Null for a subtask, which has none. */
  readonly subtasks: readonly Json[] | null
}

/** The task as Task Master would write it, from our fields alone: without what was kept from the imported file. `task` has the keys of a plan file. */
function record(task: JsonObject, { id, status, dependencies, subtasks }: Parts): JsonObject {
  const { accept, priority } = task
  return defined({
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

function listRecord(tasks: readonly Json[], goal: string | undefined, metadata: JsonObject): JsonObject {
  const described = goal === undefined ? metadata : { ...metadata, description: goal }
  return defined({ tasks, metadata: Object.keys(described).length === 0 ? undefined : described })
}

const TASK: Layout = {
  order: ['id', 'title', 'description', 'details', 'testStrategy', 'priority', 'dependencies', 'status', 'subtasks'],
  spare: { title: '', dependencies: [], status: 'pending', subtasks: [] },
}
const LIST: Layout = { order: ['tasks', 'metadata'], spare: {} }
const FILE: Layout = { order: ['master'], spare: {} }

function printTasks(definition: PlanDefinition, status: StatusOf): string {
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

export const taskMaster: Dialect = {
  name: NAME,
  about: "Task Master's tasks.json with subtasks, bare or under a tag",
  recognises: ({ map }) => map !== null && !Object.hasOwn(map, 'planfold') && looksOurs(listOf(map)),
  read,
  print: (definition, status) => printed(taskMaster, printTasks(definition, status), definition, status),
}

/** The list of tasks in a file. */
interface List {
  /** Null when there are no tags. */
  readonly tag: string | null
  readonly record: JsonObject
  readonly tasks: readonly Json[]
}

function listOf(map: JsonObject): List | null {
  if (isList(map.tasks)) return { tag: null, record: map, tasks: map.tasks }
  const lists = Object.entries(map).flatMap(([tag, record]) =>
    isMap(record) && isList(record.tasks) ? [{ tag, record, tasks: record.tasks }] : [],
  )
  const full = lists.filter(list => list.tasks.length > 0)
  return full.find(list => list.tag === 'master') ?? full[0] ?? lists[0] ?? null
}

/** Words that other lists of tasks have and Task Master has not. */
const FOREIGN = ['needs', 'run', 'depends_on', 'dependsOn', 'kind', 'command', 'tool']

function looksOurs(list: List | null): boolean {
  const first = list?.tasks[0]
  if (list === null || (first === undefined ? list.tag === null : !isMap(first))) return false
  if (first === undefined) return isMap(list.record.metadata)
  const has = (key: string): boolean => Object.hasOwn(first as JsonObject, key)
  if (!has('title') || FOREIGN.some(has)) return false
  const words = ['testStrategy', 'subtasks', 'details', 'dependencies'].filter(has).length
  return words >= 2 || (words === 1 && (list.tag !== null || typeof (first as JsonObject).id === 'number'))
}

/** A task of the list, or a subtask of one. */
interface Item {
  readonly raw: JsonObject
  readonly path: Path
  /** `1`, or `1.2` for a subtask. */
  readonly id: string
  readonly parent: Item | null
}

function read(source: Source): Reading {
  const { read: file, map } = source
  if (!file.ok) return file
  const list = map === null ? null : listOf(map)
  const draft = new DocumentBuilder(source)
  const items = list === null ? [] : itemsOf(list, draft)
  if (map === null || list === null || list.tasks.length === 0) {
    const hint = 'a tasks.json holds {"tasks": [{"id": 1, "title": "…"}]}, perhaps under a tag such as "master"'
    draft.refuse({ path: [], message: 'there is no list of tasks', hint })
    return draft.reading({})
  }
  if (items.length === 0) return draft.reading({})
  const names = new Names(items.map(item => item.id))
  const nameOf = (item: Item): TaskName => names.name(item.id) as TaskName
  const members = items.map(item => ({
    name: nameOf(item),
    of: item.parent === null ? null : nameOf(item.parent),
    hard: hardNeeds(item, names, draft),
  }))
  const stand = standings(members)
  const needs = settleNeeds(stand)
  const parents = new Map(members.map(member => [member.name, member.of]))
  const ids = new Map(items.map(item => [nameOf(item), item.raw.id!]))
  const tasks = items.map((item, index) => {
    const { raw, path } = item
    const { name, of } = members[index]!
    const soft = new Set(stand[index]!.soft)
    draft.trace.mark(['tasks', index], { path })
    for (const [ours, theirs] of PLACES)
      if (Object.hasOwn(raw, theirs)) draft.trace.mark(['tasks', index, ours], { path: [...path, theirs] })
    const status = STATUS.read(raw.status ?? 'pending')
    if (!status.ok) draft.refuse({ path: [...path, 'status'], message: status.message, hint: status.hint })
    const now = status.ok ? status.status : 'pending'
    const over = endedStatus(now)
    if (over !== null) draft.ended.set(name, over)
    if (now === 'running') draft.underWay.add(name)
    const said = defined({
      title: textOf(raw.title),
      description: textOf(raw.description),
      needs: nonEmpty(needs.get(name)),
      instruction: textOf(raw.details),
      priority: typeof raw.priority === 'string' ? PRIORITY.get(raw.priority) : undefined,
      accept: textOf(raw.testStrategy) === undefined ? undefined : [raw.testStrategy!],
    })
    const values = record(said, {
      id: of === null || !name.startsWith(`${of}.`) ? name : name.slice(of.length + 1),
      status: over ?? 'pending',
      dependencies: dependencyIds(
        name,
        (needs.get(name) ?? []).filter(need => !soft.has(need)),
        parents,
        ids,
      ),
      subtasks: isList(raw.subtasks) && raw.subtasks.length > 0 ? raw.subtasks : of === null ? [] : null,
    })
    const kept = { ...(of === null ? {} : { [OF]: of }), ...keepsake(raw, values, TASK) }
    return defined({ id: name, ...said, extra: Object.keys(kept).length === 0 ? undefined : { [NAME]: kept } })
  })
  const metadata = list.record.metadata
  const goal = isMap(metadata) ? textOf(metadata.description) : undefined
  const kept = defined({
    bare: list.tag === null ? true : undefined,
    tag: list.tag === null || list.tag === 'master' ? undefined : list.tag,
    list: keepsake(list.record, listRecord(list.tasks, goal, {}), LIST),
    file: list.tag === null ? undefined : keepsake(map, { [list.tag]: list.record }, FILE),
    indent: indentOf(source.text),
    newline: source.text.endsWith('\n') ? undefined : false,
  })
  otherTags(map, list, draft)
  return draft.reading(
    defined({ planfold: 1, goal, extra: Object.keys(kept).length === 0 ? undefined : { [NAME]: kept }, tasks }),
  )
}

/** Where a complaint about one of our keys is told. */
const PLACES: readonly (readonly [string, string])[] = [
  ['id', 'id'],
  ['title', 'title'],
  ['description', 'description'],
  ['needs', 'dependencies'],
  ['instruction', 'details'],
  ['priority', 'priority'],
  ['accept', 'testStrategy'],
]

function itemsOf({ tag, tasks }: List, draft: DocumentBuilder): readonly Item[] {
  const items: Item[] = []
  const add = (raw: Json, path: Path, parent: Item | null): Item | null => {
    const id = isMap(raw) ? raw.id : undefined
    if (!isMap(raw) || !((typeof id === 'string' && id !== '') || typeof id === 'number')) {
      draft.refuse({
        path,
        message: 'this task has no id',
        hint: 'give it a number that no other task here has: "id": 7',
      })
      return null
    }
    const item = {
      raw,
      path,
      id: parent === null || String(id).startsWith(`${parent.id}.`) ? String(id) : `${parent.id}.${id}`,
      parent,
    }
    items.push(item)
    return item
  }
  const base = tag === null ? ['tasks'] : [tag, 'tasks']
  for (const [index, raw] of tasks.entries()) {
    const item = add(raw, [...base, index], null)
    const subtasks = item?.raw.subtasks
    if (item === null || subtasks === undefined || subtasks === null) continue
    if (isList(subtasks)) for (const [at, sub] of subtasks.entries()) add(sub, [...item.path, 'subtasks', at], item)
    else draft.refuse({ path: [...item.path, 'subtasks'], message: "'subtasks' is not a list", hint: 'write [ … ]' })
  }
  return items
}

/** A number in a subtask means its sibling; where there is none, a task. `1.2` is always the subtask. */
function hardNeeds(item: Item, names: Names, draft: DocumentBuilder): readonly TaskName[] {
  const { dependencies } = item.raw
  if (dependencies === undefined || dependencies === null) return []
  if (!isList(dependencies)) {
    draft.refuse({
      path: [...item.path, 'dependencies'],
      message: "'dependencies' is not a list",
      hint: 'write the ids in a list: [1, "2.1"]',
    })
    return []
  }
  return dependencies.map(id => {
    const sibling = item.parent === null || String(id).includes('.') ? null : `${item.parent.id}.${id}`
    return names.name(sibling !== null && names.has(sibling) ? sibling : id) as TaskName
  })
}

/** 2 unless the text shows something else. */
function indentOf(text: string): Json | undefined {
  const indent = /^\s*\{\r?\n([ \t]+)"/.exec(text)?.[1]
  if (indent === undefined) return text.includes('\n') ? undefined : 0
  return indent === '  ' ? undefined : indent.slice(0, 10)
}

function otherTags(map: JsonObject, { tag }: List, draft: DocumentBuilder): void {
  const others = tag === null ? [] : Object.keys(map).filter(key => key !== tag && isMap(map[key]))
  if (others.length === 0) return
  const message = `the plan is made of the list '${tag}'; ${others.map(key => `'${key}'`).join(', ')}: kept, not read`
  draft.warn([], message, 'put a list into a file of its own to import it, too')
}
