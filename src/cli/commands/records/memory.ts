// `planfold memory`: what earlier plans teach the next ones.

import { decisionsIn, type ListedDecision, latestDecisions } from '../../../operations/memory/decisions.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { dateAndTime } from '../../terminal/elapsed-time.ts'

export interface DecisionOptions {
  readonly limit: number
}

export async function decisions(context: Context, word: string | undefined, options: DecisionOptions): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ engine }) => {
    const plan = word === undefined ? null : await findPlan(engine, word, { looking: true })
    const items =
      plan === null
        ? await latestDecisions(engine, options.limit)
        : (await decisionsIn(engine, { ...plan, id: plan.plan })).slice(0, options.limit)
    answer(context, { items }, () =>
      items.length === 0 ? ['nobody has decided anything yet'] : items.flatMap(item => decisionLines(context, item)),
    )
    return EXIT.done
  })
}

function decisionLines({ paint }: Context, { id, at, by, asked, answer, why }: ListedDecision): readonly string[] {
  const said = why === '' ? '' : paint.dim(` (${escapeForTerminal(why)})`)
  return [
    paint.dim(escapeForTerminal(`${dateAndTime(at)}  ${id}  ${by}`)),
    `  ${escapeForTerminal(asked)}: ${paint.bold(escapeForTerminal(answer))}${said}`,
  ]
}
