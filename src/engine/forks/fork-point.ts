// Where a fork starts: the entry, the tasks that had ended by then, and its definition. Pure; reads only the journal it is given.

import type { ImportedTask } from '../../domain/event.ts'
import type { TaskName } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import { suggest } from '../../domain/phrases.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { expandTasks } from '../../domain/plan-rules/expand.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import { evolve } from '../../domain/state/evolve.ts'
import { newState } from '../../domain/state/fold.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { outcomeTargets } from '../../domain/state/task-index.ts'
import type { Entry } from '../../stores/store.ts'
import type { ForkAsk } from '../orders.ts'
import { resolveEntry } from '../rollback/entry-reference.ts'

export interface ForkPoint {
  readonly version: number
  readonly then: PlanState
}

/** `from` as `resolveEntry` reads it: a task means where it last ended. */
export function forkPoint(entries: readonly Entry[], from: string): ForkPoint | Refusal {
  const found = resolveEntry(entries, from)
  if ('code' in found) return found
  const { version } = found
  const then = newState()
  for (const entry of entries) {
    if (entry.version > version) break
    for (const event of entry.events) evolve(then, event, entry.now)
    then.version = entry.version
  }
  return { version, then }
}

/**
 * Tasks that had ended stay ended, with their outputs: completed, skipped, or failed where the plan goes on without them. Tasks that had
 * failed for good, were cancelled or undone are open again.
 */
export function importedFrom(
  then: PlanState,
  definition: PlanDefinition,
  { gates }: Pick<ForkAsk, 'gates'> = {},
): readonly ImportedTask[] {
  const tasks = expandTasks(definition)
  const known = new Set(tasks.map(({ id }) => id))
  const undone = new Set(then.compensated)
  const hadEnded = (task: TaskState): boolean =>
    known.has(task.definition.id) &&
    task.definition.action.type !== 'verify' &&
    !undone.has(task.definition.id) &&
    (task.status === 'completed' ||
      task.status === 'skipped' ||
      (task.status === 'failed' && (task.handled || task.definition.optional === true)))
  const isEnded = (name: TaskName): boolean => {
    const task = then.tasks.get(name)
    return task !== undefined && hadEnded(task)
  }
  const again = gates === undefined ? null : askingAgain(tasks, isEnded)
  const stays = (task: TaskState): boolean => hadEnded(task) && again?.has(task.definition.id) !== true
  return then.order.flatMap((task): readonly ImportedTask[] => {
    const { id } = task.definition
    if (!known.has(id) || task.definition.action.type === 'verify') return []
    const routedBy = task.routedBy.filter(name => {
      const source = then.tasks.get(name)
      return source !== undefined && stays(source)
    })
    const led = routedBy.length === 0 ? {} : { routedBy }
    if (!stays(task)) return routedBy.length === 0 ? [] : [{ task: id, status: 'pending', ...led }]
    return [
      {
        task: id,
        status: task.status as ImportedTask['status'],
        ...(task.result === null ? {} : { result: task.result }),
        ...(task.handled ? { handled: true as const } : {}),
        ...led,
      },
    ]
  })
}

/** Gates that release work which is not done yet; if such a gate is the last task of a group, the group. */
function askingAgain(tasks: readonly TaskDefinition[], isEnded: (task: TaskName) => boolean): ReadonlySet<TaskName> {
  const groups = new Set(tasks.flatMap(({ id, action }) => (action.type === 'group' ? [id] : [])))
  const followers = new Map<TaskName, TaskName[]>()
  const follow = (from: TaskName, to: TaskName) => followers.set(from, [...(followers.get(from) ?? []), to])
  for (const task of tasks) {
    for (const need of task.needs ?? []) follow(need, task.id)
    for (const target of outcomeTargets(task)) follow(task.id, target)
  }
  const again = new Set<TaskName>()
  for (const { id, action } of tasks) {
    if (action.type !== 'gate') continue
    const walked = new Set([id])
    let isHolding = false
    for (const at of walked)
      for (const next of followers.get(at) ?? [])
        if (groups.has(next)) walked.add(next)
        else isHolding ||= !isEnded(next)
    if (isHolding) for (const one of walked) again.add(one)
  }
  return again
}

/** Inputs by `task.key`, of open tasks only. */
export function withInputs(
  definition: PlanDefinition,
  inputs: { readonly [place: string]: Json },
  ended: ReadonlySet<TaskName>,
): PlanDefinition | Refusal {
  const known = new Set(expandTasks(definition).map(({ id }) => id as string))
  let changed = definition
  for (const [place, value] of Object.entries(inputs)) {
    const dots = [...place.matchAll(/\./g)].map(({ index }) => index)
    const at = dots.findLast(dot => known.has(place.slice(0, dot)) && dot < place.length - 1)
    if (at === undefined) {
      const task = place.slice(0, dots[0] ?? place.length)
      if (known.has(task)) return refuse('invalid', `'${place}' names no input`, 'write --input task.key=value')
      const near = suggest(task, known)
      const hint = near === null ? 'write --input task.key=value' : `did you mean '${near}'?`
      return refuse('unknown-reference', `the plan has no task '${task}'`, hint)
    }
    const [task, key] = [place.slice(0, at) as TaskName, place.slice(at + 1)]
    if (ended.has(task))
      return refuse(
        'illegal-transition',
        `the task '${task}' has ended there, with the inputs it had`,
        `fork from before it, so that it is done again`,
      )
    const tasks = mapTask(changed.tasks, task, one => ({ ...one, inputs: { ...one.inputs, [key]: value } }))
    if (tasks === null)
      return refuse(
        'conflict',
        `'${task}' is one of several that were made of one task`,
        `change the inputs of '${task.slice(0, task.lastIndexOf('/'))}'`,
      )
    changed = { ...changed, tasks }
  }
  return changed
}

/** Changes one task of the definition; null if it was expanded from `for_each` or `matrix`. */
function mapTask(
  tasks: readonly TaskDefinition[],
  name: string,
  change: (task: TaskDefinition) => TaskDefinition,
): readonly TaskDefinition[] | null {
  const at = tasks.findIndex(
    ({ id, action }) => id === name || (action.type === 'subplan' && name.startsWith(`${id}/`)),
  )
  const found = tasks[at]
  if (found === undefined) return null
  if (found.id === name) return tasks.with(at, change(found))
  if (found.action.type !== 'subplan' || found.forEach !== undefined || found.matrix !== undefined) return null
  const inner = mapTask(found.action.tasks, name.slice(found.id.length + 1), change)
  return inner === null ? null : tasks.with(at, { ...found, action: { ...found.action, tasks: inner } })
}

export function withModel(
  definition: PlanDefinition,
  model: string,
  ended: ReadonlySet<TaskName>,
): PlanDefinition | Refusal {
  let [asking, changed] = [0, 0]
  const change = (tasks: readonly TaskDefinition[], above: string): readonly TaskDefinition[] =>
    tasks.map(task => {
      const { action } = task
      const name = `${above}${task.id}` as TaskName
      if (action.type === 'subplan') return { ...task, action: { ...action, tasks: change(action.tasks, `${name}/`) } }
      if (action.type !== 'model' && action.type !== 'agent') return task
      asking++
      if (ended.has(name)) return task
      changed++
      if (action.type === 'model') return { ...task, action: { ...action, spec: withUse(action.spec, model) } }
      return { ...task, action: { ...action, spec: { ...specOf(action.spec), model } } }
    })
  const tasks = change(definition.tasks, '')
  if (changed > 0) return { ...definition, tasks }
  return asking === 0
    ? refuse(
        'conflict',
        'nothing in this plan asks a model',
        'leave out --model; only tasks with `model` or `agent` do',
      )
    : refuse('illegal-transition', 'every task that asks a model has ended there', 'fork from before them')
}

const withUse = (spec: Json, use: string): Json =>
  typeof spec === 'object' && spec !== null && !Array.isArray(spec) ? { ...spec, use } : use

const specOf = (spec: Json): JsonObject =>
  typeof spec === 'object' && spec !== null && !Array.isArray(spec) ? (spec as JsonObject) : { use: spec }
