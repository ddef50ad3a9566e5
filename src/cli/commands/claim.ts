// `planfold claim [PLAN] [TASK]`: takes an external task in hand, for a while; prints the token that reports it, and what is to
// be done. Without a plan, the next of all plans.

import type { Composed } from '../../compose.ts'
import { type ClaimAsk, claimTask, claimWhenReady } from '../../operations/claim-task.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer, remark } from '../answer.ts'
import { briefingLines } from '../briefing-lines.ts'
import { type Context, withState } from '../context.ts'
import { elapsed } from '../elapsed.ts'
import { EXIT, refused, usage } from '../exit.ts'
import { meantPlanAndTask } from '../meant.ts'
import type { Accepted } from '../order.ts'

export interface ClaimOptions {
  readonly lease?: number
  /** Stay until there is something to claim. */
  readonly wait?: boolean
  /** Of waiting. */
  readonly timeout?: number
}

export async function claim(
  context: Context,
  first: string | undefined,
  second: string | undefined,
  options: ClaimOptions,
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const meant = first === undefined ? null : await meantPlanAndTask(composed.engine, first, second)
    const claimed = await claimNow(context, composed, options, {
      ...(meant === null ? {} : { plan: meant.plan }),
      ...(meant === null || meant.task === null ? {} : { task: meant.task }),
      ...(options.lease === undefined ? {} : { leaseMs: options.lease }),
    })
    if (typeof claimed === 'number') return claimed
    const { plan, name, claim: held, version } = claimed
    if (held === undefined) throw new Error('a claim was accepted without a token')
    const card = await composed.engine.ask({ type: 'task', plan, task: held.task })
    const briefing = await composed.engine.ask({ type: 'briefing', plan, task: held.task })
    const place = (await composed.engine.ask({ type: 'summary', plan }))?.place ?? null
    answer(context, { plan, name, version, ...held, card, briefing, place }, () => [
      ...(meant === null ? [`plan   ${name}`] : []),
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

/** An exit code when nothing came while it was waited for. */
async function claimNow(
  context: Context,
  { engine, actor }: Composed,
  { wait, timeout }: ClaimOptions,
  ask: ClaimAsk,
): Promise<Accepted | number> {
  if (wait !== true && timeout !== undefined)
    throw usage('--timeout says how long to wait, and nothing is waited for', 'say --wait as well')
  const stop = new AbortController()
  let interrupted = false
  const unlisten = context.onSignal(() => {
    interrupted = true
    stop.abort()
  })
  const timer = timeout === undefined ? undefined : setTimeout(() => stop.abort(), timeout)
  try {
    const room = { engine, actor }
    const claimed = wait === true ? await claimWhenReady(room, ask, stop.signal) : await claimTask(room, ask)
    if (claimed === null) {
      remark(context, interrupted ? 'interrupted; nothing was claimed' : 'nothing became ready in time')
      return interrupted ? EXIT.interrupted : EXIT.waits
    }
    if (!claimed.ok) throw refused(claimed.refusal)
    return claimed
  } finally {
    clearTimeout(timer)
    unlisten()
  }
}
