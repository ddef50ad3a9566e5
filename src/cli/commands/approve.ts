// `planfold approve PLAN TASK`: yes to what a task asks. To a gate: go on; to criteria: they hold; to a task whose outcome
// nobody knows: it happened.

import { type Context, withState } from '../context.ts'
import { EXIT } from '../exit.ts'
import { meantTask } from '../meant.ts'
import { orderAndTell } from '../order.ts'

export async function approve(
  context: Context,
  first: string,
  second: string | undefined,
  options: { readonly message?: string },
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, task } = await meantTask(composed.engine, first, second)
    const summary = await composed.engine.ask({ type: 'summary', plan })
    const parked = summary?.waiting.find(each => each.task === task)?.asks.type === 'unknown-outcome'
    await orderAndTell(context, composed, plan, {
      type: 'decide',
      task,
      verdict: parked ? 'done' : 'approved',
      rationale: options.message ?? '',
    })
    return EXIT.done
  })
}
