// `planfold retry PLAN TASK`: once more, for an ended task (a new visit, which opens an ended plan again), for one that waits
// for its next attempt, and for one whose outcome nobody knows. Before completed work of unsafe effect is done a second time, the
// person at the terminal is asked; without one, `--repeat` says that it is meant.

import { REPEAT } from '../../domain/decisions/unsafe-repeat.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { type Context, withState } from '../context.ts'
import { EXIT, refused } from '../exit.ts'
import { meantTask } from '../meant.ts'
import { remarkHowToGoOn, toldAs } from '../order.ts'
import { askYesNo } from '../yes-no.ts'

export interface RetryOptions {
  readonly reason?: string
  readonly repeat?: boolean
}

export async function retry(
  context: Context,
  first: string,
  second: string | undefined,
  { reason, repeat = false }: RetryOptions,
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, task } = await meantTask(composed.engine, first, second)
    const again = { type: 'retry', task, ...(reason === undefined ? {} : { reason }) } as const
    const order = async (isMeant: boolean) =>
      await composed.engine.submit(plan, isMeant ? { ...again, repeat: true } : again, composed.actor)
    let done = await order(repeat)
    if (!done.ok && done.refusal.allowed?.includes(REPEAT) === true) {
      const { message } = done.refusal
      if (await askYesNo(context, `${escapeForTerminal(message)}. Do it again?`)) done = await order(true)
    }
    if (!done.ok) throw refused(done.refusal)
    toldAs(context, done)
    await remarkHowToGoOn(context, composed, done.plan)
    return EXIT.done
  })
}
