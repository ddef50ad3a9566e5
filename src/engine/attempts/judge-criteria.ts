// Judges criteria: expressions are evaluated, checks are run, prose is left to a person. A criterion is never silently true.

import { createHash } from 'node:crypto'
import { advise, quoted } from '../../domain/hint.ts'
import type { Sha256 } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import type { CommandLine, Criterion, TaskDefinition } from '../../domain/plan.ts'
import { commandText, criterionText } from '../../domain/plan-rules/criterion-text.ts'
import { errorLine, withoutNoise } from '../../domain/recovery/error-line.ts'
import type { Failure, Verdict } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { Context, Evaluation } from '../../format/expression/expression.ts'
import type { Attempt, Outcome, Runner, RunnerTools, Stop } from '../../runners/runner.ts'
import { lazy } from '../lazy-imports.ts'
import { throwIfShort } from '../loop/shortage.ts'
import type { Rooms } from '../rooms.ts'
import { boundOf, evaluator, truth } from './expressions.ts'
import { resolveCommand } from './resolve.ts'
import { stopFrom } from './stop.ts'

export interface JudgeContext {
  readonly state: PlanState
  readonly attempt: Attempt
  readonly context: Context
  readonly run: Runner | undefined
  readonly tools: RunnerTools
  readonly blobs: Rooms['store']['blobs']
  readonly signal: AbortSignal
  readonly stop?: Stop
}

export async function judge(criteria: readonly Criterion[], judging: JudgeContext): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = []
  for (const criterion of criteria) {
    if (judging.signal.aborted) break
    verdicts.push(await judgeOne(criterion, judging))
  }
  return verdicts
}

/** Judges acceptance criteria and, if they hold, postconditions. Null when we are stopping. */
export async function judgeWork(definition: TaskDefinition, judging: JudgeContext): Promise<readonly Verdict[] | null> {
  const { accept = [], postconditions = [] } = definition
  const accepted = await judge(accept, judging)
  if (accepted.length < accept.length) return null
  if (postconditions.length === 0 || refutedIn(accepted) !== undefined) return accepted
  const after = await judge(postconditions, judging)
  if (after.length < postconditions.length) return null
  return [...accepted, ...after.map(verdict => ({ ...verdict, stage: 'postcondition' as const }))]
}

export const refutedIn = (verdicts: readonly Verdict[]): Verdict | undefined =>
  verdicts.find(verdict => verdict.holds === false)

export function failedCriterion(
  { criterion, evidence, said, stage, tests }: Verdict,
  definition: TaskDefinition,
): Failure {
  const { accept = [], postconditions = [] } = definition
  const title = [...accept, ...postconditions].find(one => criterionText(one) === criterion)?.text
  const what = stage === 'postcondition' ? 'postcondition' : 'check'
  // With test names, the last lines of the test runner add nothing.
  const details = [evidence, said === undefined || tests !== undefined ? null : errorLine(said)]
    .filter(one => one != null)
    .join(': ')
  return {
    class: 'logic',
    message: `${what} failed: ${title ?? criterion}${details === '' ? '' : ` (${details})`}`,
    hint: advise`see ${quoted('log', { output: true })}`,
    retryable: true,
  }
}

async function judgeOne(criterion: Criterion, judging: JudgeContext): Promise<Verdict> {
  switch (criterion.type) {
    case 'prose':
      return { criterion: criterion.text, holds: null }
    case 'expect': {
      const evaluate = await evaluator(judging.state, judging.context)
      const verdict = truth(evaluate(criterion.expression), criterion.expression)
      if ('message' in verdict) return { criterion: criterion.expression, holds: false, evidence: verdict.message }
      const seen = seenBy(criterion.expression, evaluate)
      return { criterion: criterion.expression, holds: verdict.holds, ...(seen === '' ? {} : { evidence: seen }) }
    }
    case 'check':
      return (await runCommand(criterion.command, judging)).verdict
    case 'tests':
      return await (await lazy.judgeTests()).judgeTests(criterion, judging)
    default:
      return criterion satisfies never
  }
}

function seenBy(source: string, evaluate: (source: string) => Evaluation): string {
  const names = [...new Set(source.match(LOOKED_AT) ?? [])].slice(0, LOOKED_AT_MAX)
  const seen = names.flatMap(name => {
    const found = evaluate(name)
    if (!found.ok || (found.value !== null && typeof found.value === 'object')) return []
    return [`${name} is ${clip(JSON.stringify(found.value) ?? '', VALUE_MAX)}`]
  })
  return seen.join(', ')
}

const LOOKED_AT = /(?<![\w.'"\]])(?:tasks(?:\.\w+|\['[\w./-]+'\])|outputs)(?:\.\w+)+(?![\w(])/g
const LOOKED_AT_MAX = 3
const VALUE_MAX = 60

const clip = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text)

export interface CommandRun {
  /** By the exit code alone. */
  readonly verdict: Verdict
  readonly exited: Extract<Outcome, { readonly type: 'exited' }> | null
}

export async function runCommand(command: CommandLine, judging: JudgeContext): Promise<CommandRun> {
  const text = commandText(command)
  const not = (evidence: string, said = {}): CommandRun => ({
    verdict: { criterion: text, holds: false, evidence, ...said },
    exited: null,
  })
  if (judging.run === undefined) return not('no runner can run commands here')
  const resolved = resolveCommand(command, await evaluator(judging.state, judging.context))
  if (!resolved.ok) return not(resolved.message)
  const { env, ...line } = resolved.value
  const attempt: Attempt = {
    ...judging.attempt,
    action: { type: 'run', command: line as CommandLine },
    env: { ...judging.attempt.env, ...env },
  }
  const output = new CheckOutput()
  const tools: RunnerTools = {
    ...judging.tools,
    log: (stream, chunk) => {
      // Messages of the engine are not output of the command.
      if (stream !== 'engine') output.write(chunk)
      judging.tools.log(stream, chunk)
    },
  }
  const outcome = await judging.run.attempt(attempt, tools, judging.stop ?? stopFrom(judging.signal))
  const said = output.summary()
  // A shortage on our side says nothing about the criterion.
  if (outcome.type === 'failed') throwIfShort({ ok: false, failure: outcome.failure })
  if (outcome.type !== 'exited') return not(outcome.type === 'failed' ? outcome.failure.message : outcome.type, said)
  const holds = outcome.exit === 0 && !outcome.timedOut
  const evidence =
    outcome.excess?.message ?? (outcome.timedOut ? 'timed out' : `exit ${outcome.exit ?? outcome.signal}`)
  return { verdict: { criterion: text, holds, evidence, ...said }, exited: outcome }
}

class CheckOutput {
  readonly #hash = createHash('sha256')
  #bytes = 0
  #tail: Buffer = Buffer.alloc(0)

  write(chunk: Uint8Array): void {
    this.#hash.update(chunk)
    this.#bytes += chunk.byteLength
    this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-OUTPUT_MAX_BYTES)
  }

  summary(): Pick<Verdict, 'said' | 'log'> {
    if (this.#bytes === 0) return {}
    const lines = this.#tail.toString('utf8').replaceAll('\0', '␀').trimEnd().split('\n')
    const said = withoutNoise(lines).slice(-OUTPUT_MAX_LINES).join('\n').slice(-OUTPUT_MAX)
    const log = { sha256: this.#hash.digest('hex') as Sha256, bytes: this.#bytes }
    return { ...(said.trim() === '' ? {} : { said }), log }
  }
}

const OUTPUT_MAX_BYTES = 4_096
const OUTPUT_MAX_LINES = 5
const OUTPUT_MAX = 500

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
    feedback: attempt.feedback ?? '',
    visit: attempt.visit,
    attempt: attempt.attempt,
  }
}
