// `planfold claim [PLAN] [TASK]`: takes an external task in hand, for a while; prints the token that reports it, and what is to
// be done.

import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer, remark } from '../answer.ts'
import { briefingLines } from '../briefing-lines.ts'
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
    const briefing = await composed.engine.ask({ type: 'briefing', plan, task: held.task })
    const place = (await composed.engine.ask({ type: 'summary', plan }))?.place ?? null
    answer(context, { plan, name, version, ...held, card, briefing, place }, () => [
      `task   ${held.task}${card?.title == null ? '' : `  ${escapeForTerminal(card.title)}`}`,
      `token  ${held.token}`,
      ...(place === null ? [] : [`folder ${escapeForTerminal(place)}`]),
      ...(briefing === null ? [] : briefingLines(briefing, context.paint)),
    ])
    remark(
      context,
      `yours for ${elapsed(held.expiresInMs)}; keep it with: planfold heartbeat ${name} ${held.task} --token ${held.token}`,
    )
    const outputs = Object.entries(briefing?.outputs ?? {}).flatMap(([output, { from }]) =>
      from === 'report' ? [` --output ${escapeForTerminal(output)}=…`] : [],
    )
    remark(context, `report with: planfold done ${name} ${held.task} --token ${held.token}${outputs.join('')}`)
    const mode = briefing === null || briefing.failureModes.length === 0 ? '' : ' [--mode MODE]'
    remark(context, `or with: planfold fail ${name} ${held.task} --token ${held.token} -m 'what went wrong'${mode}`)
    return EXIT.done
  })
}
