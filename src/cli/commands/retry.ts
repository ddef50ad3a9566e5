// `planfold retry PLAN TASK`: once more, for an ended task (a new visit, which opens an ended plan again), for one that waits
// for its next attempt, and for one whose outcome nobody knows.

import { type Context, withState } from '../context.ts'
import { EXIT } from '../exit.ts'
import { meantTask } from '../meant.ts'
import { orderAndTell } from '../order.ts'

export async function retry(
  context: Context,
  first: string,
  second: string | undefined,
  options: { readonly reason?: string },
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, task } = await meantTask(composed.engine, first, second)
    await orderAndTell(context, composed, plan, { type: 'retry', task, ...options })
    return EXIT.done
  })
}
