// Duration and cost of each task as far as the plan says: its estimate, else its time budget, else an assumed duration that is reported as
// such. Tasks that only wait for others (a join, a decision) take no time.

import { actionFacts } from '../actions/actions.ts'
import { ownBudget } from '../budget/ledger.ts'
import type { TaskDefinition } from '../plan.ts'
import { isUndoing, type WorkGraph } from './work-graph.ts'

export const ASSUMED_MS = 60_000

export interface Lengths {
  readonly ms: readonly number[]
  readonly from: Readonly<Record<LengthSource, number>>
  readonly assumedMs: number
}

export type LengthSource = 'estimate' | 'budget' | 'assumed' | 'none'

export interface Costs {
  readonly tasks: readonly { readonly currency: string; readonly amount: number }[]
  readonly unsaid: number
  readonly plan: { readonly currency: string; readonly amount: number } | null
}

export function lengthsOf(graph: WorkGraph, assumedMs: number): Lengths {
  const from: Record<LengthSource, number> = { estimate: 0, budget: 0, assumed: 0, none: 0 }
  const covered = coveredChildren(graph)
  const ms = graph.tasks.map((_, index) => {
    const { source, length } =
      covered.has(index) || isUndoing(graph, index) ? NONE : lengthOf(graph, index, covered, assumedMs)
    from[source]++
    return length
  })
  return { ms, from, assumedMs }
}

interface Length {
  readonly source: LengthSource
  readonly length: number
}
const NONE: Length = { source: 'none', length: 0 }

function lengthOf(graph: WorkGraph, index: number, covered: ReadonlySet<number>, assumedMs: number): Length {
  const task = graph.tasks[index]!
  // The time of a group is that of its children, unless its own estimate covers them.
  if (isGroupEnd(graph, index) && !graph.needs[index]!.some(need => covered.has(need))) return NONE
  const declared = saidLength(task)
  if (declared !== null) return declared
  return actionFacts(task.action).isFree === true && task.action.type !== 'gate'
    ? NONE
    : { source: 'assumed', length: assumedMs }
}

function saidLength(task: TaskDefinition): Length | null {
  if (task.estimateMs !== undefined) return { source: 'estimate', length: task.estimateMs }
  return task.budget?.timeMs === undefined ? null : { source: 'budget', length: task.budget.timeMs }
}

/** Children of a group with an estimate or a time budget, none of which has its own: that of the group covers them all. */
function coveredChildren(graph: WorkGraph): ReadonlySet<number> {
  const covered = new Set<number>()
  for (const [index, task] of graph.tasks.entries()) {
    if (!isGroupEnd(graph, index) || saidLength(task) === null || covered.has(index)) continue
    const children = graph.needs[index]!
    if (children.some(child => isGroupEnd(graph, child) || saidLength(graph.tasks[child]!) !== null)) continue
    for (const child of children) covered.add(child)
  }
  return covered
}

export function isGroupEnd(graph: WorkGraph, task: number): boolean {
  return graph.tasks[task]!.action.type === 'group'
}

export function costsOf(graph: WorkGraph): Costs {
  const sums = new Map<string, number>()
  let unsaid = 0
  for (const [index, task] of graph.tasks.entries()) {
    if (isUndoing(graph, index)) continue
    const budget = ownBudget(task)
    // The budget of a group limits its children; where they have budgets, the cost is counted there.
    if (isGroupEnd(graph, index) && graph.needs[index]!.some(need => ownBudget(graph.tasks[need]!)?.cost !== undefined))
      continue
    if (budget?.cost === undefined) unsaid++
    else sums.set(budget.cost.currency, (sums.get(budget.cost.currency) ?? 0) + budget.cost.amount)
  }
  const tasks = [...sums].map(([currency, amount]) => ({ currency, amount: Math.round(amount * 1e6) / 1e6 }))
  tasks.sort((a, b) => (a.currency < b.currency ? -1 : 1))
  return { tasks, unsaid, plan: graph.definition.policy?.budget?.cost ?? null }
}
