// `planfold choose PLAN TASK OPTION`: takes one of the options of a decision; it is the outcome of the task.

import type { Context } from '../context.ts'
import { answerGate, type GateOptions } from '../gate-answer.ts'

/** `words`: plan, task and option, or task and option of the only open plan. */
export async function choose(context: Context, words: readonly string[], options: GateOptions): Promise<number> {
  const [first = '', second] = words.slice(0, -1)
  return await answerGate(context, first, second, options, () => ({ verdict: 'chosen', option: words.at(-1) ?? '' }))
}
