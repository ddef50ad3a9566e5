// Classifies how an attempt ended: interrupted, failed, or succeeded with outputs collected and criteria judged. Done here, once, for every
// runner.

import { actionFacts, sandboxedCommand } from '../../domain/actions/actions.ts'
import type { Interrupted } from '../../domain/command.ts'
import { advise, quoted } from '../../domain/hint.ts'
import type { Millis } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { Action, TaskDefinition } from '../../domain/plan.ts'
import { isCompared } from '../../domain/plan-rules/tests-criteria.ts'
import { classify } from '../../domain/recovery/classify-failure.ts'
import { errorLine } from '../../domain/recovery/error-line.ts'
import type { Failed, Failure, Result } from '../../domain/result.ts'
import { shortageIn } from '../../domain/shortage.ts'
import type { Attempt, Outcome, RunnerTools, Stop } from '../../runners/runner.ts'
import type { BeyondScope } from '../files/beyond-scope.ts'
import { lazy } from '../lazy-imports.ts'
import { cutOff, retryOrThrow, throwIfShort, unusableFolder } from '../loop/shortage.ts'
import type { AttemptRun } from './attempt-run.ts'
import { evaluator, truth } from './expressions.ts'
import { contextAfter, failedCriterion, judgeWork, refutedIn } from './judge-criteria.ts'
import { collect, mistyped } from './outputs.ts'

interface EndedAttempt {
  readonly run: AttemptRun
  readonly attempt: Attempt
  readonly tools: RunnerTools
  readonly beyond: BeyondScope | null
}

export function classifyOutcome(
  ended: EndedAttempt,
  outcome: Outcome,
): Result | Interrupted | Promise<Result | Interrupted> {
  const { run, attempt, beyond } = ended
  const { rooms, state, options } = run
  if (outcome.type === 'parked') return endParked(ended, outcome)
  if (outcome.type === 'interrupted') {
    const { reason = 'stopped', begun, until } = outcome
    return { status: 'interrupted', reason, begun, ...(until === undefined ? {} : { until }) }
  }
  if (outcome.type === 'failed') {
    const shortage = shortageIn(outcome.failure) ?? (outcome.begun === false ? unusableFolder(rooms) : null)
    return shortage === null || outcome.git !== undefined ? failed(outcome.failure) : cutOff(shortage, outcome.begun)
  }
  const { definition } = attempt
  const own = options.action === undefined
  const exited = outcome.type === 'exited' ? outcome : null
  const exit = exited?.exit ?? undefined
  const seen = exit === undefined ? {} : { exit }
  if (beyond?.is === 'failed') return { ...failed(beyond.failure), ...seen }
  if (exited !== null) {
    const by = own && definition.expect !== undefined ? 'by expect' : 'by exit'
    const failure = endedBadly(exited, attempt, rooms.clock.now(), by)
    if (failure !== null) return { ...failed(failure), ...seen }
  }
  const command = sandboxedCommand(definition.action)
  const isBaseline = command !== null && isCompared(state.definition, command)
  if (own && (definition.outputs !== undefined || isJudged(definition) || isBaseline)) return judged(ended, outcome)
  return { status: 'succeeded', ...picked(outcome), ...some(outcome.type === 'done' ? outcome.outputs : {}), ...seen }
}

const some = (outputs: JsonObject = {}): { readonly outputs?: JsonObject } =>
  Object.keys(outputs).length === 0 ? {} : { outputs }

const picked = (outcome: Outcome): { readonly outcome?: string } =>
  outcome.type === 'done' && outcome.outcome !== undefined ? { outcome: outcome.outcome } : {}

async function judged(
  { run: { rooms, state, options }, attempt, tools }: EndedAttempt,
  outcome: Extract<Outcome, { readonly type: 'done' | 'exited' }>,
): Promise<Result | Interrupted> {
  const { definition } = attempt
  const exited = outcome.type === 'exited' ? outcome : null
  const exit = exited?.exit ?? undefined
  let seen: Pick<Result, 'exit' | 'tests'> = exit === undefined ? {} : { exit }
  let outputs: JsonObject = outcome.type === 'done' ? (outcome.outputs ?? {}) : {}
  if (definition.outputs !== undefined) {
    const { outputs: declared } = definition
    const collected = await retryOrThrow(rooms, options, async () =>
      throwIfShort(
        await collect(
          declared,
          { stdout: exited?.stdout ?? '', truncated: exited?.truncated ?? false },
          { ...rooms, blobs: rooms.store.blobs },
        ),
      ),
    )
    if (!collected.ok) return { ...failed(collected.failure), ...seen }
    outputs = { ...outputs, ...collected.outputs }
    const wrong = mistyped(definition, outputs)
    if (wrong !== null) {
      const { message, hint = '' } = wrong
      return { ...failed({ class: 'logic', message, hint, retryable: true }), ...seen }
    }
    if (tools.secrets !== undefined) outputs = (await lazy.secretFiles()).withoutSecretTexts(outputs, tools.secrets)
  }
  const command = sandboxedCommand(definition.action)
  if (command !== null && isCompared(state.definition, command) && exited !== null) {
    const { baselineRun } = await lazy.judgeTests()
    const tests = await retryOrThrow(rooms, options, () => baselineRun(rooms, command, exited))
    seen = { ...seen, tests }
  }
  if (!isJudged(definition)) return { status: 'succeeded', ...picked(outcome), ...some(outputs), ...seen }
  const context = {
    ...contextAfter({ ...seen, stdout: exited?.stdout ?? '', stderr: exited?.stderr ?? '', outputs }, attempt),
    ...answerNames(attempt.action, outputs),
  }
  if (definition.expect !== undefined) {
    const verdict = truth((await evaluator(state, context))(definition.expect), definition.expect)
    if ('message' in verdict)
      return { ...failed({ class: 'logic', ...verdict, retryable: false }), ...seen, ...some(outputs) }
    if (!verdict.holds)
      return {
        ...failed({
          class: 'logic',
          message: `check failed: ${definition.expect} (exit ${exit ?? 'none'})`,
          hint: advise`see ${quoted('log', { output: true })}`,
          retryable: true,
        }),
        ...seen,
        ...some(outputs),
      }
  }
  const run = rooms.runners.get('run')
  const { blobs } = rooms.store
  // Checks get no secrets: they only look at what was done.
  const judging = {
    state,
    attempt,
    context,
    run,
    blobs,
    tools: { ...tools, secrets: undefined },
    ...stopping(options.stop),
  }
  const verdicts = await retryOrThrow(rooms, options, () => judgeWork(definition, judging))
  if (verdicts === null) return { status: 'interrupted', reason: 'stopped' }
  const judged = verdicts.length === 0 ? {} : { verdicts }
  const refuted = refutedIn(verdicts)
  if (refuted !== undefined)
    return { ...failed(failedCriterion(refuted, definition)), ...seen, ...some(outputs), ...judged }
  return { status: 'succeeded', ...picked(outcome), ...some(outputs), ...seen, ...judged }
}

const stopping = (stop: Stop) => ({ signal: stop.signal, stop })

/** The fields of an HTTP response also have short names: `expect: status == 201`. */
function answerNames(action: Action, outputs: JsonObject): JsonObject {
  const { answers = [] } = actionFacts(action)
  return Object.fromEntries(answers.flatMap(name => (outputs[name] === undefined ? [] : [[name, outputs[name]]])))
}

const isJudged = ({ expect, accept, postconditions }: TaskDefinition): boolean =>
  expect !== undefined || accept !== undefined || postconditions !== undefined

type Exited = Extract<Outcome, { readonly type: 'exited' }>

/** Null if the exit code is fine, or if `expect` judges it. */
function endedBadly(
  exited: Exited,
  { timeoutMs }: Pick<Attempt, 'timeoutMs'>,
  now: Millis,
  judged: 'by exit' | 'by expect',
): Failure | null {
  const { exit, timedOut, excess } = exited
  if (excess !== undefined) return excess
  if (exit !== null && !timedOut && (exit === 0 || judged === 'by expect')) return null
  const { hint, ...kind } = classify(exited, now)
  return { ...kind, message: messageOf(exited, timeoutMs), hint: exited.sandboxHint ?? hint }
}

function messageOf({ exit, signal, timedOut, stderr, stdout }: Exited, timeoutMs: number): string {
  if (timedOut) return `timed out after ${timeoutMs / 1000} s; its processes were ended`
  if (exit === null) return `ended by signal ${signal ?? 'unknown'}`
  const line = errorLine(stderr, stdout)
  return `exit ${exit}${line === null ? '' : `: ${line}`}`
}

export const failed = (failure: Failure): Failed => ({ status: 'failed', failure })

/**
 * The agent was stopped in the middle of its turn, because a person must answer first. If its criteria all hold already, the task is done.
 * Otherwise we interrupted it, which costs no retry, unless the runner reports a failure.
 */
async function endParked(
  ended: EndedAttempt,
  { reason, failure, type: _, ...left }: Extract<Outcome, { readonly type: 'parked' }>,
): Promise<Result | Interrupted> {
  const { accept = [], postconditions = [] } = ended.attempt.definition
  if (accept.length + postconditions.length > 0) {
    const result = await classifyOutcome(ended, { type: 'done', ...left })
    if (result.status === 'succeeded' && isProven(result)) return result
  }
  return failure === undefined ? { status: 'interrupted', reason } : { status: 'failed', failure }
}

/** All hold. A criterion that only a person can judge does not: nobody is asked about unfinished work. */
const isProven = ({ verdicts = [] }: Result): boolean =>
  verdicts.length > 0 && verdicts.every(({ holds }) => holds === true)
