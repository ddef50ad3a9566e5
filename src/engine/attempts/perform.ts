// Performs one attempt whose start is in the journal: time limit, worktree, comparison of files before and after, and shortages of the
// machine. The result is a value. Anything thrown, except a shortage or a fail-stop, is a bug of ours, reported as a failure that is never
// retried.

import { actionFacts } from '../../domain/actions/actions.ts'
import { BUDGET_CODE } from '../../domain/budget/budget-rules.ts'
import { OUT_OF_TIME } from '../../domain/budget/budget-text.ts'
import { attemptKey } from '../../domain/budget/ledger.ts'
import type { Interrupted } from '../../domain/command.ts'
import { advise, quoted } from '../../domain/hint.ts'
import type { Action } from '../../domain/plan.ts'
import { capturesFiles, scopeOf, usesTaskWorktrees } from '../../domain/plan-rules/effect.ts'
import type { Failed, Result } from '../../domain/result.ts'
import { shortageIn } from '../../domain/shortage.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { timeLimit } from '../budget/time-limit.ts'
import { withOverwritten } from '../files/overwritten-edits.ts'
import { lazy } from '../lazy-imports.ts'
import {
  cutOff,
  type HoldOptions,
  isFailStop,
  missingFolder,
  retryWhileShort,
  type ShortInterrupt,
  shortageOf,
} from '../loop/shortage.ts'
import { type Look, standingNow, writtenSince } from '../rollback/attempt-changes.ts'
import type { Rooms } from '../rooms.ts'
import { Logbook } from './attempt-log.ts'
import { type AttemptRun, isRace, type PerformOptions, runAttempt } from './attempt-run.ts'
import { failed } from './classify-outcome.ts'
import { checkEffects, restrictedTo } from './expected-effects.ts'

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
  const { onOutput = () => {}, onShortage } = options
  const logbook = new Logbook(rooms.store.logs, rooms.clock, where, onOutput, onShortage, stored)
  const limit =
    state.budget === null || options.action !== undefined ? null : timeLimit(rooms, state, task, options.stop)
  const within = limit === null ? options : { ...options, stop: limit.stop }
  let result: Result | Interrupted | ShortInterrupt
  try {
    const missing = missingFolder(rooms)
    if (missing !== null) return reportShortage(options, cutOff(missing, false))
    const run = { rooms, state, task, options: within, logbook }
    result = usesTaskWorktrees(state.definition) ? await performInWorktree(run) : await performHere(run)
    if (limit !== null && limit.exceeded !== null && result.status === 'interrupted')
      result = outOfTime(limit.exceeded, state.definition.name)
    const log = logbook.seal()
    if (result.status !== 'interrupted' && log !== null) result = { ...result, log }
    result = interruptedIfShort(rooms, result)
  } catch (error) {
    if (isFailStop(error)) throw error
    const shortage = shortageOf(rooms, error, `Carrying out '${definition.id}'`)
    if (shortage !== null) return reportShortage(options, cutOff(shortage))
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
    ? reportShortage(options, result)
    : { ...result, durationMs: Math.round(rooms.clock.monotonic() - began) }
}

/** The time budget is used up. If a person is asked, the attempt counts as interrupted and runs again once there is more. */
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

/** Reports a shortage to the loop, which waits until it ends; the journal records only the interruption. */
function reportShortage({ onShortage }: HoldOptions, ended: Interrupted | ShortInterrupt): Interrupted {
  if (!('shortage' in ended)) return ended
  const { shortage, ...interrupted } = ended
  onShortage?.(shortage)
  return interrupted
}

/** A task that failed because the disk was full or the folder was missing was interrupted; its effect class decides what happens next. */
function interruptedIfShort(
  rooms: Rooms,
  result: Result | Interrupted | ShortInterrupt,
): Result | Interrupted | ShortInterrupt {
  if (result.status !== 'failed' || (result.git?.length ?? 0) > 0) return result
  const shortage = shortageIn(result.failure) ?? missingFolder(rooms)
  return shortage === null ? result : cutOff(shortage)
}

async function performInWorktree(run: AttemptRun): Promise<Result | Interrupted> {
  const { rooms, state, task, options, logbook } = run
  const worktrees = await lazy.taskWorktrees()
  const say = (text: string) => logbook.write('engine', Buffer.from(text))
  return await worktrees.performInWorktree(rooms, state, task, options, say, at => performHere({ ...run, rooms: at }))
}

function performHere(run: AttemptRun): Promise<Result | Interrupted> {
  const { definition, prepared } = run.task
  const isBare =
    run.options.action === undefined && prepared === null && definition.effects === undefined && !isRace(run)
  return isBare && actionFacts(definition.action).takesCheckpoint !== true ? runAttempt(run) : performCompared(run)
}

async function performCompared(run: AttemptRun): Promise<Result | Interrupted> {
  const { rooms, state, task, options } = run
  const { action } = options
  const look = action === undefined ? task.prepared : await filesBefore(run, action)
  // The files are reserved now, but a restore may have begun just before: wait until it is done.
  if (task.prepared?.reserves !== undefined) await rooms.workspace.quiet?.()
  const ran = await runAttempt(run)
  if (ran.status === 'interrupted') return ran
  const result = ran.status === 'failed' ? await withoutBest(run, ran) : ran
  const isCheckpoint = actionFacts(task.definition.action).takesCheckpoint === true
  // A compensation is not an attempt of the visit: the files it finds are the task's own work.
  const tried = { ...run, task: { ...task, attempt: action === undefined ? task.attempt : 1 } }
  const compare = async (ended: Result) =>
    look !== null || isCheckpoint
      ? await retryWhileShort(rooms, options, () => withFootprint(tried, look, ended))
      : ({ ok: true, value: ended } as const)
  const compared = await compare(result)
  // A checkpoint consists of what is stored, so it cannot succeed. For other tasks the outcome is known and files can be compared later.
  if (!compared.ok && isCheckpoint) return cutOff(compared.shortage)
  const whole = compared.ok ? compared.value : result
  if (action !== undefined || restrictedTo(task.definition, whole) === undefined) return whole
  const checked = await checkEffects(rooms, state, task, whole)
  if (checked.status !== 'failed' || whole.status === 'failed' || !isRace(run)) return checked
  const { wrote: _, ...bare } = await withoutBest(run, checked)
  const again = await compare(bare)
  return again.ok ? again.value : bare
}

/** A failed attempt leaves nothing of its best try. If some of it stays, a person must look before the next attempt begins with that. */
async function withoutBest(run: AttemptRun, result: Failed): Promise<Failed> {
  const { rooms, state, task } = run
  const left = isRace(run) ? await (await lazy.bestChanges()).takeBack(rooms, state.id, task.definition.id) : null
  if (left === null) return result
  const { failure } = result
  const message = `${failure.message}; changes of the best try could not be taken back: ${left.message}`
  return { ...result, failure: { ...failure, message, retryable: false } }
}

/** Files as they were before the attempt. A compensation has no visit of its own, so they are captured here. */
async function filesBefore({ rooms, state, task: { definition } }: AttemptRun, action: Action): Promise<Look | null> {
  if (state.files !== 'seen' || usesTaskWorktrees(state.definition)) return null
  // Only what a compensation names counts as its work; concurrent changes of others must not be reverted with it.
  const isOwn = definition.action === action
  const scope =
    actionFacts(action).edits !== undefined
      ? scopeOf(state.definition, { id: definition.id, action })
      : isOwn && capturesFiles(state.definition, definition)
        ? scopeOf(state.definition, definition)
        : null
  if (scope === null || scope.length === 0) return null
  const captured = await rooms.workspace.capture(scope)
  return captured.ok ? { preimage: captured.manifest } : null
}

async function withFootprint({ rooms, state, task }: AttemptRun, look: Look | null, result: Result): Promise<Result> {
  const { definition } = task
  const { wrote: found, ...uncovered } = await writtenSince(rooms, state, look, task)
  const wrote = await withOverwritten(rooms, state, task, look, found)
  const whole = { ...result, ...(wrote === null ? {} : { wrote }), ...uncovered }
  if (actionFacts(definition.action).takesCheckpoint !== true || whole.status === 'failed') return whole
  const checkpoint = await standingNow(rooms, state, 'throw')
  if (checkpoint.lacks === undefined) return { ...whole, checkpoint }
  return failed({
    class: 'resource',
    message: `no checkpoint could be taken: ${checkpoint.lacks}`,
    hint: 'make room, or leave the checkpoint out',
    retryable: true,
  })
}
