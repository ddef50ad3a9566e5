// The tasks of a plan as written, including sub-plans, each with its full name; and the faults that are found before expansion: nesting too
// deep, too many tasks, or a list inside a list.

import { NAME_MAX, type TaskName } from '../id.ts'
import { ITEMS_MAX, SUBPLAN_DEPTH_MAX } from '../limits.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import { tasksHint, tasksMax } from '../recovery/breaker.ts'
import { combinations, isMultiplied, isStructured, type Scope } from './expand.ts'

type FaultKey =
  | ('id' | 'needs' | 'on' | 'write' | 'failure_modes' | 'for_each' | 'matrix' | 'subplan')
  | ('compensate' | 'git' | 'recover' | 'review' | 'tries')
  | ('accept' | 'preconditions' | 'postconditions' | 'gate')

export interface GraphFault {
  readonly code: 'empty' | 'limit' | 'duplicate' | 'unknown-reference' | 'cycle' | 'policy' | 'structure'
  readonly message: string
  readonly hint?: string
  readonly task?: TaskName
  /** The key at fault, for its position in the document. */
  readonly key?: FaultKey
  /** The place below that key. */
  readonly at?: readonly (string | number)[]
  /** The tasks of a cycle, the first repeated at the end. */
  readonly path?: readonly TaskName[]
}

export interface Written {
  readonly task: TaskDefinition
  /** Its name after expansion; below a `matrix` or a `for_each`, that of the first child. */
  readonly name: TaskName
  readonly scope: Scope
  readonly siblings: readonly TaskDefinition[]
}

export function* writtenTasks(definition: PlanDefinition): Generator<Written> {
  yield* within(definition.tasks, { prefix: '', outer: null }, 0)
}

function* within(siblings: readonly TaskDefinition[], scope: Scope, depth: number): Generator<Written> {
  if (depth > SUBPLAN_DEPTH_MAX) return
  for (const task of siblings) {
    const name = `${scope.prefix}${task.id}` as TaskName
    yield { task, name, scope, siblings }
    if (task.action.type !== 'subplan') continue
    const prefix = isMultiplied(task) ? `${name}/1/` : `${name}/`
    yield* within(task.action.tasks, { prefix, outer: scope }, depth + 1)
  }
}

/** Faults that make it unsafe to expand the plan. */
export function structureFaults(definition: PlanDefinition): readonly GraphFault[] {
  if (!definition.tasks.some(isStructured)) return []
  const faults: GraphFault[] = []
  const total = sizeOf(definition.tasks, '', 0, null)
  const max = tasksMax(definition)
  if (total > max && faults.length === 0) {
    faults.push({
      code: 'limit',
      message: `the plan becomes ${total === Number.POSITIVE_INFINITY ? 'endlessly many' : total} tasks, more than ${max}`,
      hint: tasksHint(definition),
    })
  }
  return faults

  function sizeOf(tasks: readonly TaskDefinition[], prefix: string, depth: number, many: TaskName | null): number {
    if (depth > SUBPLAN_DEPTH_MAX) {
      faults.push({
        code: 'limit',
        message: `subplans are nested more than ${SUBPLAN_DEPTH_MAX} deep`,
        hint: 'flatten them, or make another plan',
        task: prefix.slice(0, -1) as TaskName,
        key: 'subplan',
      })
      return 0
    }
    let total = 0
    for (const task of tasks) {
      const name = `${prefix}${task.id}` as TaskName
      const rows = isMultiplied(task) ? rowsOf(task, name, many) : 1
      const multiplied = isMultiplied(task)
      const first = multiplied ? `${name}/1` : name
      if (`${name}/${multiplied ? rows : ''}`.length - 1 > NAME_MAX) tooLong(name)
      const inner =
        task.action.type === 'subplan'
          ? 1 + sizeOf(task.action.tasks, `${first}/`, depth + 1, multiplied ? name : many)
          : 1
      total += multiplied ? 2 + Math.max(1, rows) * inner : inner
    }
    return Math.min(total, Number.MAX_SAFE_INTEGER)
  }

  function rowsOf(task: TaskDefinition, name: TaskName, many: TaskName | null): number {
    const { forEach, matrix } = task
    const key = forEach === undefined ? 'matrix' : 'for_each'
    if (forEach !== undefined && matrix !== undefined) {
      faults.push({
        code: 'structure',
        message: `task '${name}' has both 'for_each' and a 'matrix'`,
        hint: 'put one of them into a subplan of the other',
        task: name,
        key: 'matrix',
      })
    }
    if (forEach?.in !== undefined && many !== null) {
      faults.push({
        code: 'structure',
        message: `'for_each' of '${name}' is an expression inside '${many}', which is several tasks itself`,
        hint: `write its items out, or let it stand beside '${many}'`,
        task: name,
        key,
      })
    }
    const rows = forEach === undefined ? combinations(matrix ?? {}) : (forEach.items?.length ?? 0)
    if (rows <= ITEMS_MAX) return rows
    faults.push({
      code: 'limit',
      message: `'${key}' of '${name}' makes ${rows} tasks, more than ${ITEMS_MAX}`,
      hint: 'split it into several tasks or plans',
      task: name,
      key,
    })
    return 1
  }

  function tooLong(name: TaskName): void {
    faults.push({
      code: 'limit',
      message: `the name '${name.slice(0, 60)}…' and what stands below it become longer than ${NAME_MAX} characters`,
      hint: 'shorten the ids of the groups around it',
      task: name,
      key: 'id',
    })
  }
}
