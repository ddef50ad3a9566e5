// Expands the tasks as written into the tasks that run. A task with a sub-plan, a `matrix` or a `for_each` becomes a group: it keeps
// its name and its place in the graph, waits for its children, and collects their outputs.
//
//   build (subplan: lint, test needs lint)    ->  build ← build/lint, build/test       build/test needs build/lint
//   test (matrix: os 2, node 2)               ->  test  ← test/1 … test/4              row by row, the first axis slowest
//   fix (for_each: tasks.scan.outputs.files)  ->  fix   ← fix/items, then fix/1 …      fix/items finds out how many
//
// Children without `needs` inherit those of their group. An outcome edge to a group leads to its first children, so that a loop to
// a group repeats all of it. A child that only compensates another task belongs to no group: no group waits for it, and it waits for
// nothing.
//
// A child of a sub-plan inherits missing fields from its group, as `TASK_FIELDS` says (`inherit`); `env` is merged; `when` is joined
// by `&&`; `preconditions` are added to those of the first children. The children of a `matrix` or a `for_each` have the whole definition; only
// the edge `on.success` stays with the group, because it applies once, when all are done.

import { mergedBy, mergeOf } from '../actions/git-action.ts'
import type { TaskName } from '../id.ts'
import type { Json, JsonObject } from '../json.ts'
import { ITEMS_MAX, TASKS_MAX } from '../limits.ts'
import type { Bound, FailureMode, Matrix, PlanDefinition, RecoveryRule, TaskDefinition } from '../plan.ts'
import { withReviewers } from './reviewers.ts'
import { fieldsWhere } from './task-fields.ts'

// A remedy: a task that a rule of `recover` leads to, as an alternate or a repair. It is dormant until then, even with `needs`, unless
// the task it helps comes after it anyway.

export const remedyIn = (rule: RecoveryRule): TaskName | null =>
  rule.do.type === 'alternate' || rule.do.type === 'repair' ? rule.do.task : null

export function remediesOf({ recover }: TaskDefinition): readonly TaskName[] {
  if (recover === undefined) return NONE
  return recover.map(remedyIn).filter(name => name !== null)
}

const NONE: readonly TaskName[] = []

/** Renames the targets of recovery rules. Tasks that a rule would add are mapped by `added`, if given. */
export function withRemedies(
  rules: readonly RecoveryRule[],
  named: (name: TaskName) => TaskName,
  added: (tasks: readonly TaskDefinition[]) => readonly TaskDefinition[] = tasks => tasks,
): readonly RecoveryRule[] {
  return rules.map(rule => {
    const { do: way } = rule
    if (way.type === 'alternate' || way.type === 'repair') return { ...rule, do: { ...way, task: named(way.task) } }
    return way.type === 'replan' && way.add !== undefined ? { ...rule, do: { ...way, add: added(way.add) } } : rule
  })
}

// A compensating task: `compensate: { task: undo-push }`. It is dormant; only the engine activates it, to undo the other task.

export function compensatorOf({ compensate }: TaskDefinition): TaskName | null {
  return compensate?.type === 'task' ? compensate.task : null
}

export function compensatorsAmong(tasks: Iterable<TaskDefinition>): ReadonlySet<TaskName> {
  const found = new Set<TaskName>()
  for (const task of tasks) {
    const by = compensatorOf(task)
    if (by !== null) found.add(by)
  }
  return found
}

function rowsOf(task: TaskDefinition): readonly Bound[] {
  if (task.forEach !== undefined) return (task.forEach.items ?? []).map((item, index) => ({ item, index }))
  const matrix = task.matrix ?? {}
  const count = Math.min(combinations(matrix), ITEMS_MAX + 1)
  return Array.from({ length: count }, (_, index) => ({ index, matrix: combination(matrix, index) }))
}

function combination(matrix: Matrix, index: number): JsonObject {
  const values: [string, Json][] = []
  let left = index
  for (const [axis, list] of Object.entries(matrix).reverse()) {
    values.push([axis, list[left % list.length]!])
    left = Math.floor(left / list.length)
  }
  return Object.fromEntries(values.reverse())
}

function titled(task: TaskDefinition, row: Bound): { readonly title?: string } {
  const values: readonly (readonly [string, Json | undefined])[] = Object.entries(row.matrix ?? { '': row.item })
  const words = values.flatMap(([axis, value]) => {
    if (typeof value === 'string') return [value]
    return typeof value === 'number' || typeof value === 'boolean' ? [`${axis} ${value}`.trim()] : []
  })
  const label = words.join(', ').replaceAll(/\s+/g, ' ').slice(0, 60)
  if (label === '') return {}
  return { title: task.title === undefined ? label : `${task.title} (${label})` }
}

export const combinations = (matrix: Matrix): number =>
  Object.values(matrix).reduce((product, values) => Math.min(product * values.length, Number.MAX_SAFE_INTEGER), 1)

/** The flat list of tasks for the state of a plan. A plan without structure is returned as it is. */
export function expandTasks(definition: PlanDefinition): readonly TaskDefinition[] {
  if (!definition.tasks.some(isStructured)) return withReviewers(definition.tasks)
  const top: Scope = { prefix: '', outer: null }
  const flat: Flat = { tasks: [], scopes: [], bare: new Set(), remedies: new Set() }
  for (const task of definition.tasks) {
    if ((task.needs?.length ?? 0) === 0) flat.bare.add(task.id)
    place(flat, task, task.id, task.needs, top)
  }
  const byName = new Map(flat.tasks.map(task => [task.id, task]))
  const sleeping = new Set<TaskName>()
  const routed = flat.tasks.map((task, at) => lead(task, flat.scopes[at]!, byName, flat, sleeping))
  const led = routed.map(task =>
    sleeping.has(task.id) && task.needs !== undefined ? { ...task, sleeps: true as const } : task,
  )
  const referring = led.map((task, at) => refer(task, flat.scopes[at]!, byName))
  return withReviewers(apart(referring, compensatorsAmong(referring)))
}

export const isStructured = (task: TaskDefinition): boolean => task.action.type === 'subplan' || isMultiplied(task)

export const isMultiplied = (task: TaskDefinition): boolean => task.forEach !== undefined || task.matrix !== undefined

/** Short names resolve among the siblings, then among those of each enclosing group. */
export interface Scope {
  readonly prefix: string
  readonly outer: Scope | null
}

/** The full name of the target of an outcome edge; null for none. */
export function resolveTarget(name: TaskName, scope: Scope, has: (name: TaskName) => boolean): TaskName | null {
  for (let at: Scope | null = scope; at !== null; at = at.outer) {
    const full = `${at.prefix}${name}` as TaskName
    if (has(full)) return full
  }
  return null
}

interface Flat {
  readonly tasks: TaskDefinition[]
  readonly scopes: Scope[]
  readonly bare: Set<TaskName>
  /** Names, as written, of remedies whose task is unknown yet: they are dormant. */
  readonly remedies: Set<TaskName>
}

type Names = readonly TaskName[] | undefined

function place(flat: Flat, task: TaskDefinition, full: TaskName, needs: Names, scope: Scope): void {
  // Bounded even when `checkGraph` was not called first.
  if (flat.tasks.length > TASKS_MAX) return
  if (!isMultiplied(task)) return placeOne(flat, task, full, needs, scope)
  const { forEach, matrix: _, ...whole } = task
  const rows = rowsOf(task)
  const children = rows.map((_, at) => `${full}/${at + 1}` as TaskName)
  const finder = forEach?.in === undefined ? null : (`${full}/items` as TaskName)
  const awaited = finder === null ? children : [finder, ...children]
  const leads = rows.length === 0 ? [...targetsOf(task), ...undoersOf(task)] : []
  if (rows.length === 0) for (const name of remediesWithin(task)) flat.remedies.add(name)
  const join = { ...joinOfMany(task), ...(leads.length === 0 ? {} : { leads }) }
  push(flat, { ...join, id: full, action: { type: 'group', children } }, orElse(awaited, needs), scope)
  if (finder !== null) push(flat, finderOf(task, finder, full), needs, scope)
  else if (flat.bare.has(full)) for (const child of children) flat.bare.add(child)
  const instance = { ...whole, ...edgesOfOne(task) }
  for (const [at, row] of rows.entries()) {
    const child = { ...instance, ...titled(task, row), bound: { ...task.bound, ...row } }
    placeOne(flat, child, children[at]!, finder === null ? needs : [finder], scope)
  }
}

/** Every target of a task's children, including those of its sub-plan. */
function targetsOf(task: TaskDefinition): readonly TaskName[] {
  const modes = (task.failureModes ?? []).flatMap(mode => mode.recover ?? [])
  const own = [...Object.values(task.on ?? {}).flat(), ...modes, ...remediesOf(task)]
  return task.action.type === 'subplan' ? [...own, ...task.action.tasks.flatMap(targetsOf)] : own
}

function remediesWithin(task: TaskDefinition): readonly TaskName[] {
  const own = remediesOf(task)
  return task.action.type === 'subplan' ? [...own, ...task.action.tasks.flatMap(remediesWithin)] : own
}

function undoersOf(task: TaskDefinition): readonly TaskName[] {
  const by = compensatorOf(task)
  const own = by === null ? [] : [by]
  if (task.action.type !== 'subplan') return own
  const inside = new Set(task.action.tasks.map(({ id }) => id))
  return [...own, ...task.action.tasks.flatMap(undoersOf).filter(name => !inside.has(name))]
}

function placeOne(flat: Flat, task: TaskDefinition, full: TaskName, needs: Names, scope: Scope): void {
  const { action } = task
  if (action.type !== 'subplan') return push(flat, { ...task, id: full }, needs, scope)
  const inner: Scope = { prefix: `${full}/`, outer: scope }
  const children = action.tasks.map(child => `${full}/${child.id}` as TaskName)
  push(flat, { ...joinOfSteps(task), id: full, action: { type: 'group', children } }, orElse(children, needs), scope)
  for (const [at, child] of action.tasks.entries()) {
    const begins = (child.needs?.length ?? 0) === 0
    const own = begins ? needs : child.needs!.map(name => `${full}/${name}` as TaskName)
    if (begins) flat.bare.add(children[at]!)
    place(flat, inherit(child, task, begins), children[at]!, own, inner)
  }
}

function push(flat: Flat, task: TaskDefinition, needs: Names, scope: Scope): void {
  const { needs: _, ...rest } = task
  flat.tasks.push(needs === undefined ? rest : { ...rest, needs })
  flat.scopes.push(scope)
}

const orElse = (names: readonly TaskName[], otherwise: Names): Names => (names.length === 0 ? otherwise : names)

function joinOfSteps(task: TaskDefinition): TaskDefinition {
  return Object.fromEntries(Object.entries(task).filter(([key]) => !GIVEN_AWAY.has(key))) as unknown as TaskDefinition
}

const GIVEN_AWAY: ReadonlySet<string> = new Set(
  fieldsWhere(({ inherit }) => inherit === 'moved' || inherit === 'joined'),
)

/** The group of a `matrix` or `for_each`; the children have the fields of the task. */
function joinOfMany(task: TaskDefinition): Omit<TaskDefinition, 'id' | 'action'> {
  const success = task.on !== undefined && Object.hasOwn(task.on, 'success') ? task.on.success : undefined
  return {
    ...pick(task, SHARED),
    ...(success === undefined || picksItsWay(task) ? {} : { on: { success } }),
    ...pick(task, ['bound']),
  }
}

const SHARED = fieldsWhere(({ shared }) => shared === true)

function pick(task: TaskDefinition, names: readonly (keyof TaskDefinition)[]): Partial<TaskDefinition> {
  return Object.fromEntries(names.filter(name => task[name] !== undefined).map(name => [name, task[name]]))
}

function edgesOfOne(task: TaskDefinition): Pick<TaskDefinition, 'on'> {
  if (task.on === undefined || picksItsWay(task)) return {}
  const { success: _, ...on } = task.on
  return { on }
}

/** A decision has an edge for every answer, without which it would fail. */
const picksItsWay = ({ action }: TaskDefinition): boolean => action.type === 'decide'

/** Has the group's condition, unless that reads the item. A failure to find items is routed like a failing child. */
function finderOf(task: TaskDefinition, id: TaskName, of: TaskName): TaskDefinition {
  const { when, recover } = task
  const asked = when === undefined || /\b(?:item|index)\b/.test(when) ? {} : { when }
  return {
    id,
    title: `Items of ${task.title ?? of}`,
    action: { type: 'items', in: task.forEach?.in ?? '[]', of },
    ...asked,
    ...edgesOfOne(task),
    ...pick(task, ['optional', 'priority', 'milestone', 'retry', 'visits']),
    recover: recover?.filter(rule => remedyIn(rule) === null),
    bound: task.bound,
  }
}

const INHERITED = fieldsWhere(({ inherit }) => inherit === 'copied' || inherit === 'moved')

function inherit(child: TaskDefinition, group: TaskDefinition, begins: boolean): TaskDefinition {
  const given: { -readonly [K in keyof TaskDefinition]?: TaskDefinition[K] } = {}
  for (const key of INHERITED)
    if (child[key] === undefined && group[key] !== undefined) Object.assign(given, { [key]: group[key] })
  if (group.env !== undefined) given.env = { ...group.env, ...child.env }
  if (group.when !== undefined)
    given.when = child.when === undefined ? group.when : `(${group.when}) && (${child.when})`
  if (begins && group.preconditions !== undefined)
    given.preconditions = [...group.preconditions, ...(child.preconditions ?? [])]
  if (group.bound !== undefined) given.bound = group.bound
  return { ...child, ...given }
}

type ByName = ReadonlyMap<TaskName, TaskDefinition>

/** Resolves outcome edges. Targets without `needs` become dormant. */
function lead(
  task: TaskDefinition,
  scope: Scope,
  byName: ByName,
  { bare, remedies }: Flat,
  sleeping: Set<TaskName>,
): TaskDefinition {
  const { on, failureModes, leads, recover } = task
  const leadsOn = on !== undefined || leads !== undefined || recover !== undefined
  if (!leadsOn && !failureModes?.some(mode => mode.recover !== undefined)) return task
  const full = (name: TaskName): TaskName => resolveTarget(name, scope, one => byName.has(one)) ?? name
  const led = (names: readonly TaskName[]): readonly TaskName[] => {
    const targets = names.flatMap(name => {
      const target = full(name)
      const first = beginnings(target, byName)
      if (bare.has(target) || remedies.has(name)) for (const one of first) sleeping.add(one)
      return first
    })
    return [...new Set(targets)]
  }
  // A rule keeps the name of a group, because it waits for all of it; the group's first children are dormant.
  const helping = remediesOf(task).map(full)
  const begun = helping.flatMap(name => beginnings(name, byName))
  for (const one of begun) sleeping.add(one)
  const leading = [...led(leads ?? []), ...begun.filter(one => !helping.includes(one))]
  const recovering = (mode: FailureMode): FailureMode =>
    mode.recover === undefined ? mode : { ...mode, recover: led(mode.recover) }
  return {
    ...task,
    ...(on === undefined
      ? {}
      : { on: Object.fromEntries(Object.entries(on).map(([outcome, names]) => [outcome, led(names)])) }),
    ...(failureModes === undefined ? {} : { failureModes: failureModes.map(recovering) }),
    ...(recover === undefined ? {} : { recover: withRemedies(recover, full) }),
    ...(leads === undefined && leading.length === 0 ? {} : { leads: leading }),
  }
}

/** The task itself, or the children of a group that need no other child. */
function beginnings(name: TaskName, byName: ByName): readonly TaskName[] {
  const task = byName.get(name)
  if (task?.action.type !== 'group') return [name]
  const among = new Set<TaskName>(task.needs)
  const first = [...among].filter(
    child => child.startsWith(`${name}/`) && !byName.get(child)?.needs?.some(need => among.has(need)),
  )
  return first.length === 0 ? [name] : first.flatMap(child => beginnings(child, byName))
}

function refer(task: TaskDefinition, scope: Scope, byName: ByName): TaskDefinition {
  const by = compensatorOf(task)
  const merged = mergedBy(task.action)
  if (by === null && merged === null) return task
  const full = (name: TaskName): TaskName => resolveTarget(name, scope, one => byName.has(one)) ?? name
  return {
    ...task,
    ...(merged === null ? {} : { action: mergeOf(task.action, full(merged)) }),
    ...(by === null ? {} : { compensate: { type: 'task', task: full(by) } }),
  }
}

/** Compensating tasks are dormant: groups do not wait for them, and they do not wait for what groups need. */
function apart(tasks: readonly TaskDefinition[], undoers: ReadonlySet<TaskName>): readonly TaskDefinition[] {
  if (undoers.size === 0) return tasks
  const inherited = new Map<TaskName, readonly TaskName[]>()
  for (const { id, needs } of tasks) if (undoers.has(id)) inherited.set(id, needs ?? [])
  return tasks.map(task => {
    const { needs, ...rest } = task
    if (undoers.has(task.id)) return rest
    if (task.action.type !== 'group' || needs === undefined || !needs.some(name => undoers.has(name))) return task
    const others = needs.filter(name => !undoers.has(name))
    const waits = others.length > 0 ? others : needs.flatMap(name => inherited.get(name) ?? [])
    const children = task.action.children.filter(name => !undoers.has(name))
    return { ...rest, action: { type: 'group', children }, ...(waits.length === 0 ? {} : { needs: waits }) }
  })
}
