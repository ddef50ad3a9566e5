// Criteria: an expression is evaluated, a check is run, prose is left for a person. Never silently true.

import type { Json } from '../domain/json.ts'
import type { CommandLine, Criterion } from '../domain/plan.ts'
import type { Verdict } from '../domain/result.ts'
import type { PlanState } from '../domain/state.ts'
import type { Context } from '../format/expression.ts'
import type { Attempt, Runner, RunnerTools } from '../runners/runner.ts'
import { boundOf, evaluator, truth } from './expressions.ts'
import { resolveCommand } from './resolve.ts'

export interface Court {
  readonly state: PlanState
  readonly attempt: Attempt
  readonly context: Context
  readonly run: Runner | undefined
  readonly tools: RunnerTools
  readonly signal: AbortSignal
}

export async function judge(criteria: readonly Criterion[], court: Court): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = []
  for (const criterion of criteria) {
    if (court.signal.aborted) break
    verdicts.push(await judgeOne(criterion, court))
  }
  return verdicts
}

async function judgeOne(criterion: Criterion, court: Court): Promise<Verdict> {
  switch (criterion.type) {
    case 'prose':
      return { criterion: criterion.text, holds: null }
    case 'expect': {
      const evaluate = await evaluator(court.state, court.context)
      const verdict = truth(evaluate(criterion.expression), criterion.expression)
      if ('message' in verdict) return { criterion: criterion.expression, holds: false, evidence: verdict.message }
      return { criterion: criterion.expression, holds: verdict.holds }
    }
    case 'check':
      return await runCheck(criterion.command, court)
    default:
      return criterion satisfies never
  }
}

async function runCheck(command: CommandLine, court: Court): Promise<Verdict> {
  const text = commandText(command)
  if (court.run === undefined) return { criterion: text, holds: false, evidence: 'no runner can run commands here' }
  const resolved = resolveCommand(command, await evaluator(court.state, court.context))
  if (!resolved.ok) return { criterion: text, holds: false, evidence: resolved.message }
  const { env, ...line } = resolved.value
  const attempt: Attempt = {
    ...court.attempt,
    action: { type: 'run', command: line as CommandLine },
    env: { ...court.attempt.env, ...env },
  }
  const outcome = await court.run.attempt(attempt, court.tools, court.signal)
  if (outcome.type !== 'exited') {
    return {
      criterion: text,
      holds: false,
      evidence: outcome.type === 'failed' ? outcome.failure.message : outcome.type,
    }
  }
  const holds = outcome.exit === 0 && !outcome.timedOut
  return { criterion: text, holds, evidence: outcome.timedOut ? 'timed out' : `exit ${outcome.exit ?? outcome.signal}` }
}

export const commandText = (command: CommandLine): string =>
  'argv' in command ? command.argv.join(' ') : command.script.trim()

/** What expressions after an attempt may look at. */
export function contextAfter(
  seen: { readonly exit?: number | null; readonly stdout?: string; readonly stderr?: string; readonly outputs: Json },
  attempt: Attempt,
): Context {
  return {
    ...boundOf(attempt.definition),
    exit: seen.exit ?? null,
    stdout: seen.stdout ?? '',
    stderr: seen.stderr ?? '',
    outputs: seen.outputs,
    inputs: attempt.inputs,
    visit: attempt.visit,
    attempt: attempt.attempt,
  }
}
