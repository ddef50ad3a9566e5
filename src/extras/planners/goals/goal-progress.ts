// The progress of a goal: the mean of its plans and sub-goals, at any depth. Bounded, and safe against cycles in stored goals.

import type { Engine } from '../../../engine/engine.ts'
import type { Goal } from '../../../format/wire/answers/goals.ts'
import type { GoalRow, Page, PlanRow } from '../../../stores/store.ts'

export type GoalProgress = Goal['progress']

const GOALS_MAX = 1_000
const PLANS_MAX = 10_000
const DEPTH_MAX = 50

interface Walk {
  readonly engine: Engine
  readonly seen: Set<string>
  readonly plans: Map<string, number>
  tasks: number
  done: number
  looked: number
  counted: boolean
}

export async function goalProgress(engine: Engine, id: string, status: GoalRow['status']): Promise<GoalProgress> {
  const walk: Walk = { engine, seen: new Set([id]), plans: new Map(), tasks: 0, done: 0, looked: 0, counted: true }
  const ratio = await ratioOf(walk, id, status, DEPTH_MAX)
  const { plans, tasks, done, seen, counted } = walk
  return {
    ratio,
    plans: Object.fromEntries(plans),
    tasks,
    done,
    goals: seen.size - 1,
    complete: counted && ratio === 1 && isAllDone(plans),
    counted,
  }
}

/** One plan is completed, and none is open or failed. Cancelled plans do not count. */
const isAllDone = (plans: ReadonlyMap<string, number>): boolean =>
  plans.has('completed') && [...plans.keys()].every(status => status === 'completed' || status === 'cancelled')

async function ratioOf(walk: Walk, id: string, status: GoalRow['status'], depth: number): Promise<number> {
  const parts: number[] = []
  for await (const plan of every(walk, PLANS_MAX, cursor => walk.engine.ask(plansOf(id, cursor)))) {
    walk.plans.set(plan.status, (walk.plans.get(plan.status) ?? 0) + 1)
    walk.tasks += plan.tasks
    walk.done += plan.done
    if (plan.status !== 'cancelled') parts.push(partOf(plan))
  }
  for await (const goal of every(walk, GOALS_MAX, cursor => walk.engine.goals.list(partsOf(id, cursor)))) {
    if (walk.seen.has(goal.id)) continue
    if (depth === 0 || walk.seen.size > GOALS_MAX) {
      walk.counted = false
      break
    }
    walk.seen.add(goal.id)
    const ratio = await ratioOf(walk, goal.id, goal.status, depth - 1)
    if (goal.status !== 'dropped') parts.push(ratio)
  }
  if (status === 'achieved') return 1
  return parts.length === 0 ? 0 : parts.reduce((sum, part) => sum + part, 0) / parts.length
}

const partOf = ({ status, tasks, done }: PlanRow): number =>
  status === 'completed' ? 1 : tasks === 0 ? 0 : done / tasks

const PAGE = 200
const plansOf = (goal: string, cursor: string | undefined) =>
  ({ type: 'plans', goal, archived: false, limit: PAGE, cursor }) as const
const partsOf = (parent: string, cursor: string | undefined) => ({
  where: { parent },
  limit: PAGE,
  cursor,
})

async function* every<T>(
  walk: Walk,
  max: number,
  pageFrom: (cursor: string | undefined) => Promise<Page<T>>,
): AsyncGenerator<T> {
  let cursor: string | undefined
  do {
    const { items, next } = await pageFrom(cursor)
    for (const item of items) {
      if (++walk.looked > max + GOALS_MAX) {
        walk.counted = false
        return
      }
      yield item
    }
    cursor = next ?? undefined
  } while (cursor !== undefined)
}
