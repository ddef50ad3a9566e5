// `planfold cancel [PLAN]`: ends a plan early. What was done and declares a compensation is compensated, last first; when
// nobody drives the plan that happens here. `--force` skips it.

import type { Composed } from '../../compose.ts'
import type { PlanId } from '../../domain/id.ts'
import { type Context, withState } from '../context.ts'
import { drive } from '../drive.ts'
import { Complaint, EXIT } from '../exit.ts'
import { meantPlan } from '../meant.ts'
import { orderAndTell } from '../order.ts'

export interface CancelOptions {
  readonly force?: boolean
  readonly reason?: string
}

const PAGE = 500

export async function cancel(context: Context, word: string | undefined, options: CancelOptions): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, name } = await meantPlan(composed.engine, word)
    await orderAndTell(context, composed, plan, { type: 'cancel', ...options })
    const summary = await composed.engine.ask({ type: 'summary', plan })
    if (summary === null || summary.endedAt !== null || summary.holder?.alive === true) return EXIT.done
    await drive(context, composed, { plan, name, since: summary.version, wait: false })
    const failed = await failedSince(composed, plan, summary.version)
    if (failed.length > 0)
      throw new Complaint(
        EXIT.failed,
        'compensation-failed',
        `'${name}' was cancelled, but ${failed.map(({ task, why }) => `what '${task}' did could not be undone: ${why}`).join('; ')}`,
        `undo it by hand; what was printed: planfold log ${name} ${failed[0]!.task} --output`,
      )
    const after = await composed.engine.ask({ type: 'summary', plan })
    return after?.status === 'cancelled' ? EXIT.done : EXIT.waits
  })
}

/** Compensations that ended without success. */
async function failedSince(
  { engine }: Composed,
  plan: PlanId,
  version: number,
): Promise<readonly { readonly task: string; readonly why: string }[]> {
  const failed: { task: string; why: string }[] = []
  for (let after = version; ; ) {
    const entries = (await engine.ask({ type: 'entries', plan, after, limit: PAGE })) ?? []
    for (const event of entries.flatMap(({ events }) => events)) {
      if (event.type === 'compensation.finished' && event.result.status === 'failed')
        failed.push({ task: event.task, why: event.result.failure.message })
    }
    if (entries.length < PAGE) return failed
    after = entries.at(-1)!.version
  }
}
