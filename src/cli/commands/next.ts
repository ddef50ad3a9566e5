// `planfold next [PLAN] [TASK]`: what can be worked on now and what is to be done; with --explain, why every other task cannot.

import type { TaskName } from '../../domain/id.ts'
import type { Briefing } from '../../domain/views/briefing.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer } from '../answer.ts'
import { briefingLines } from '../briefing-lines.ts'
import { type Context, withState } from '../context.ts'
import { EXIT } from '../exit.ts'
import { meantPlanAndTask } from '../meant.ts'
import { symbol } from '../paint.ts'
import { scopeWaitLines } from '../scope-wait-lines.ts'

/** Of how many external tasks it tells what is to be done; `show` and `claim` tell it of each. */
const BRIEFED_MAX = 20

export async function next(
  context: Context,
  first: string | undefined,
  second: string | undefined,
  options: { readonly explain?: boolean },
): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const { plan, name, task } = await meantPlanAndTask(engine, first, second, { looking: true })
    const explain = options.explain === true || task !== null
    const found = await engine.ask({ type: 'next', plan, explain })
    const ready = (found?.ready ?? []).filter(card => task === null || card.name === task)
    const explained = (found?.explained ?? []).filter(each => task === null || each.task === task)
    const briefings: Briefing[] = []
    for (const card of ready.filter(each => each.action === 'external').slice(0, BRIEFED_MAX)) {
      const briefing = await engine.ask({ type: 'briefing', plan, task: card.name })
      if (briefing !== null) briefings.push(briefing)
    }
    const briefed = (of: TaskName): readonly string[] =>
      briefings.filter(each => each.task === of).flatMap(each => briefingLines(each, context.paint))
    const held = (found?.held ?? []).filter(wait => task === null || wait.task === task)
    answer(context, { ready, briefings, held, ...(explain ? { explained } : {}) }, () => {
      if (explain)
        return explained.flatMap(each => [escapeForTerminal(each.why), ...(task === null ? [] : briefed(each.task))])
      if (ready.length === 0 && held.length > 0) return scopeWaitLines(held, context.paint)
      if (ready.length === 0) return [`nothing is ready; planfold next ${name} --explain says why`]
      return ready.flatMap(card => {
        const how = card.action === 'external' ? `planfold claim ${name} ${card.name}` : `${card.action}, by the engine`
        const title = card.title === null ? '' : `  ${escapeForTerminal(card.title)}`
        return [
          `${symbol(context.paint, card.status)} ${card.name}${title}  ${context.paint.dim(how)}`,
          ...briefed(card.name),
        ]
      })
    })
    return EXIT.done
  })
}
