// `planfold pause [PLAN]`: starts nothing new; whoever drives the plan ends what may be run again and waits for the rest. With
// `--session`, every plan of the session that is under way.

import type { Composed } from '../../compose.ts'
import { pauseSession } from '../../operations/session-plans.ts'
import { shellWord } from '../../safety/terminal.ts'
import { answer, remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { EXIT } from '../exit.ts'
import { meantPlan, meantSession } from '../meant.ts'
import { orderAndTell } from '../order.ts'

export interface PauseOptions {
  readonly reason?: string
  readonly force?: true
  readonly session?: string
}

export async function pause(context: Context, word: string | undefined, options: PauseOptions): Promise<number> {
  const { session, ...said } = options
  return await withState(context, { create: false }, async composed => {
    if (session !== undefined) {
      await meantSession(composed.engine, session, word)
      return await pauseAll(context, composed, session, said)
    }
    const { plan } = await meantPlan(composed.engine, word)
    await orderAndTell(context, composed, plan, { type: 'pause', ...said })
    return EXIT.done
  })
}

async function pauseAll(
  context: Context,
  { engine, actor }: Composed,
  session: string,
  said: { readonly reason?: string; readonly force?: true },
): Promise<number> {
  const room = {
    engine,
    submit: (plan: string, order: Parameters<typeof engine.submit>[1]) => engine.submit(plan, order, actor),
  }
  const { moved, refused } = await pauseSession(room, session, said)
  const paused = moved.map(({ plan, name, version }) => ({ plan, name, version }))
  answer(context, { session, paused, refused }, () =>
    paused.length === 0
      ? `no plan of session '${session}' is under way`
      : `paused: ${paused.map(({ name }) => name).join(', ')}; go on with: planfold resume --session ${shellWord(session)}`,
  )
  for (const { name, refusal } of refused) remark(context, `${name}: ${refusal.message}`)
  return refused.length === 0 ? EXIT.done : EXIT.refused
}
