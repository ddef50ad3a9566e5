// `planfold claim [PLAN] [TASK]`: takes an external task in hand, for a while; prints the token that reports it.

import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer, remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { elapsed } from '../elapsed.ts'
import { EXIT } from '../exit.ts'
import { meantPlanAndTask } from '../meant.ts'
import { submit } from '../order.ts'

export async function claim(
  context: Context,
  first: string | undefined,
  second: string | undefined,
  options: { readonly lease?: number },
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, name, task } = await meantPlanAndTask(composed.engine, first, second)
    const { claim: held, version } = await submit(composed, plan, {
      type: 'claim',
      ...(task === null ? {} : { task }),
      ...(options.lease === undefined ? {} : { leaseMs: options.lease }),
    })
    if (held === undefined) throw new Error('a claim was accepted without a token')
    const card = await composed.engine.ask({ type: 'task', plan, task: held.task })
    answer(context, { plan, name, version, ...held, card }, () => [
      `task   ${held.task}${card?.title == null ? '' : `  ${escapeForTerminal(card.title)}`}`,
      `token  ${held.token}`,
    ])
    remark(
      context,
      `yours for ${elapsed(held.expiresInMs)}; keep it with: planfold heartbeat ${name} ${held.task} --token ${held.token}`,
    )
    remark(context, `report with: planfold done ${name} ${held.task} --token ${held.token}`)
    return EXIT.done
  })
}
