// Carries out one attempt that the journal says was started, and classifies how it ended: here, once, for every runner. What
// comes back is a value; a runner that throws anyway is a bug of ours, told as a failure that is never retried.

import { BUDGET_CODE } from '../../domain/budget/budget-rules.ts'
import { OUT_OF_TIME } from '../../domain/budget/budget-text.ts'
import { attemptKey } from '../../domain/budget/ledger.ts'
import type { Interrupted } from '../../domain/command.ts'
import { advise, quoted } from '../../domain/hint.ts'
import type { Millis } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { Action, TaskDefinition } from '../../domain/plan.ts'
import { capturesFiles, effectOf, scopeOf, usesTaskWorktrees } from '../../domain/plan-rules/effect.ts'
import { isCompared } from '../../domain/plan-rules/tests-criteria.ts'
import { commandIn } from '../../domain/policy/policy-in-state.ts'
import { classify } from '../../domain/recovery/classify-failure.ts'
import { tellingLine } from '../../domain/recovery/telling-line.ts'
import { clearedSentence, type Failed, type Failure, type Result } from '../../domain/result.ts'
import { shortageIn } from '../../domain/shortage.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { traceparent } from '../../domain/views/trace.ts'
import type { Attempt, ModelReport, Outcome, RunnerTools, Stop } from '../../runners/runner.ts'
import { scopeEntries } from '../../safety/files/scope-entries.ts'
import type { Answer } from '../../safety/safety-refusal.ts'
import type { LogChunk } from '../../stores/store.ts'
import { attemptBudget } from '../budget/attempt-budget.ts'
import { timeLimit } from '../budget/time-limit.ts'
import { type BeyondScope, judgeBeyond, withBeside } from '../files/beyond-scope.ts'
import { withOverwritten } from '../files/overwritten-edits.ts'
import { consentObjection } from '../gates/consent.ts'
import { lazy } from '../lazy-imports.ts'
import {
  type CutOff,
  cutOff,
  demandRoom,
  type HoldOptions,
  heldOrThrow,
  isFailStop,
  missingFolder,
  retryWhileShort,
  shortageOf,
  unusableFolder,
} from '../loop/shortage.ts'
import { footprintSince, type Look, standingNow } from '../rollback/attempt-changes.ts'
import type { Rooms } from '../rooms.ts'
import { Logbook } from './attempt-log.ts'
import { heldToEffects, promisedBy } from './expected-effects.ts'
import { boundOf, evaluator, truth } from './expressions.ts'
import { recognise } from './failure-modes.ts'
import { gather } from './groups.ts'
import { contextAfter, failedCriterion, judgeWork, refutedIn } from './judge-criteria.ts'
import { collect } from './outputs.ts'
import { endParked } from './parked-attempt.ts'
import { commandsFor, deniedCommand, deniedWrite, readTools, refusesSending, writeFor } from './policy-use.ts'
import { attemptAsWritten, isPlain, resolveAttempt } from './resolve.ts'
import { sandboxFor } from './sandbox-use.ts'

// A process that ended badly, told as a failure: what it said last for people, and what kind of failure it was for the rules.

type Exited = Extract<Outcome, { readonly type: 'exited' }>

/** Null when its exit is fine, or is to be judged by `expect`. */
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
  const said = tellingLine(stderr, stdout)
  return `exit ${exit}${said === null ? '' : `: ${said}`}`
}

interface PerformOptions extends HoldOptions {
  readonly owner: string
  readonly stop: Stop
  /** Is the plan still ours? Asked immediately before the world is touched; as a rule it is known without waiting. */
  readonly isHeld: () => true | Promise<boolean>
  readonly onOutput?: (text: string, stream: LogChunk['stream']) => void
  /** Carry out this instead of the task's own action: its compensation. */
  readonly action?: Action
}

export async function perform(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  options: PerformOptions,
): Promise<Result | Interrupted> {
  const { definition } = task
  const began = rooms.clock.monotonic()
  const where = { plan: state.id, task: definition.id, visit: task.visit, attempt: task.attempt }
  const stored = state.budget === null ? undefined : state.budget.holds.get(attemptKey(where))?.amount.outputBytes
  const { onOutput = silently, onShortage } = options
  const logbook = new Logbook(rooms.store.logs, rooms.clock, where, onOutput, onShortage, stored)
  const limit =
    state.budget === null || options.action !== undefined ? null : timeLimit(rooms, state, task, options.stop)
  const within = limit === null ? options : { ...options, stop: limit.stop }
  let result: Result | Interrupted | CutOff
  try {
    const missing = missingFolder(rooms)
    if (missing !== null) return toldOf(options, cutOff(missing, false))
    result = usesTaskWorktrees(state.definition)
      ? await runInWorktree(rooms, state, task, within, logbook)
      : await performHere(rooms, state, task, within, logbook)
    if (limit !== null && limit.exceeded !== null && result.status === 'interrupted')
      result = outOfTime(limit.exceeded, state.definition.name)
    const log = logbook.seal()
    if (result.status !== 'interrupted' && log !== null) result = { ...result, log }
    result = ownedBy(rooms, result)
  } catch (error) {
    if (isFailStop(error)) throw error
    const shortage = shortageOf(rooms, error, `Carrying out '${definition.id}'`)
    if (shortage !== null) return toldOf(options, cutOff(shortage))
    const message = error instanceof Error ? error.message : String(error)
    result = failed({
      class: 'unknown',
      message: `bug: carrying out '${definition.id}' threw: ${message}`,
      hint: 'please report this',
      retryable: false,
    })
  } finally {
    limit?.clear()
  }
  return result.status === 'interrupted'
    ? toldOf(options, result)
    : { ...result, durationMs: Math.round(rooms.clock.monotonic() - began) }
}

const silently = () => {}

/** The time of a budget is used up. Where a person is asked, it was cut off by us, and is made again when there is more. */
const outOfTime = (exceeded: 'ask' | 'fail', plan: string): Failed | Interrupted =>
  exceeded === 'ask'
    ? { status: 'interrupted', reason: OUT_OF_TIME }
    : failed({
        class: 'policy',
        code: BUDGET_CODE,
        message: `${OUT_OF_TIME}; its processes were ended`,
        hint: advise`add time, then try again: ${quoted('budget-add', { plan, what: 'time', amount: '10m' })}; or write \`exceeded: ask\` in the plan file and be asked`,
        retryable: false,
      })

/** Tells the loop what is lacking, and answers with what the journal shall say of the attempt. */
function toldOf({ onShortage }: HoldOptions, ended: Interrupted | CutOff): Interrupted {
  if (!('shortage' in ended)) return ended
  const { shortage, ...interrupted } = ended
  onShortage?.(shortage)
  return interrupted
}

/** What failed for want of something on our side has not failed: it was cut off, and its effect class says what then. */
function ownedBy(rooms: Rooms, result: Result | Interrupted | CutOff): Result | Interrupted | CutOff {
  if (result.status !== 'failed' || (result.git?.length ?? 0) > 0) return result
  const shortage = shortageIn(result.failure) ?? missingFolder(rooms)
  return shortage === null ? result : cutOff(shortage)
}

async function runInWorktree(...[rooms, state, task, options, logbook]: Performing): Promise<Result | Interrupted> {
  const { performInWorktree } = await lazy.taskWorktrees()
  const say = (text: string) => logbook.write('engine', Buffer.from(text))
  return await performInWorktree(rooms, state, task, options, say, at => performHere(at, state, task, options, logbook))
}

type Performing = [rooms: Rooms, state: PlanState, task: TaskState, options: PerformOptions, logbook: Logbook]

/** Each step of a plan comes by here, and most have nothing to look at before and after. */
function performHere(...performing: Performing): Promise<Result | Interrupted> {
  const [, , { definition, prepared }, { action }] = performing
  const isBare = action === undefined && prepared === null && definition.effects === undefined
  return isBare && definition.action.type !== 'checkpoint' ? carryOut(...performing) : performSeen(...performing)
}

async function performSeen(...[rooms, state, task, options, logbook]: Performing): Promise<Result | Interrupted> {
  const { action } = options
  const look = action === undefined ? task.prepared : await looking(rooms, state, task, action)
  // Its files are reserved now; somebody may have begun to restore some of them just before.
  if (task.prepared?.reserves !== undefined) await rooms.workspace.quiet?.()
  const result = await carryOut(rooms, state, task, options, logbook)
  if (result.status === 'interrupted') return result
  const isSeen = look !== null || task.definition.action.type === 'checkpoint'
  // A compensation is no attempt of the visit: what stood before it is the task's own work.
  const tried = { ...task, attempt: action === undefined ? task.attempt : 1 }
  const seen = isSeen
    ? await retryWhileShort(rooms, options, () => withFootprint(rooms, state, tried, look, result))
    : ({ ok: true, value: result } as const)
  // A checkpoint is nothing but what is stored; of anything else it is known how it ended, and its files can be looked at later.
  if (!seen.ok && task.definition.action.type === 'checkpoint') return cutOff(seen.shortage)
  const whole = seen.ok ? seen.value : result
  if (action !== undefined || promisedBy(task.definition, whole) === undefined) return whole
  return await heldToEffects(rooms, state, task, whole)
}

async function carryOut(...[rooms, state, task, options, logbook]: Performing): Promise<Result | Interrupted> {
  // The state is live: what a task looked like when it started is taken now, before the first wait.
  const { definition, startedAt } = task
  // An attempt before this one that did not fail ended nobody knows how, in a crash or by our own hand.
  const probes =
    options.action === undefined &&
    definition.effect === 'probed' &&
    task.attempt > task.failures + 1 &&
    definition.probe !== undefined
  const resolved =
    isPlain(definition) && definition.labels === undefined && state.definition.labels === undefined
      ? ({ ok: true, value: attemptAsWritten(state, task, options.action) } as const)
      : await resolveAttempt(state, task, options.action)
  if (!resolved.ok)
    return failed({
      class: 'logic',
      message: resolved.message,
      hint: resolved.hint,
      retryable: false,
    })
  const attempt = resolved.value
  const { probe } = attempt.definition
  const denied = deniedBy(rooms, state, attempt)
  if (denied !== null) return failed(denied)
  const bare = toolsFor(rooms, state, attempt, options, logbook)
  const given =
    attempt.definition.secrets === undefined ? null : await withSecrets(rooms, attempt.definition.secrets, bare)
  if (given?.ok === false) return failed(given.failure)
  const plain = given?.value ?? bare
  const { type } = attempt.action
  const tools =
    type === 'decide' || type === 'git' || type === 'http' || type === 'agent' || type === 'runner'
      ? await moreTools(rooms, state, attempt, plain, options.action === undefined ? 'attempt' : 'compensation')
      : plain
  if (probes && probe !== undefined) {
    const asking: Attempt = { ...attempt, action: { type: 'run', command: probe } }
    const seen = await rooms.runners.get('run')?.attempt(asking, tools, options.stop)
    if (seen?.type === 'interrupted') return { status: 'interrupted', reason: 'stopped' }
    if (seen?.type === 'exited' && seen.exit === 0)
      return {
        status: 'succeeded',
        verdicts: [{ criterion: 'probe', holds: true, evidence: 'it had happened before the crash' }],
      }
  }
  const held = options.isHeld()
  if (held !== true && !(await held)) return { status: 'interrupted', reason: 'another process took over the plan' }
  const objecting = consentObjection(rooms, state, task, attempt, options)
  const objected = objecting === null ? null : await objecting
  if (objected !== null) return failed(objected)
  const runner = rooms.runners.get(attempt.action.type)
  const outcome: Outcome =
    attempt.action.type === 'verify' || attempt.action.type === 'checkpoint'
      ? { type: 'done' }
      : attempt.action.type === 'group'
        ? { type: 'done', outputs: gather(state, attempt.action) }
        : runner === undefined
          ? {
              type: 'failed',
              failure: {
                class: 'logic',
                message: `no runner carries out '${attempt.action.type}'`,
                hint: advise`see ${quoted('validate')}`,
                retryable: false,
              },
            }
          : tools.secrets === undefined || (attempt.action.type !== 'run' && tools.write === null)
            ? await runner.attempt(attempt, tools, options.stop)
            : await (await lazy.secretFiles()).withoutSecretFiles(rooms, tools, () =>
                runner.attempt(attempt, tools, options.stop),
              )
  const beyond = 'beyond' in outcome && outcome.beyond !== undefined ? outcome.beyond : null
  const strayed = beyond === null ? null : await judgeBeyond(rooms, state, attempt, beyond)
  for (const line of strayed?.said ?? []) tools.log('engine', Buffer.from(`${line}\n`))
  const isCommand = attempt.action.type === 'run' || attempt.action.type === 'agent'
  const cleared = isCommand ? await clearedBy(rooms, tools, outcome, startedAt ?? 0) : []
  // As a rule it is known at once.
  const told = classifyEnd(rooms, state, attempt, tools, options, outcome, strayed)
  const heard = withUnheld(withBeside(withGit(told instanceof Promise ? await told : told, outcome), strayed), outcome)
  const ended = cleared.length === 0 || heard.status === 'interrupted' ? heard : { ...heard, cleared }
  const classified = 'model' in outcome ? await withModel(rooms, options, ended, outcome.model) : ended
  const said = outcome.type === 'exited' ? outcome : {}
  const result =
    classified.status === 'failed' && options.action === undefined
      ? await recognise(state, attempt, classified, said)
      : classified
  const { inputHash } = attempt
  return result.status === 'interrupted' || inputHash === undefined ? result : { ...result, inputHash }
}

const withUnheld = (result: Result | Interrupted, outcome: Outcome): Result | Interrupted =>
  outcome.type !== 'exited' || outcome.unheld !== true || result.status === 'interrupted'
    ? result
    : { ...result, unheld: true }

/** Of what ran in a sandbox: the files it leaves run with nobody else's rights. Done before its files are looked at. */
async function clearedBy({ root, stateDir }: Rooms, tools: RunnerTools, outcome: Outcome, since: Millis) {
  if (tools.sandbox === undefined || (outcome.type === 'exited' && outcome.unheld === true)) return []
  const entries = scopeEntries(root, stateDir, tools.write)
  const cleared = await (await lazy.specialModes()).clearSpecialModes(entries, since)
  if (cleared.length > 0) tools.log('engine', Buffer.from(`${clearedSentence(cleared)}\n`))
  return cleared.slice(0, CLEARED_NAMED_MAX)
}

const CLEARED_NAMED_MAX = 100

/** What was done to the repository is recorded, however it ended. */
function withGit(result: Result | Interrupted, outcome: Outcome): Result | Interrupted {
  const git = 'git' in outcome ? outcome.git : undefined
  return git === undefined || result.status === 'interrupted' ? result : { ...result, git }
}

/** What a model was asked and answered goes into the content store; the result names it, with what it used. */
async function withModel(
  rooms: Rooms,
  options: PerformOptions,
  result: Result | Interrupted,
  report: ModelReport | undefined,
): Promise<Result | Interrupted> {
  if (report === undefined || result.status === 'interrupted') return result
  const bytes = Buffer.from(JSON.stringify(report.recording))
  const recording = await heldOrThrow(rooms, options, () => rooms.store.blobs.put(bytes))
  return { ...result, model: { ...report.use, recording } }
}

/** How the files stood before. A compensation has no visit of its own, so they are looked at here. */
async function looking(
  rooms: Rooms,
  state: PlanState,
  { definition }: TaskState,
  action: Action,
): Promise<Look | null> {
  if (state.files !== 'seen' || usesTaskWorktrees(state.definition)) return null
  // Only what it names counts as its work: others are at work while it runs, and theirs must not go back with it.
  const isOwn = definition.action === action
  const scope =
    action.type === 'edit'
      ? scopeOf(state.definition, { id: definition.id, action })
      : isOwn && capturesFiles(state.definition, definition)
        ? scopeOf(state.definition, definition)
        : null
  if (scope === null || scope.length === 0) return null
  const captured = await rooms.workspace.capture(scope)
  return captured.ok ? { preimage: captured.manifest } : null
}

/** What it wrote, and what stood when a checkpoint task was carried out. */
async function withFootprint(
  rooms: Rooms,
  state: PlanState,
  task: Pick<TaskState, 'definition' | 'visit' | 'attempt' | 'startedAt'>,
  look: Look | null,
  result: Result,
): Promise<Result> {
  const { definition } = task
  const { wrote: found, ...uncovered } = await footprintSince(rooms, state, look, task)
  const wrote = await withOverwritten(rooms, state, task, look, found)
  const whole = { ...result, ...(wrote === null ? {} : { wrote }), ...uncovered }
  if (definition.action.type !== 'checkpoint' || whole.status === 'failed') return whole
  const checkpoint = await standingNow(rooms, state, 'throw')
  if (checkpoint.lacks === undefined) return { ...whole, checkpoint }
  return failed({
    class: 'resource',
    message: `no checkpoint could be taken: ${checkpoint.lacks}`,
    hint: 'make room, or leave the checkpoint out',
    retryable: true,
  })
}

/** How it ended, in one place: interrupted, failed, or succeeded with its outputs taken and its criteria judged. */
function classifyEnd(
  rooms: Rooms,
  state: PlanState,
  attempt: Attempt,
  tools: RunnerTools,
  options: PerformOptions,
  outcome: Outcome,
  strayed: BeyondScope | null,
): Result | Interrupted | Promise<Result | Interrupted> {
  if (outcome.type === 'parked')
    return endParked(attempt.definition, outcome, done =>
      classifyEnd(rooms, state, attempt, tools, options, done, strayed),
    )
  if (outcome.type === 'interrupted') {
    const { reason = 'stopped', begun } = outcome
    return { status: 'interrupted', reason, begun }
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
  if (strayed?.is === 'failed') return { ...failed(strayed.failure), ...seen }
  if (exited !== null) {
    const by = own && definition.expect !== undefined ? 'by expect' : 'by exit'
    const failure = endedBadly(exited, attempt, rooms.clock.now(), by)
    if (failure !== null) return { ...failed(failure), ...seen }
  }
  const isBaseline = definition.action.type === 'run' && isCompared(state.definition, definition.action.command)
  if (own && (definition.outputs !== undefined || isJudged(definition) || isBaseline))
    return judged(rooms, state, attempt, tools, options, outcome)
  return { status: 'succeeded', ...picked(outcome), ...some(outcome.type === 'done' ? outcome.outputs : {}), ...seen }
}

const some = (outputs: JsonObject = {}): { readonly outputs?: JsonObject } =>
  Object.keys(outputs).length === 0 ? {} : { outputs }

const picked = (outcome: Outcome): { readonly outcome?: string } =>
  outcome.type === 'done' && outcome.outcome !== undefined ? { outcome: outcome.outcome } : {}

/** It ended well so far: its outputs are taken, and what it says is to be true afterwards is judged. */
async function judged(
  rooms: Rooms,
  state: PlanState,
  attempt: Attempt,
  tools: RunnerTools,
  options: PerformOptions,
  outcome: Extract<Outcome, { readonly type: 'done' | 'exited' }>,
): Promise<Result | Interrupted> {
  const { definition } = attempt
  const exited = outcome.type === 'exited' ? outcome : null
  const exit = exited?.exit ?? undefined
  let seen: Pick<Result, 'exit' | 'tests'> = exit === undefined ? {} : { exit }
  let outputs: JsonObject = outcome.type === 'done' ? (outcome.outputs ?? {}) : {}
  if (definition.outputs !== undefined) {
    const { outputs: declared } = definition
    const collected = await heldOrThrow(rooms, options, async () =>
      demandRoom(
        await collect(
          declared,
          { stdout: exited?.stdout ?? '', truncated: exited?.truncated ?? false },
          { ...rooms, blobs: rooms.store.blobs },
        ),
      ),
    )
    if (!collected.ok) return { ...failed(collected.failure), ...seen }
    outputs = { ...outputs, ...collected.outputs }
    if (tools.secrets !== undefined) outputs = (await lazy.secretFiles()).withoutSecretTexts(outputs, tools.secrets)
  }
  const command = definition.action.type === 'run' ? definition.action.command : null
  if (command !== null && isCompared(state.definition, command) && exited !== null) {
    const { baselineRun } = await lazy.judgeTests()
    const tests = await heldOrThrow(rooms, options, () => baselineRun(rooms, command, exited))
    seen = { ...seen, tests }
  }
  if (!isJudged(definition)) return { status: 'succeeded', ...picked(outcome), ...some(outputs), ...seen }
  const context = {
    ...contextAfter({ ...seen, stdout: exited?.stdout ?? '', stderr: exited?.stderr ?? '', outputs }, attempt),
    ...answerNames(attempt.action.type, outputs),
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
  // Checks look at what was done; they need nobody's secrets.
  const { blobs } = rooms.store
  const court = {
    state,
    attempt,
    context,
    run,
    blobs,
    tools: { ...tools, secrets: undefined },
    ...stopping(options.stop),
  }
  const verdicts = await heldOrThrow(rooms, options, () => judgeWork(definition, court))
  if (verdicts === null) return { status: 'interrupted', reason: 'stopped' }
  const heard = verdicts.length === 0 ? {} : { verdicts }
  const refuted = refutedIn(verdicts)
  if (refuted !== undefined)
    return { ...failed(failedCriterion(refuted, definition)), ...seen, ...some(outputs), ...heard }
  return { status: 'succeeded', ...picked(outcome), ...some(outputs), ...seen, ...heard }
}

const stopping = (stop: Stop) => ({ signal: stop.signal, stop })

/** What a request answered is known by its short names, too: `expect: status == 201`. */
function answerNames(type: Action['type'], outputs: JsonObject): JsonObject {
  if (type !== 'http' && type !== 'db') return {}
  const names = type === 'http' ? ['status'] : ['rows', 'changes']
  return Object.fromEntries(names.flatMap(name => (outputs[name] === undefined ? [] : [[name, outputs[name]]])))
}

/** Does it say more of what is to be true afterwards than how it ends? */
const isJudged = ({ expect, accept, postconditions }: TaskDefinition): boolean =>
  expect !== undefined || accept !== undefined || postconditions !== undefined

function toolsFor(
  rooms: Rooms,
  state: PlanState,
  attempt: Attempt,
  { owner, action }: PerformOptions,
  logbook: Logbook,
): RunnerTools {
  const as = action === undefined ? 'attempt' : 'compensation'
  return {
    root: rooms.root,
    stateDir: rooms.stateDir,
    owner,
    write: effectOf(state.definition, attempt.definition) === 'pure' ? [] : writeFor(state, attempt.definition),
    ...commandsFor(rooms, state, attempt.definition),
    ...readTools(state, attempt.definition),
    environment: rooms.environment,
    about: rooms.about,
    evaluate: nothing,
    traceparent: rooms.tracer === undefined ? undefined : parentOf(state, attempt),
    log: (stream, chunk) => logbook.write(stream, chunk),
    monotonic: rooms.clock.monotonic,
    // Undoing must always be possible, so it is not counted.
    ...(action === undefined ? { budget: attemptBudget(rooms, state, attempt) } : {}),
    ...sandboxFor(rooms, state, { as, ...attempt }),
  }
}

/** What the policy says no to before anything is done. */
function deniedBy(rooms: Rooms, state: PlanState, { definition, action }: Attempt): Failure | null {
  if (action.type === 'model') return refusesSending(state, 'models')
  const git = action.type === 'git' ? commandIn(action) : null
  const refused = git === null ? null : (commandsFor(rooms, state, definition).refuses?.(git) ?? null)
  return refused ?? deniedCommand(state, { ...definition, action }) ?? deniedWrite(state, { ...definition, action })
}

/** Fetched for each attempt anew, and known to nobody else. */
async function withSecrets(
  { environment, root, stateDir }: Rooms,
  names: readonly string[],
  tools: RunnerTools,
): Promise<Answer<RunnerTools>> {
  const { fetchSecrets } = await lazy.secretSources()
  const secrets = await fetchSecrets({ environment, root, stateDir }, names)
  return secrets.ok ? { ok: true, value: { ...tools, secrets: secrets.value } } : secrets
}

const nothing = () => ({ ok: false as const, message: 'this action evaluates nothing' })

/** A decision evaluates, a git task touches the repository, and a request goes out. */
async function moreTools(
  rooms: Rooms,
  state: PlanState,
  attempt: Attempt,
  tools: RunnerTools,
  as: 'attempt' | 'compensation',
): Promise<RunnerTools> {
  if (attempt.action.type === 'http' || attempt.action.type === 'runner') {
    const { openReach } = await lazy.reach()
    return { ...tools, reach: () => openReach(rooms, state, { as, ...attempt }) }
  }
  if (attempt.action.type === 'agent') {
    const agent = await (await lazy.agentUse()).agentTools(rooms, state, attempt)
    const also = agent.login?.ok === true ? agent.login.value.hosts : []
    return { ...tools, agent, ...(also.length === 0 ? {} : sandboxFor(rooms, state, { as, ...attempt }, also)) }
  }
  if (attempt.action.type === 'git') return { ...tools, ...(await lazy.gitActions()).gitHand(rooms, state, attempt) }
  const { definition, inputs, feedback = '' } = attempt
  return { ...tools, evaluate: await evaluator(state, { ...boundOf(definition), inputs, feedback }) }
}

const parentOf = (state: PlanState, { task, visit, attempt }: Attempt): string =>
  traceparent(state.id, state.tasks.get(task)?.ordinal ?? 0, visit, attempt)

const failed = (failure: Failure): Failed => ({ status: 'failed', failure })
