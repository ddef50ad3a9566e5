// Failure modes: the known ways in which a task fails. Those with an expression are tried in order, and the first that holds names the
// failure. Modes in prose are never matched; they become advice in the hint.

import { clipHint, type Hint, joinHints } from '../../domain/hint.ts'
import type { FailureMode } from '../../domain/plan.ts'
import type { Failed } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { Attempt } from '../../runners/runner.ts'
import { boundOf, evaluator, truth } from './expressions.ts'

const HINT_MAX = 600

export async function recognise(
  state: PlanState,
  attempt: Pick<Attempt, 'definition' | 'inputs' | 'visit' | 'attempt'>,
  result: Failed,
  output: { readonly stdout?: string; readonly stderr?: string } = {},
): Promise<Failed> {
  const modes = attempt.definition.failureModes ?? []
  if (modes.length === 0) return result
  const evaluate = await evaluator(state, {
    ...boundOf(attempt.definition),
    exit: result.exit ?? null,
    stdout: output.stdout ?? '',
    stderr: output.stderr ?? '',
    outputs: result.outputs ?? {},
    inputs: attempt.inputs,
    error: result.failure.message,
    failure_class: result.failure.class,
    visit: attempt.visit,
    attempt: attempt.attempt,
  })
  const holds = ({ detect }: FailureMode): boolean => {
    if (detect.type !== 'expect') return false
    const verdict = truth(evaluate(detect.expression), detect.expression)
    return 'holds' in verdict && verdict.holds
  }
  const mode = modes.find(one => (result.mode === undefined ? holds(one) : one.name === result.mode))
  const hint = hintOf(result, mode ?? null, modes)
  return {
    ...result,
    ...(mode === undefined ? {} : { mode: mode.name }),
    failure: {
      ...result.failure,
      // The author's class wins over the one derived from the error.
      ...(mode?.class === undefined ? {} : { class: mode.class, code: `mode:${mode.name}` }),
      ...(hint === '' ? {} : { hint }),
    },
  }
}

function hintOf({ failure }: Failed, mode: FailureMode | null, modes: readonly FailureMode[]): Hint {
  const parts: Hint[] = failure.hint === undefined ? [] : [failure.hint]
  if (mode !== null) parts.push(mode.advice === undefined ? `this is '${mode.name}'` : `${mode.name}: ${mode.advice}`)
  else
    for (const { name, detect, advice } of modes) {
      if (detect.type === 'prose')
        parts.push(`is it '${name}' (${detect.text})?${advice === undefined ? '' : ` then: ${advice}`}`)
    }
  return clipHint(joinHints(parts, '; '), HINT_MAX)
}
