// `planfold note [PLAN] [TASK] -m …`: a remark in the journal.

import { indentedLines } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, withState } from '../../command.ts'
import { findPlanOrTask } from '../../find-target.ts'
import { sendNotifications, submit } from '../../order.ts'

export interface NoteOptions {
  readonly message: string
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
    await sendNotifications(composed, plan)
    return EXIT.done
  })
}
