// `planfold note [PLAN] [TASK] -m …`: a remark in the journal, for whoever reads it later.

import { type Context, withState } from '../../context.ts'
import { EXIT } from '../../exit.ts'
import { findPlanOrTask } from '../../find-target.ts'
import { orderAndTell } from '../../order.ts'

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
    await orderAndTell(context, composed, plan, {
      type: 'note',
      text: options.message,
      ...(task === null ? {} : { task }),
      ...(field === undefined && line === undefined ? {} : { place: { field, line } }),
    })
    return EXIT.done
  })
}
