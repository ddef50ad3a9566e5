// `planfold next [PLAN] [TASK]`: what can be worked on now; with --explain, why every other task cannot.

import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { EXIT } from '../exit.ts'
import { meantPlanAndTask } from '../meant.ts'
import { symbol } from '../paint.ts'

export async function next(
  context: Context,
  first: string | undefined,
  second: string | undefined,
  options: { readonly explain?: boolean },
): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const { plan, name, task } = await meantPlanAndTask(engine, first, second)
    const explain = options.explain === true || task !== null
    const found = await engine.ask({ type: 'next', plan, explain })
    const ready = (found?.ready ?? []).filter(card => task === null || card.name === task)
    const explained = (found?.explained ?? []).filter(each => task === null || each.task === task)
    answer(context, { ready, ...(explain ? { explained } : {}) }, () => {
      if (explain) return explained.map(each => escapeForTerminal(each.why))
      if (ready.length === 0) return [`nothing is ready; planfold next ${name} --explain says why`]
      return ready.map(card => {
        const how = card.action === 'external' ? `planfold claim ${name} ${card.name}` : `${card.action}, by the engine`
        return `${symbol(context.paint, card.status)} ${card.name}${card.title === null ? '' : `  ${escapeForTerminal(card.title)}`}  ${context.paint.dim(how)}`
      })
    })
    return EXIT.done
  })
}
