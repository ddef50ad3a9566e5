// `planfold heartbeat PLAN TASK`: still at it; the claim lasts for another while.

import { answer } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { elapsed } from '../elapsed.ts'
import { EXIT } from '../exit.ts'
import { meantTask } from '../meant.ts'
import { submit } from '../order.ts'

export interface HeartbeatOptions {
  readonly token: string
  readonly lease?: number
}

export async function heartbeat(
  context: Context,
  first: string,
  second: string | undefined,
  options: HeartbeatOptions,
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, task } = await meantTask(composed.engine, first, second)
    const { claim } = await submit(composed, plan, {
      type: 'heartbeat',
      task,
      token: options.token,
      ...(options.lease === undefined ? {} : { leaseMs: options.lease }),
    })
    const expiresInMs = claim?.expiresInMs ?? null
    answer(
      context,
      { plan, task, expiresInMs },
      () => `${task} is yours${expiresInMs === null ? '' : ` for another ${elapsed(expiresInMs)}`}`,
    )
    return EXIT.done
  })
}
