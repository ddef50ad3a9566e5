// Runs one attempt: resolves its expressions, checks policy and consent, calls the runner, and returns its result.

import { actionFacts, sandboxedCommand } from '../../domain/actions/actions.ts'
import type { Interrupted } from '../../domain/command.ts'
import { advise, quoted } from '../../domain/hint.ts'
import type { Millis } from '../../domain/id.ts'
import type { Action, TaskDefinition } from '../../domain/plan.ts'
import { changedPrograms, clearedSentence, type Programs, type Result } from '../../domain/result.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { judgedBy } from '../../domain/state/task-index.ts'
import type { Attempt, ModelReport, Outcome, RunnerTools, Stop } from '../../runners/runner.ts'
import { scopeEntries } from '../../safety/files/scope-entries.ts'
import type { BorrowedFolder } from '../../safety/sandbox/sandbox.ts'
import type { LogChunk } from '../../stores/store.ts'
import { judgeBeyond, withBeside } from '../files/beyond-scope.ts'
import { consentObjection } from '../gates/consent.ts'
import { lazy } from '../lazy-imports.ts'
import { type HoldOptions, retryOrThrow } from '../loop/shortage.ts'
import type { Rooms } from '../rooms.ts'
import type { Logbook } from './attempt-log.ts'
import { deniedBy, toolsFor } from './attempt-tools.ts'
import { classifyOutcome, failed } from './classify-outcome.ts'
import { recognise } from './failure-modes.ts'
import { gather } from './groups.ts'
import { attemptAsWritten, isPlain, resolveAttempt } from './resolve.ts'

export interface PerformOptions extends HoldOptions {
  readonly owner: string
  readonly stop: Stop
  /** Do we still hold the plan's lease? Checked immediately before any side effect; usually known without waiting. */
  readonly isHeld: () => true | Promise<boolean>
  readonly onOutput?: (text: string, stream: LogChunk['stream']) => void
  /** Run this instead of the task's own action: its compensation. */
  readonly action?: Action
  readonly tried?: TryRun
}

/** One of several tries of the attempt. */
export interface TryRun {
  readonly name: string
  readonly borrowed: readonly BorrowedFolder[]
  /** What is said against the try with whose files it begins. */
  readonly findings?: string
  readonly seen: (outcome: Outcome) => void
}

export interface AttemptRun {
  readonly rooms: Rooms
  readonly state: PlanState
  readonly task: TaskState
  readonly options: PerformOptions
  readonly logbook: Pick<Logbook, 'write'>
}

/** A compensation of the task is not tried. */
export const isRace = ({ task, options }: AttemptRun): boolean =>
  task.definition.tries !== undefined && options.action === undefined

export async function runAttempt(run: AttemptRun): Promise<Result | Interrupted> {
  const { rooms, state, task, options } = run
  // The state is live and changes with the journal, so read it before the first await.
  const { startedAt } = task
  const asksProbe = probesFirst(run)
  // Usually nothing here is asynchronous. An await would cost every task of a long chain.
  const found = resolvedAttempt(run)
  const resolved = found instanceof Promise ? await found : found
  if (!resolved.ok) return failed({ class: 'logic', message: resolved.message, hint: resolved.hint, retryable: false })
  const { tried } = options
  const attempt = tried === undefined ? resolved.value : asTried(resolved.value, tried)
  const denied = deniedBy(run, attempt)
  if (denied !== null) return failed(denied)
  const opened = toolsFor(run, attempt)
  const given = opened instanceof Promise ? await opened : opened
  if (!given.ok) return failed(given.failure)
  const tools = tried === undefined ? given.value : withBorrowed(given.value, tried)
  const probed = asksProbe ? await probe(run, attempt, tools) : null
  if (probed !== null) return probed
  const held = options.isHeld()
  if (held !== true && !(await held)) return { status: 'interrupted', reason: 'another process took over the plan' }
  // What a person approved is the attempt with all of its tries.
  const objecting = tried === undefined ? consentObjection(rooms, state, task, attempt, options) : null
  const objected = objecting === null ? null : await objecting
  if (objected !== null) return failed(objected)
  // Looked at beside the attempt, so that it begins no later. A compensation is no attempt, and a try is a part of one.
  const isCounted =
    options.action === undefined && tried === undefined && actionFacts(attempt.action).runsCommands === true
  // It is a note beside the result, so nothing fails for it.
  const programs = isCounted ? rooms.programs?.({ asks: true }).catch((): Programs => ({})) : undefined
  const outcome = isRace(run)
    ? await (await lazy.runRace()).runRace(run, attempt, tools)
    : await carryOut(run, attempt, tools)
  tried?.seen(outcome)
  const result = await judgeOutcome(run, attempt, tools, outcome, startedAt ?? 0)
  return programs === undefined ? result : withPrograms(run, result, await programs, outcome)
}

function withPrograms({ state }: AttemptRun, result: Result | Interrupted, found: Programs, outcome: Outcome) {
  if (result.status === 'interrupted') return result
  const programs = changedPrograms(state.programs, { ...found, ...('programs' in outcome ? outcome.programs : {}) })
  return programs === undefined ? result : { ...result, programs }
}

function asTried(attempt: Attempt, { name, findings }: TryRun): Attempt {
  const { feedback } = attempt
  const given = [feedback, findings].filter(one => one !== undefined && one !== '').join('\n')
  return { ...attempt, tried: name, ...(given === '' ? {} : { feedback: given }) }
}

const withBorrowed = (tools: RunnerTools, { borrowed }: TryRun): RunnerTools =>
  tools.sandbox === undefined || borrowed.length === 0 ? tools : { ...tools, sandbox: { ...tools.sandbox, borrowed } }

function resolvedAttempt(run: AttemptRun) {
  const { state, task, options } = run
  const { action } = options
  const { definition } = task
  return isPlain(definition) && definition.labels === undefined && state.definition.labels === undefined
    ? ({ ok: true, value: attemptAsWritten(state, task, action) } as const)
    : readsWork(definition)
      ? withWork(run)
      : resolveAttempt(state, task, action)
}

/** Only the instruction of a model can name the work that it judges; an agent is shown it in its brief. */
const readsWork = ({ action, instruction = '' }: TaskDefinition): boolean =>
  action.type === 'model' && /\bwork\b/.test(instruction)

async function withWork({ rooms, state, task, options: { action } }: AttemptRun) {
  const judged = judgedBy(state, task)
  const work = judged === null ? null : await (await lazy.judgedWork()).workOf(rooms, state, judged)
  return await resolveAttempt(state, task, action, work === null ? null : { ...work })
}

/** An earlier attempt that did not fail was interrupted by a crash or by us. Its effect is unknown, so the probe runs first. */
const probesFirst = ({ task, options }: AttemptRun): boolean =>
  options.action === undefined &&
  task.definition.effect === 'probed' &&
  task.attempt > task.failures + 1 &&
  task.definition.probe !== undefined

/** The result if the probe says that the effect happened before the interruption; null if the attempt is to be run. */
async function probe(
  { rooms, options: { stop } }: AttemptRun,
  attempt: Attempt,
  tools: RunnerTools,
): Promise<Result | Interrupted | null> {
  const { probe: command } = attempt.definition
  if (command === undefined) return null
  const seen = await rooms.runners.get('run')?.attempt({ ...attempt, action: { type: 'run', command } }, tools, stop)
  if (seen?.type === 'interrupted') return { status: 'interrupted', reason: 'stopped' }
  if (seen?.type !== 'exited' || seen.exit !== 0) return null
  return {
    status: 'succeeded',
    verdicts: [{ criterion: 'probe', holds: true, evidence: 'it had happened before the crash' }],
  }
}

function carryOut(
  { rooms, state, options: { stop } }: AttemptRun,
  attempt: Attempt,
  tools: RunnerTools,
): Outcome | Promise<Outcome> {
  const { action } = attempt
  if (actionFacts(action).isDoneAtOnce === true) return { type: 'done' }
  if (action.type === 'group') return { type: 'done', outputs: gather(state, action) }
  const runner = rooms.runners.get(action.type)
  if (runner === undefined)
    return {
      type: 'failed',
      failure: {
        class: 'logic',
        message: `no runner carries out '${action.type}'`,
        hint: advise`see ${quoted('validate')}`,
        retryable: false,
      },
    }
  const begin = () => runner.attempt(attempt, tools, stop)
  if (tools.secrets === undefined || (sandboxedCommand(action) === null && tools.write === null)) return begin()
  return withSecretFilesHidden(rooms, tools, begin)
}

async function withSecretFilesHidden(
  rooms: Rooms,
  tools: RunnerTools,
  begin: () => Promise<Outcome>,
): Promise<Outcome> {
  const { withoutSecretFiles } = await lazy.secretFiles()
  return await withoutSecretFiles(rooms, tools, begin)
}

async function judgeOutcome(
  run: AttemptRun,
  attempt: Attempt,
  tools: RunnerTools,
  outcome: Outcome,
  startedAt: Millis,
): Promise<Result | Interrupted> {
  const { rooms, state, options } = run
  const beyond = 'beyond' in outcome && outcome.beyond !== undefined ? outcome.beyond : null
  const strayed = beyond === null ? null : await judgeBeyond(rooms, state, attempt, beyond)
  for (const line of strayed?.notes ?? []) tools.log('engine', Buffer.from(`${line}\n`))
  const cleared = ranInSandbox(attempt, tools, outcome) ? await clearedBy(rooms, tools, startedAt) : []
  // No copy of `run` with more fields: that took 8 µs of the 230 of a task.
  const judged = classifyOutcome({ run, attempt, tools, beyond: strayed }, outcome)
  const classified = judged instanceof Promise ? await judged : judged
  const whole = withUnheld(withBeside(withGit(classified, outcome), strayed), outcome)
  const ended = cleared.length === 0 || whole.status === 'interrupted' ? whole : { ...whole, cleared }
  const reported = 'model' in outcome ? await withModel(rooms, options, ended, outcome.model) : ended
  const result =
    reported.status === 'failed' && options.action === undefined
      ? await recognise(state, attempt, reported, outcome.type === 'exited' ? outcome : {})
      : reported
  const { inputHash } = attempt
  if (result.status === 'interrupted') return result
  const opinion =
    attempt.definition.reviews === undefined || options.action !== undefined
      ? result
      : await (await lazy.judgedWork()).asReview(rooms, state, attempt.definition, result)
  return inputHash === undefined ? opinion : { ...opinion, inputHash }
}

const withUnheld = (result: Result | Interrupted, outcome: Outcome): Result | Interrupted =>
  outcome.type !== 'exited' || outcome.unheld !== true || result.status === 'interrupted'
    ? result
    : { ...result, unheld: true }

const ranInSandbox = ({ action }: Attempt, { sandbox }: RunnerTools, outcome: Outcome): boolean =>
  sandbox !== undefined &&
  actionFacts(action).runsCommands === true &&
  (outcome.type !== 'exited' || outcome.unheld !== true)

/** Files left by a sandboxed command must not run with other rights. Fixed before the files are compared. */
async function clearedBy({ root, stateDir }: Rooms, tools: RunnerTools, since: Millis) {
  const entries = scopeEntries(root, stateDir, tools.write)
  const cleared = await (await lazy.specialModes()).clearSpecialModes(entries, since)
  if (cleared.length > 0) tools.log('engine', Buffer.from(`${clearedSentence(cleared)}\n`))
  return cleared.slice(0, CLEARED_NAMED_MAX)
}

const CLEARED_NAMED_MAX = 100

function withGit(result: Result | Interrupted, outcome: Outcome): Result | Interrupted {
  const git = 'git' in outcome ? outcome.git : undefined
  return git === undefined || result.status === 'interrupted' ? result : { ...result, git }
}

async function withModel(
  rooms: Rooms,
  options: PerformOptions,
  result: Result | Interrupted,
  report: ModelReport | undefined,
): Promise<Result | Interrupted> {
  if (report === undefined || result.status === 'interrupted') return result
  const bytes = Buffer.from(JSON.stringify(report.recording))
  const recording = await retryOrThrow(rooms, options, () => rooms.store.blobs.put(bytes))
  return { ...result, model: { ...report.use, recording } }
}
