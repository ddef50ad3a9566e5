// `planfold note [PLAN] [TASK] -m …`: a remark in the journal, for whoever reads it later.

import { indentedLines } from '../../../safety/text/terminal.ts'
import { answer } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { EXIT } from '../../exit.ts'
import { findPlanOrTask } from '../../find-target.ts'
import { submit, tellPeople } from '../../order.ts'

export interface NoteOptions {
  readonly message: string
  /** Which part of the task, or of the plan, it is about. */
  readonly field?: string
  readonly line?: number
}

export async function note(
  context: Context,
  first: string | undefined,
  second: string | undefined,
  options: NoteOptions,
): Promise<number> {
  const { field, line } = options
  return await withState(context, { create: false }, async composed => {
    const { plan, task } = await findPlanOrTask(composed.engine, first, second)
    const accepted = await submit(composed, plan, {
      type: 'note',
      text: options.message,
      ...(task === null ? {} : { task }),
      ...(field === undefined && line === undefined ? {} : { place: { field, line } }),
    })
    const { name, version, events } = accepted
    answer(
      context,
      { plan, name, version, events },
      () => `note added to ${name}${task === null ? '' : ` ${task}`}: ${indentedLines(options.message, 2)}`,
    )
    // A remark moves nothing: what to do next is as before.
    await tellPeople(composed, plan)
    return EXIT.done
  })
}
