// Prints a plan in the format of PlanStore: numbered steps, in sequence or with `depends_on`.

import type { TaskName } from '../../../domain/id.ts'
import { defined, type Json, type JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import type { Dialect, Printed, StatusOf } from '../../../format/plan/dialect.ts'
import { printDuration } from '../../../format/text/units.ts'
import { TASK_WORDS } from '../../../format/wire/status-words.ts'
import { printReferences } from '../data-references.ts'
import { printed } from '../export-loss.ts'
import { idsToWrite } from '../names.ts'
import { needsByRank, ranksOf, sameNeeds } from './plan-steps-order.ts'
import { criteriaOf, isText, planStatusWord, taskStatusWord, withOthers } from './plan-steps-words.ts'

export function printPlanSteps(definition: PlanDefinition, status: StatusOf, read: Dialect['read']): Printed {
  const tasks = definition.tasks.filter(({ action }) => action.type !== 'verify')
  const order = isSequence(tasks) ? 'sequential' : 'parallel'
  const plan = defined({
    ...planWords(definition, status),
    plan_type: definition.extra?.plan_type ?? order,
    steps: steps(tasks, order, '', status),
  })
  return printed(`${JSON.stringify(plan, null, 2)}\n`, definition, status, read)
}

/** The fields of the plan itself, without its steps. Shared with other dialects. */
export function planWords(definition: PlanDefinition, status: StatusOf): JsonObject {
  const { name, title, goal, owner, session, labels, extra } = definition
  const { id, ...rest } = extra ?? {}
  const said = {
    id,
    name,
    title,
    goal,
    owner,
    session_id: session,
    labels,
    status: planStatusWord(definition, status) ?? undefined,
  }
  return withOthers(said, rest, ['status', 'steps', 'plan_type'])
}

/** Does every task need exactly the tasks before it? A plan with sub-plans is always called parallel. */
function isSequence(tasks: readonly TaskDefinition[]): boolean {
  if (tasks.some(({ action }) => action.type === 'subplan')) return false
  const needs = needsByRank(ranksOf(tasks.map(task => ({ item: task.id, mark: groupOf(task) }))))
  return tasks.every(task => sameNeeds(task.needs, needs.get(task.id)))
}

function steps(
  tasks: readonly TaskDefinition[],
  order: 'sequential' | 'parallel',
  prefix: string,
  status: StatusOf,
): readonly JsonObject[] {
  const written = idsToWrite(tasks.map(task => ({ id: task.id, text: wordsOf(task) })))
  const numbers = numbersOf(tasks)
  return tasks.map(task => {
    const name = `${prefix}${task.id}` as TaskName
    const { action, extra } = task
    const record = {
      step: prefix === '' ? numbers.get(task.id) : extra?.step,
      id: written.has(task.id) ? task.id : extra?.id,
      parallel_group: extra?.parallel_group,
      action: task.kind,
      title: task.title,
      description: task.description,
      agent: task.assignee,
      owner: task.owner,
      depends_on: order === 'sequential' ? undefined : dependsOn(task, prefix === '' ? numbers : new Map()),
      estimated_duration: task.estimateMs === undefined ? undefined : printDuration(task.estimateMs),
      priority: task.priority,
      labels: task.labels,
      command: printReferences(task.instruction),
      inputs: printReferences(task.inputs),
      acceptance_criteria: criteriaOf(task),
      actions: action.type === 'subplan' ? steps(action.tasks, 'parallel', `${name}/`, status) : undefined,
      status: taskStatusWord(TASK_WORDS, task, status(name)) ?? undefined,
    }
    return withOthers(record, extra, ['status', 'step'])
  })
}

/** The numbers that were read, or the positions if two would be equal. */
function numbersOf(tasks: readonly TaskDefinition[]): ReadonlyMap<TaskName, Json> {
  const given = tasks.map((task, index) => [task.id, task.extra?.step ?? index + 1] as const)
  const distinct = new Set(given.map(([, number]) => String(number))).size === tasks.length
  return new Map(distinct ? given : tasks.map((task, index) => [task.id, index + 1]))
}

function dependsOn(task: TaskDefinition, numbers: ReadonlyMap<TaskName, Json>): Json | undefined {
  if (task.needs === undefined) return undefined
  const refs = task.needs.map(need => {
    const number = numbers.get(need)
    // As text, a number must not equal the id of a task.
    const usable = typeof number === 'number' && !numbers.has(String(number) as TaskName)
    return usable ? number : need
  })
  return refs.length === 1 ? refs[0] : refs
}

/** The text from which reading derives the id; must agree with `plan-steps.ts`. */
function wordsOf(task: TaskDefinition): string {
  const group = task.extra?.parallel_group
  if (task.action.type === 'subplan' && isText(group)) return `group ${group}`
  return task.kind ?? task.title ?? task.description ?? ''
}

function groupOf(task: TaskDefinition): Json | undefined {
  const group = task.extra?.parallel_group
  return isText(group) && task.action.type !== 'subplan' ? group : undefined
}
