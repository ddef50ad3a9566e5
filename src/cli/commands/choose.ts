// `planfold choose PLAN TASK OPTION`: takes one of the options of a decision; it is the outcome of the task.

import type { EditChoices } from '../../domain/event.ts'
import { shellWord } from '../../safety/terminal.ts'
import { remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { Complaint, EXIT } from '../exit.ts'
import { answerGate, type GateOptions } from '../gate-answer.ts'
import { optionWords } from '../inbox-words.ts'
import { meantTask } from '../meant.ts'

/** Of a person's edits: what else is chosen for single paths. */
export interface ChooseOptions extends GateOptions {
  readonly keep?: readonly string[]
  readonly take?: readonly string[]
  readonly merge?: readonly string[]
}

/** `words`: plan, task and option, or task and option of the only open plan. Without an option they are listed. */
export async function choose(context: Context, words: readonly string[], options: ChooseOptions): Promise<number> {
  const open = await optionMissing(context, words)
  if (open !== null) throw open
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

/** Two words are a plan and its task where there is such a task; else a task and its option. */
async function optionMissing(context: Context, words: readonly string[]): Promise<Complaint | null> {
  const [first = '', second, option] = words
  if (option !== undefined) return null
  return await withState(context, { create: false }, async ({ engine }) => {
    if (second !== undefined) {
      const found = await engine.ask({ type: 'find', reference: first })
      const card = found === null ? null : await engine.ask({ type: 'task', plan: found.plan, task: second })
      if (card === null) return null
    }
    const { plan, name, task } = await meantTask(engine, first, second)
    const summary = await engine.ask({ type: 'summary', plan })
    const asks = summary?.waiting.find(waiting => waiting.task === task)?.asks
    if (asks?.type !== 'decision' && asks?.type !== 'edits')
      return new Complaint(
        EXIT.refused,
        'illegal-transition',
        `'${task}' asks for no choice now`,
        `see where it stands: planfold show ${name} ${task}`,
      )
    const ids = asks.type === 'decision' ? asks.options.map(({ id }) => id) : ['keep', 'take', 'merge']
    remark(
      context,
      [
        `options of '${task}':`,
        ...(asks.type === 'decision' ? asks.options.map(optionWords) : EDITS).map(line => `  ${line}`),
      ].join('\n'),
    )
    return new Complaint(
      EXIT.usage,
      'usage',
      `which option of '${task}' is taken?`,
      `planfold choose ${name} ${task} ${shellWord(ids[0] ?? 'OPTION')} -m 'why'`,
      [],
      { options: asks.type === 'decision' ? asks.options : ids.map(id => ({ id })) },
    )
  })
}

const EDITS = [
  'keep: the edits stay; the task goes on with them',
  'take: back to before the task; the edits can be restored',
  'merge: keep the edits, take out what the task wrote',
]

const each = (paths: readonly string[] = [], choice: 'keep' | 'take' | 'merge'): EditChoices =>
  Object.fromEntries(paths.map(path => [path, choice]))
