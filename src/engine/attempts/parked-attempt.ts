// An agent was ended before its turn was, because a person has to say something first. What it had done by then may be enough: the
// criteria of its task are judged as always. Where they do not all hold, the attempt was cut off by us, which costs no retry.

import type { Interrupted } from '../../domain/command.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import type { Result } from '../../domain/result.ts'
import type { Outcome } from '../../runners/runner.ts'

type Parked = Extract<Outcome, { readonly type: 'parked' }>
type Done = Extract<Outcome, { readonly type: 'done' }>

/** `judge`: how it would have ended if the agent had ended its turn by itself. */
export async function endParked(
  { accept = [], postconditions = [] }: TaskDefinition,
  { reason, failure, type: _, ...left }: Parked,
  judge: (outcome: Done) => Result | Interrupted | Promise<Result | Interrupted>,
): Promise<Result | Interrupted> {
  if (accept.length + postconditions.length > 0) {
    const result = await judge({ type: 'done', ...left })
    if (result.status === 'succeeded' && isProven(result)) return result
  }
  return failure === undefined ? { status: 'interrupted', reason } : { status: 'failed', failure }
}

/** What only a person can judge is not held against half a work. */
const isProven = ({ verdicts = [] }: Result): boolean =>
  verdicts.length > 0 && verdicts.every(({ holds }) => holds === true)
