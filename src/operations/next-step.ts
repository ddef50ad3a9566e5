// The next steps of a plan: what is ready and its briefing, why the rest waits, and what others have reserved.

import { advise, next } from '../domain/hint.ts'
import type { PlanId, TaskName } from '../domain/id.ts'
import type { Briefing, Card } from '../domain/views/board.ts'
import type { AnswerOf, Engine, TaskRecord } from '../engine/engine.ts'

type Next = NonNullable<AnswerOf<'next'>>
type Asked = Pick<Engine, 'ask'>

export interface NextSteps extends Pick<Next, 'explained' | 'held'> {
  readonly ready: readonly Card[]
  /** Of the external tasks that are ready. */
  readonly briefings: readonly Briefing[]
}

/** Limit of briefings; others can be asked for one by one. */
const BRIEFED_MAX = 20

/** With a task, only about that one. */
export async function nextSteps(
  engine: Asked,
  plan: PlanId,
  { task = null, explain = false }: { readonly task?: TaskName | null; readonly explain?: boolean } = {},
): Promise<NextSteps> {
  const found = await engine.ask({ type: 'next', plan, explain })
  const isRequested = (name: TaskName): boolean => task === null || name === task
  const ready = (found?.ready ?? []).filter(card => isRequested(card.name))
  const briefings: Briefing[] = []
  for (const card of ready.filter(each => each.action === 'external').slice(0, BRIEFED_MAX)) {
    const briefing = await engine.ask({ type: 'briefing', plan, task: card.name })
    if (briefing !== null) briefings.push(briefing)
  }
  return {
    ready,
    briefings,
    explained: await explainLost(
      engine,
      plan,
      (found?.explained ?? []).filter(each => isRequested(each.task)),
    ),
    held: (found?.held ?? []).filter(each => isRequested(each.task)),
  }
}

/** A task whose process died is not running, even if that is not recorded yet. */
async function explainLost(engine: Asked, plan: PlanId, explained: Next['explained']): Promise<Next['explained']> {
  if (explained.length === 0) return explained
  const summary = await engine.ask({ type: 'summary', plan })
  if (summary === null || summary.running.length === 0 || summary.holder?.alive === true) return explained
  const board = (await engine.ask({ type: 'board', plan })) ?? []
  const lost = new Set(
    board.filter(card => card.status === 'running' && card.claimedBy === null).map(({ name }) => name),
  )
  return explained.map(one =>
    lost.has(one.task)
      ? {
          ...one,
          why: advise`'${one.task}' was running when the process died: ${next('resume', { plan: summary.name })}`,
        }
      : one,
  )
}

export interface ReadyTasks extends Pick<Next, 'explained' | 'held'> {
  readonly records: readonly TaskRecord[]
}

/** In the order of claims: priority, then document order; including due retries. Null if there is no such plan. */
export async function readyTasks(
  engine: Asked,
  plan: PlanId,
  { now, explain = false }: { readonly now: number; readonly explain?: boolean },
): Promise<ReadyTasks | null> {
  const [next, board] = [await engine.ask({ type: 'next', plan, explain }), await engine.ask({ type: 'board', plan })]
  if (next === null || board === null) return null
  const isDue = ({ status, action, retryAt }: Card): boolean =>
    status === 'ready' && action === 'external' && retryAt !== null && retryAt <= now
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
