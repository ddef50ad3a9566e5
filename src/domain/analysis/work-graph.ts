// The tasks of a plan as a graph of numbers, built once for all analyses. It accepts invalid plans: unknown names are skipped, duplicates
// count once, and cycles stay, so readers must expect them.

import type { TaskName } from '../id.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import { compensatorOf, remediesOf } from '../plan-rules/expand.ts'

import { findDormant, newTask } from '../state/task-index.ts'

export interface WorkGraph {
  readonly definition: PlanDefinition
  /** Every task after expansion, in document order; the numbers below are indexes into this list. */
  readonly tasks: readonly TaskDefinition[]
  readonly at: ReadonlyMap<TaskName, number>
  readonly needs: readonly (readonly number[])[]
  readonly dependants: readonly (readonly number[])[]
  /** Outcome edges by source and by target, including those of failure modes. */
  readonly leads: readonly (readonly Lead[])[]
  readonly ledFrom: readonly (readonly Lead[])[]
  readonly dormant: readonly boolean[]
  /** The task that compensates each one (-1 for none), and the tasks that each one compensates. */
  readonly undoneBy: readonly number[]
  readonly undoes: readonly (readonly number[])[]
}

export interface Lead {
  readonly from: number
  readonly to: number
  readonly outcome: string
  /** From a rule of `recover`, which has its own bound. */
  readonly remedy?: true
}

export function workGraph(definition: PlanDefinition, given: readonly TaskDefinition[]): WorkGraph {
  const at = new Map<TaskName, number>()
  const tasks = given.filter(task => !at.has(task.id) && at.set(task.id, at.size))
  const needs = tasks.map(task => known(task.needs ?? [], at))
  const dependants: number[][] = tasks.map(() => [])
  for (const [task, list] of needs.entries()) for (const need of list) dependants[need]!.push(task)
  const leads: (readonly Lead[])[] = tasks.map(() => NOWHERE)
  const ledFrom: (readonly Lead[])[] = tasks.map(() => NOWHERE)
  let leadsAnywhere = false
  for (const [from, task] of tasks.entries()) {
    const { on, failureModes, recover, leads: begins } = task
    if (on === undefined && failureModes === undefined && recover === undefined && begins === undefined) continue
    const found: Lead[] = outcomesOf(task).flatMap(([outcome, targets]) =>
      known(targets, at).map(to => ({ from, to, outcome })),
    )
    for (const to of known([...remediesOf(task), ...(begins ?? [])], at))
      found.push({ from, to, outcome: 'failure', remedy: true })
    leads[from] = found
    for (const lead of found) {
      leadsAnywhere = true
      if (ledFrom[lead.to] === NOWHERE) ledFrom[lead.to] = [lead]
      else (ledFrom[lead.to] as Lead[]).push(lead)
    }
  }
  const undoneBy = tasks.map(task => {
    const by = compensatorOf(task)
    return by === null ? -1 : (at.get(by) ?? -1)
  })
  const undoes: (readonly number[])[] = tasks.map(() => NONE)
  for (const [task, by] of undoneBy.entries()) {
    if (by === -1) continue
    if (undoes[by] === NONE) undoes[by] = [task]
    else (undoes[by] as number[]).push(task)
  }
  const sleeps = leadsAnywhere || undoneBy.some(by => by !== -1)
  const dormant = sleeps ? dormantOf(tasks, dependants) : tasks.map(() => false)
  return { definition, tasks, at, needs, dependants, leads, ledFrom, undoneBy, undoes, dormant }
}

/** Most tasks have no outcome edges; they share one list. */
const NOWHERE: readonly Lead[] = []
const NONE: readonly number[] = []

export const isUndoing = ({ undoes }: WorkGraph, task: number): boolean => undoes[task]!.length > 0

export function outcomesOf(task: TaskDefinition): readonly (readonly [string, readonly TaskName[]])[] {
  const recoveries = (task.failureModes ?? []).map(({ name, recover }) => [name, recover ?? []] as const)
  return [...Object.entries(task.on ?? {}), ...recoveries]
}

/** The engine's own function, so that analysis and run agree on which tasks are dormant. */
function dormantOf(tasks: readonly TaskDefinition[], dependants: readonly (readonly number[])[]): readonly boolean[] {
  const order = tasks.map((task, index) => newTask(task, index + 1))
  for (const [index, task] of order.entries()) task.dependants = dependants[index]!.map(one => order[one]!)
  const dormant = findDormant({ order, tasks: new Map(order.map(task => [task.definition.id, task])) })
  return tasks.map(task => task.action.type !== 'verify' && dormant.has(task.id))
}

function known(names: readonly TaskName[], at: ReadonlyMap<TaskName, number>): readonly number[] {
  if (names.length < 2) {
    const index = names[0] === undefined ? undefined : at.get(names[0])
    return index === undefined ? [] : [index]
  }
  const found = new Set<number>()
  for (const name of names) {
    const index = at.get(name)
    if (index !== undefined) found.add(index)
  }
  return [...found]
}
