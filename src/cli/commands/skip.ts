// `planfold skip PLAN TASK --reason …`: passes over a task; whatever needs it goes on as if it were done.

import { type Context, withState } from '../context.ts'
import { EXIT } from '../exit.ts'
import { meantTask } from '../meant.ts'
import { orderAndTell } from '../order.ts'

export async function skip(
  context: Context,
  first: string,
  second: string | undefined,
  options: { readonly reason: string },
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, task } = await meantTask(composed.engine, first, second)
    await orderAndTell(context, composed, plan, { type: 'skip', task, reason: options.reason })
    return EXIT.done
  })
}
