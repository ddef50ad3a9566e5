// How many tries fit into what is left of the budget: by the median cost of recorded attempts of the same agent for the same kind of task,
// else by an equal share of the task's budget. At least one.

import { PRICE_CURRENCY } from '../../domain/budget/amounts.ts'
import { amountLeft } from '../../domain/budget/judge-spend.ts'
import type { TaskName } from '../../domain/id.ts'
import type { ModelUse } from '../../domain/model-use.ts'
import { numberOf } from '../../domain/phrases.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import type { RaceRound } from '../../domain/tries/race.ts'
import { contendersOf } from '../../domain/tries/tries.ts'
import { type Entry, StoreDamaged } from '../../stores/store.ts'
import { entriesAfter } from '../files/other-plans.ts'
import type { Rooms } from '../rooms.ts'

const PLANS_MAX = 20

export async function fitting(
  rooms: Pick<Rooms, 'store'>,
  state: PlanState,
  definition: TaskDefinition,
): Promise<Pick<RaceRound, 'of' | 'left'>> {
  const of = contendersOf(definition).map(({ label }) => label)
  const left = state.budget === null ? null : amountLeft(state, state.budget, definition.id, 'cost')
  if (left === null) return { of }
  const medians = await medianCosts(rooms, state, definition)
  const own = definition.budget?.cost
  const share = own?.currency === PRICE_CURRENCY ? own.amount / of.length : 0
  const costs = of.map(label => medians.get(label) ?? share)
  let sum = 0
  const fit = costs.findIndex(cost => {
    sum += cost
    return sum > left + EPSILON
  })
  const runs = fit < 0 ? of.length : Math.max(1, fit)
  if (runs === of.length) return { of }
  const all = costs.reduce((total, cost) => total + cost, 0)
  const why = `${numberOf(of.length, 'try', 'tries')} would cost about ${money(all)}, and ${money(left)} of the budget is left`
  return { of: of.slice(0, runs), left: { tries: of.length - runs, why } }
}

/** Amounts are sums of small fractions. */
const EPSILON = 1e-9
const money = (amount: number): string => `${Number(amount.toPrecision(3))} ${PRICE_CURRENCY}`

async function medianCosts(
  rooms: Pick<Rooms, 'store'>,
  { id }: PlanState,
  { kind }: TaskDefinition,
): Promise<ReadonlyMap<string, number>> {
  const costs = new Map<string, number[]>()
  const { items } = await rooms.store.plans({ limit: PLANS_MAX })
  for (const plan of new Set([id, ...items.map(one => one.id)])) {
    const entries = await entriesAfter(rooms.store, plan, 0).catch((error: unknown) => {
      if (!(error instanceof StoreDamaged)) throw error
      return []
    })
    for (const { by, usd } of costsIn(entries, kind)) costs.set(by, [...(costs.get(by) ?? []), usd])
  }
  return new Map([...costs].map(([by, all]) => [by, medianOf(all)]))
}

function* costsIn(entries: readonly Entry[], kind: string | undefined): Generator<{ by: string; usd: number }> {
  const tasks = new Map<TaskName, TaskDefinition>()
  for (const event of entries.flatMap(({ events }) => events)) {
    if (event.type === 'plan.created' || event.type === 'plan.revised')
      for (const task of allTasks(event.definition)) tasks.set(task.id, task)
    if (event.type !== 'race.tried' && event.type !== 'attempt.succeeded' && event.type !== 'attempt.failed') continue
    const task = tasks.get(event.task)
    if (task?.kind !== kind || task?.action.type !== 'agent') continue
    // The result of a race is the sum of its tries.
    if (event.type !== 'race.tried' && task.tries !== undefined) continue
    const usd = usdOf(event.type === 'race.tried' ? event.model : event.result.model)
    const by = event.type === 'race.tried' ? event.by : contendersOf(task)[0]!.label
    if (usd !== null) yield { by, usd }
  }
}

const usdOf = (model: ModelUse | undefined): number | null => (model?.cost.known === true ? model.cost.usd : null)

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
