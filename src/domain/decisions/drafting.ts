// Tasks that come one by one into a draft. Each costs the same, however many are there: only plain tasks, which nobody can lead to
// and which change nothing about the others, are taken this way. Everything else is a revision.

import { tasksHint, tasksMax } from '../caps.ts'
import type { CommandOf } from '../command.ts'
import { compensatorOf } from '../compensator.ts'
import { mergedBy } from '../git-action.ts'
import { isTaskName } from '../id.ts'
import type { Action, TaskDefinition } from '../plan.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { scopesOverlap } from '../scope.ts'
import type { PlanState } from '../state.ts'
import { suggest } from '../suggest.ts'
import { type Draft, emit } from './draft.ts'

export function add(draft: Draft, { tasks }: CommandOf<'add'>): Refusal | undefined {
  const { state } = draft
  if (!isOpenTo(state, tasks))
    return refuse(
      'conflict',
      'these tasks cannot be added one by one to the plan as it is now',
      'revise the plan with the tasks in it',
    )
  const there = state.definition.tasks.length
  const max = tasksMax(state.definition)
  if (there + tasks.length > max)
    return refuse('limit', `the plan has ${there + tasks.length} tasks, more than ${max}`, tasksHint(state.definition))
  const earlier = new Set<string>()
  for (const task of tasks) {
    const refusal = refuseTask(state, task, earlier)
    if (refusal !== undefined) return refusal
    earlier.add(task.id)
  }
  if (tasks.length > 0) emit(draft, { type: 'task.added', tasks })
  return undefined
}

/** May they be added without looking at the rest of the plan? It is a draft in which every task stands for itself. */
export function isOpenTo({ status, order, definition }: PlanState, tasks: readonly TaskDefinition[]): boolean {
  return status === 'draft' && order.length === definition.tasks.length && tasks.every(isPlain)
}

/** Stands for itself and leads nowhere. */
function isPlain(task: TaskDefinition): boolean {
  if (task.forEach !== undefined || task.matrix !== undefined || task.on !== undefined || task.recover !== undefined)
    return false
  if (task.bound !== undefined || task.sleeps !== undefined || task.leads !== undefined) return false
  if (task.failureModes?.some(mode => mode.recover !== undefined) === true || task.id.includes('/')) return false
  return !STRUCTURES.has(task.action.type) && compensatorOf(task) === null && mergedBy(task.action) === null
}

const STRUCTURES: ReadonlySet<Action['type']> = new Set(['subplan', 'group', 'items', 'verify'])

function refuseTask(state: PlanState, task: TaskDefinition, earlier: ReadonlySet<string>): Refusal | undefined {
  const { id, needs = [], write = [] } = task
  if (!isTaskName(id)) return refuse('invalid', `'${String(id).slice(0, 60)}' cannot be the id of a task`, NAMES)
  if (state.tasks.has(id) || earlier.has(id))
    return refuse('duplicate', `two tasks are called '${id}'`, 'give one of them another id')
  if (needs.includes(id))
    return refuse('cycle', `tasks need each other in a circle: ${id} → ${id}`, 'remove one of these `needs`')
  const unknown = needs.find(name => !state.tasks.has(name) && !earlier.has(name))
  if (unknown !== undefined) {
    const near = suggest(unknown, [...state.tasks.keys(), ...earlier])
    return refuse(
      'unknown-reference',
      `task '${id}' needs '${unknown}', which does not exist`,
      near === null ? 'name a task of this plan' : `did you mean '${near}'?`,
    )
  }
  const allowed = state.definition.policy?.write
  const beyond = allowed === undefined ? undefined : write.find(pattern => !scopesOverlap([pattern], allowed))
  if (beyond === undefined) return undefined
  return refuse(
    'not-allowed',
    `task '${id}' wants to write '${beyond}', which the plan's policy.write does not allow`,
    'a task may narrow the policy, never widen it',
  )
}

const NAMES = 'use lower-case letters, digits and dashes'
