// What can be worked on now in a plan, as whoever claims without naming a task would get it: highest priority first, then the order
// of the document. What had to wait for its next attempt and waits no longer is among it.

import type { PlanId } from '../domain/id.ts'
import type { AnswerOf, TaskRecord } from '../engine/engine.ts'
import type { Asking } from './ordering.ts'

export interface Ready {
  readonly records: readonly TaskRecord[]
  readonly explained: NonNullable<AnswerOf<'next'>>['explained']
  readonly held: NonNullable<AnswerOf<'next'>>['held']
}

/** Null when there is no such plan. */
export async function readyTasks({ rooms }: Asking, plan: PlanId, explain = false): Promise<Ready | null> {
  const { engine, now } = rooms
  const [next, board] = [await engine.ask({ type: 'next', plan, explain }), await engine.ask({ type: 'board', plan })]
  if (next === null || board === null) return null
  const isDue = ({ status, action, retryAt }: (typeof board)[number]): boolean =>
    status === 'ready' && action === 'external' && retryAt !== null && retryAt <= now()
  const names = new Set([...next.ready, ...board.filter(isDue)].map(({ name }) => name))
  const found = await engine.ask({ type: 'records', plan, tasks: [...names] })
  if (found === null) return null
  const order = new Map(board.map(({ name }, at) => [name, at]))
  const rank = ({ definition, card }: TaskRecord): readonly [number, number] => [
    -(definition.priority ?? 0),
    order.get(card.name) ?? 0,
  ]
  const records = found.tasks.toSorted((a, b) => {
    const [[high, first], [low, second]] = [rank(a), rank(b)]
    return high - low || first - second
  })
  return { records, explained: next.explained, held: next.held }
}
