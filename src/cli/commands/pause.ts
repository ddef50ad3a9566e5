// `planfold pause [PLAN]`: starts nothing new; whoever drives the plan ends what may be run again and waits for the rest.

import { type Context, withState } from '../context.ts'
import { EXIT } from '../exit.ts'
import { meantPlan } from '../meant.ts'
import { orderAndTell } from '../order.ts'

export async function pause(
  context: Context,
  word: string | undefined,
  options: { readonly reason?: string; readonly force?: true },
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan } = await meantPlan(composed.engine, word)
    await orderAndTell(context, composed, plan, { type: 'pause', ...options })
    return EXIT.done
  })
}
