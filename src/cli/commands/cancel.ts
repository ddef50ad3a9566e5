// `planfold cancel [PLAN]`: ends a plan early. What was done and declares a compensation is compensated, last first; when
// nobody drives the plan that happens here. `--force` skips it.

import { type Context, withState } from '../context.ts'
import { drive } from '../drive.ts'
import { EXIT } from '../exit.ts'
import { meantPlan } from '../meant.ts'
import { orderAndTell } from '../order.ts'

export interface CancelOptions {
  readonly force?: boolean
  readonly reason?: string
}

export async function cancel(context: Context, word: string | undefined, options: CancelOptions): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, name } = await meantPlan(composed.engine, word)
    await orderAndTell(context, composed, plan, { type: 'cancel', ...options })
    const summary = await composed.engine.ask({ type: 'summary', plan })
    if (summary === null || summary.endedAt !== null || summary.holder?.alive === true) return EXIT.done
    await drive(context, composed, { plan, name, since: summary.version, wait: false })
    const after = await composed.engine.ask({ type: 'summary', plan })
    return after?.status === 'cancelled' ? EXIT.done : EXIT.waits
  })
}
