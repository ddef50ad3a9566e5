// `planfold checkpoint [PLAN]`: takes a checkpoint by hand and prints its name.

import { answer, remark } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { EXIT } from '../../exit.ts'
import { findPlan } from '../../find-target.ts'
import { submit } from '../../order.ts'
import { standingWords } from '../../text/rollback-result.ts'

export async function checkpoint(
  context: Context,
  word: string | undefined,
  options: { readonly name?: string },
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, name } = await findPlan(composed.engine, word)
    const { version, events } = await submit(composed, plan, { type: 'checkpoint', ...options })
    const taken = events.find(event => event.type === 'checkpoint.taken')
    if (taken === undefined) throw new Error('bug: a checkpoint was accepted and not taken')
    const { standing } = taken
    answer(context, { plan, name, version, checkpoint: taken.name, standing }, () => taken.name)
    for (const line of standingWords(standing)) remark(context, `${line[0]}: ${line[1]}`)
    remark(context, `go back to it with: planfold rollback ${name} --to ${taken.name}`)
    return EXIT.done
  })
}
