// `planfold reject PLAN TASK`: no to what a task asks; the task fails, or goes back where `on: { rejected: … }` says.

import { type Context, withState } from '../context.ts'
import { EXIT } from '../exit.ts'
import { meantTask } from '../meant.ts'
import { orderAndTell } from '../order.ts'

export async function reject(
  context: Context,
  first: string,
  second: string | undefined,
  options: { readonly message?: string },
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, task } = await meantTask(composed.engine, first, second)
    await orderAndTell(context, composed, plan, {
      type: 'decide',
      task,
      verdict: 'rejected',
      rationale: options.message ?? '',
    })
    return EXIT.done
  })
}
