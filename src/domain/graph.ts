// Graph rules: names are unique, references exist, `needs` has no cycle. Every fault names the task; a cycle comes with its
// path. Iterative throughout: a chain of 20,000 tasks must not exhaust the stack, and a bad graph must not loop for ever.

import type { TaskName } from './id.ts'
import { TASKS_MAX } from './limits.ts'
import type { PlanDefinition, TaskDefinition } from './plan.ts'
import { scopesOverlap } from './scope.ts'
import { suggest } from './suggest.ts'

export interface GraphFault {
  readonly code: 'empty' | 'limit' | 'duplicate' | 'unknown-reference' | 'cycle' | 'policy'
  readonly message: string
  readonly hint?: string
  readonly task?: TaskName
  /** The key of the task that is at fault, for finding its place in the document. */
  readonly key?: 'id' | 'needs' | 'on' | 'write'
  /** The tasks of a cycle, the first repeated at the end. */
  readonly path?: readonly TaskName[]
}

/** The name of the task made from the plan's `done` list. */
export const DONE_TASK = 'done' as TaskName

/** Looking for the nearest name is dear; nobody reads the hint of the hundredth fault. */
const SUGGESTIONS_MAX = 20

export function checkGraph(definition: PlanDefinition): readonly GraphFault[] {
  const faults: GraphFault[] = []
  const { tasks } = definition
  if (tasks.length === 0) {
    return [
      {
        code: 'empty',
        message: 'the plan has no tasks',
        hint: 'add at least one task: an empty plan is never complete',
      },
    ]
  }
  if (tasks.length > TASKS_MAX) {
    return [
      {
        code: 'limit',
        message: `the plan has ${tasks.length} tasks, more than ${TASKS_MAX}`,
        hint: 'split it into several plans',
      },
    ]
  }
  const byName = new Map<TaskName, TaskDefinition>()
  for (const task of tasks) {
    if (byName.has(task.id)) {
      faults.push({
        code: 'duplicate',
        message: `two tasks are called '${task.id}'`,
        hint: 'give one of them another id',
        task: task.id,
        key: 'id',
      })
    }
    if (task.id === DONE_TASK && (definition.done?.length ?? 0) > 0) {
      faults.push({
        code: 'duplicate',
        message: "a task is called 'done', which is the task made from the plan's `done` list",
        hint: 'rename the task',
        task: task.id,
        key: 'id',
      })
    }
    byName.set(task.id, task)
  }
  for (const task of tasks) {
    for (const need of task.needs ?? []) unknown(task, 'needs', need)
    for (const targets of Object.values(task.on ?? {})) for (const target of targets) unknown(task, 'on', target)
  }
  const allowed = definition.policy?.write
  for (const task of tasks) {
    const beyond = allowed === undefined ? undefined : task.write?.find(pattern => !scopesOverlap([pattern], allowed))
    if (beyond === undefined) continue
    faults.push({
      code: 'policy',
      message: `task '${task.id}' wants to write '${beyond}', which the plan's policy.write does not allow`,
      hint: 'a task may narrow the policy, never widen it',
      task: task.id,
      key: 'write',
    })
  }
  const cycle = findCycle(tasks, byName)
  if (cycle !== null) {
    faults.push({
      code: 'cycle',
      message: `tasks need each other in a circle: ${cycle.join(' → ')}`,
      hint: 'remove one of these `needs`; to go back on an outcome, use `on:`',
      task: cycle[0]!,
      key: 'needs',
      path: cycle,
    })
  }
  return faults

  function unknown(task: TaskDefinition, key: 'needs' | 'on', name: TaskName): void {
    if (byName.has(name)) return
    const near = faults.length < SUGGESTIONS_MAX ? suggest(name, byName.keys()) : null
    faults.push({
      code: 'unknown-reference',
      message: `task '${task.id}' ${key === 'needs' ? 'needs' : 'routes to'} '${name}', which does not exist`,
      hint: near === null ? 'name a task of this plan' : `did you mean '${near}'?`,
      task: task.id,
      key,
    })
  }
}

/** Kahn's algorithm; what is left over holds a cycle, found by walking `needs` inside it. */
function findCycle(tasks: readonly TaskDefinition[], byName: ReadonlyMap<TaskName, TaskDefinition>): TaskName[] | null {
  const unmet = new Map<TaskName, number>()
  const dependants = new Map<TaskName, TaskName[]>()
  for (const task of byName.values()) {
    const needs = new Set((task.needs ?? []).filter(need => byName.has(need)))
    unmet.set(task.id, needs.size)
    for (const need of needs) {
      const list = dependants.get(need)
      if (list === undefined) dependants.set(need, [task.id])
      else list.push(task.id)
    }
  }
  const free = tasks.filter(task => unmet.get(task.id) === 0).map(task => task.id)
  while (free.length > 0) {
    const name = free.pop()!
    if (!unmet.delete(name)) continue
    for (const dependant of dependants.get(name) ?? []) {
      const left = (unmet.get(dependant) ?? 0) - 1
      unmet.set(dependant, left)
      if (left === 0) free.push(dependant)
    }
  }
  const start = tasks.find(task => unmet.has(task.id))
  if (start === undefined) return null
  const seen = new Map<TaskName, number>()
  const path: TaskName[] = []
  for (let name = start.id; ; ) {
    const at = seen.get(name)
    if (at !== undefined) {
      const circle = path.slice(at).reverse()
      return [...circle, circle[0]!]
    }
    seen.set(name, path.length)
    path.push(name)
    name = byName.get(name)!.needs!.find(need => unmet.has(need))!
  }
}
