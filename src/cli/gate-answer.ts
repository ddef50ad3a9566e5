// An answer to what a task asks, given with one command. It is bound to what the gate asked when it was looked at: when it asks
// about something else by then, the answer is refused.

import type { Composed } from '../compose.ts'
import type { Sha256 } from '../domain/id.ts'
import type { Waiting } from '../domain/views/summary.ts'
import type { Order } from '../engine/engine.ts'
import type { Context } from './context.ts'
import { withState } from './context.ts'
import { Complaint, EXIT } from './exit.ts'
import { type MeantTask, meantTask } from './meant.ts'
import { orderAndTell } from './order.ts'

export interface GateOptions {
  readonly message?: string
  /** Of what was looked at; its first eight digits will do. */
  readonly hash?: string
}

export type Answering = Omit<Extract<Order, { readonly type: 'decide' }>, 'type' | 'task' | 'rationale' | 'hash'>

/** `answer` says what is answered, knowing what is asked; null when the task asks nothing, which is then refused. */
export async function answerGate(
  context: Context,
  first: string,
  second: string | undefined,
  options: GateOptions,
  answer: (waiting: Waiting | null, composed: Composed, meant: MeantTask) => Answering | Promise<Answering>,
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const meant = await meantTask(composed.engine, first, second)
    const { plan, task } = meant
    const summary = await composed.engine.ask({ type: 'summary', plan })
    const waiting = summary?.waiting.find(each => each.task === task) ?? null
    const hash = hashOf(waiting, options.hash)
    await orderAndTell(context, composed, plan, {
      type: 'decide',
      task,
      rationale: options.message ?? '',
      ...(hash === undefined ? {} : { hash }),
      ...(await answer(waiting, composed, meant)),
    })
    return EXIT.done
  })
}

const HASH_MIN = 8

function hashOf(waiting: Waiting | null, seen: string | undefined): Sha256 | undefined {
  const hash = waiting?.hash
  if (seen === undefined || (seen.length >= HASH_MIN && hash?.startsWith(seen.toLowerCase()) === true)) return hash
  throw new Complaint(
    EXIT.refused,
    'conflict',
    hash === undefined
      ? 'it is bound to no hash'
      : `it asks about ${hash.slice(0, 12)}, not about ${seen.slice(0, 12)}`,
    'look at it again with `planfold inbox`, then decide; nothing was changed',
  )
}
