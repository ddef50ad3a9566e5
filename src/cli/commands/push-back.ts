// `planfold push-back PLAN TASK -m WHAT`: not like this. An earlier task is done again, with what was said, and all that came
// after it.

import type { TaskName } from '../../domain/id.ts'
import type { Context } from '../context.ts'
import { answerGate, type GateOptions } from '../gate-answer.ts'

export interface PushBackOptions extends GateOptions {
  readonly message: string
  /** The task that is done again; the last one the gate needs when not said. */
  readonly to?: string
}

export async function pushBack(
  context: Context,
  first: string,
  second: string | undefined,
  options: PushBackOptions,
): Promise<number> {
  const { to } = options
  return await answerGate(context, first, second, options, () => ({
    verdict: 'pushed-back',
    ...(to === undefined ? {} : { to: to as TaskName }),
  }))
}
