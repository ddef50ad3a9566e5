// `planfold fail PLAN TASK --message … [--mode NAME]`: reports an external task as failed; a known failure mode leads where it says.

import { type Context, withState } from '../context.ts'
import { EXIT } from '../exit.ts'
import { meantTask } from '../meant.ts'
import { orderAndTell } from '../order.ts'

export interface FailOptions {
  readonly message: string
  readonly token?: string
  readonly retryable?: boolean
  /** The failure mode it was recognised as. */
  readonly mode?: string
}

export async function fail(
  context: Context,
  first: string,
  second: string | undefined,
  options: FailOptions,
): Promise<number> {
  const retryable = options.retryable === true
  return await withState(context, { create: false }, async composed => {
    const { plan, task } = await meantTask(composed.engine, first, second)
    await orderAndTell(context, composed, plan, {
      type: 'report',
      task,
      ...(options.token === undefined ? {} : { token: options.token }),
      result: {
        status: 'failed',
        ...(options.mode === undefined ? {} : { mode: options.mode }),
        failure: { class: retryable ? 'transient' : 'logic', message: options.message, retryable },
      },
    })
    return EXIT.done
  })
}
