// `planfold reject PLAN TASK`: no to what a task asks; the task fails, or goes back where `on: { rejected: … }` says.

import type { Context } from '../context.ts'
import { answerGate, type GateOptions } from '../gate-answer.ts'

export async function reject(
  context: Context,
  first: string,
  second: string | undefined,
  options: GateOptions,
): Promise<number> {
  return await answerGate(context, first, second, options, () => ({ verdict: 'rejected' }))
}
