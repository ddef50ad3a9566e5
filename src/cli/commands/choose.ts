// `planfold choose PLAN TASK OPTION`: takes one of the options of a decision; it is the outcome of the task.

import type { EditChoices } from '../../domain/event.ts'
import type { Context } from '../context.ts'
import { answerGate, type GateOptions } from '../gate-answer.ts'

/** Of a person's edits: what else is chosen for single paths. */
export interface ChooseOptions extends GateOptions {
  readonly keep?: readonly string[]
  readonly take?: readonly string[]
  readonly merge?: readonly string[]
}

/** `words`: plan, task and option, or task and option of the only open plan. */
export async function choose(context: Context, words: readonly string[], options: ChooseOptions): Promise<number> {
  const [first = '', second] = words.slice(0, -1)
  const choices: EditChoices = {
    ...each(options.keep, 'keep'),
    ...each(options.take, 'take'),
    ...each(options.merge, 'merge'),
  }
  const said = Object.keys(choices).length === 0 ? {} : { choices }
  return await answerGate(context, first, second, options, () => ({
    verdict: 'chosen',
    option: words.at(-1) ?? '',
    ...said,
  }))
}

const each = (paths: readonly string[] = [], choice: 'keep' | 'take' | 'merge'): EditChoices =>
  Object.fromEntries(paths.map(path => [path, choice]))
