// A rollback as other views tell it: the one under way in one line, and the event that ends one.

import type { Event, EventOf } from '../domain/event.ts'
import type { PlanId } from '../domain/id.ts'
import type { Summary } from '../domain/views/summary.ts'
import type { Engine } from '../engine/engine.ts'
import { brief } from './brief.ts'
import type { Paint } from './paint.ts'

export type Ended = EventOf<'rollback.finished'> | EventOf<'rollback.stopped'>

export const isRollbackEnd = (event: Event): event is Ended =>
  event.type === 'rollback.finished' || event.type === 'rollback.stopped'

export function rollbackLine({ rollback }: Summary, paint: Paint): string | null {
  if (rollback === undefined) return null
  const { kind, to, checkpoint } = rollback
  if (kind === 'adopt') return `  ${paint.yellow('adoption')} of a fork under way`
  const what = kind === 'undo' ? 'the last rollback is being undone' : `to ${checkpoint ?? `entry ${to}`}`
  return `  ${paint.yellow('rollback')} under way: ${brief(what)}`
}

/** Why the last rollback of a plan that has ended was stopped, while nobody has said what becomes of it. */
export async function stoppedRollback(engine: Pick<Engine, 'ask'>, plan: PlanId): Promise<string | null> {
  const { items } = await engine.ask({ type: 'inbox' })
  const asks = items.find(item => item.plan === plan && item.asks.type === 'rollback')?.asks
  return asks?.type === 'rollback' ? asks.message : null
}
